"""Recall in banks: finds the memories that match a text best.

The store's full-text index finds candidates by their rarest terms, ranked by its BM25; these are scored again by BM25
over all terms of the query, with the frequencies of the one bank. Terms are those of actors/text/tokenizer.py.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

from actors.slices import Steps, sliced
from actors.text import tokenizer
from persistence import full_text, memories
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.store import Store

MAX_LOOKED_UP = 64
"""The number of distinct terms of a query that are looked up, the first ones; bounds the cost of a long text."""

MAX_TERMS = 16
"""The number of these terms that lead the search, the rarest ones."""

MAX_MATCHED = 3_000
"""The largest number of matches of the leading terms together; more common terms only count in the score."""

CANDIDATES = 40
"""The largest number of memories that are scored again."""

MAX_UNRANKED = 300
"""The largest number of memories that are scored where all terms are common."""

_SLICE_CHARS = 32_000
"""Characters of a memory's terms that are counted in one slice."""

_RELATIVES = 64
_RELATIVE_WEIGHT = 0.6  # the weight of a term that shares only its beginning with a term of the query
_K1 = 1.2
_B = 0.5


class RankedMemory(NamedTuple):
    """A memory that was found, and its score, which is comparable only within one query."""

    memory: MemoryRow
    score: float


class _Term(NamedTuple):
    """A token that is searched for: its weight, and the number of memories with it."""

    weight: float
    frequency: int


def indexed_terms(bank: int, name: str, text: str) -> Steps[str]:
    """Make the full-text index's text of a memory: its terms, with those of its name twice.

    The bank's number precedes each term, so that banks share no terms.
    """
    named = tokenizer.terms(tokenizer.split(name))
    terms = [*named, *named, *(yield from tokenizer.reading(text))]
    tokens: list[str] = []
    for start in range(0, len(terms), tokenizer.SLICE_CHARS):
        tokens += [_token(bank, term) for term in terms[start : start + tokenizer.SLICE_CHARS]]
        yield
    return " ".join(tokens)


def all_indexed_terms(bank: int, memories: Iterable[tuple[str, str]]) -> Steps[tuple[str, ...]]:
    """Make the full-text index's texts of memories, each given by its name and text."""
    indexed: list[str] = []
    for name, text in memories:
        indexed.append((yield from indexed_terms(bank, name, text)))
    return tuple(indexed)


def _token(bank: int, term: str) -> str:
    return f"{bank}z{term.replace(' ', '')}"


async def recall(store: Store, bank: BankRow, query: str, limit: int) -> list[RankedMemory]:
    """Find the memories of a bank that match a text best, best first; any text is safe.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    return await recall_by_terms(store, bank, await terms_asked(query), limit)


async def terms_asked(query: str) -> list[str]:
    """List the terms that a search for a text looks up, in any bank."""
    return await sliced(tokenizer.first_terms(query, MAX_LOOKED_UP))


async def recall_by_terms(store: Store, bank: BankRow, asked: Sequence[str], limit: int) -> list[RankedMemory]:
    """Find the memories of a bank that match the terms of a text (`terms_asked`) best, best first.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    tokens = [_token(bank.number, term) for term in asked]
    terms = await _known_terms(store, tokens, len(f"{bank.number}z"))
    if not terms:
        return []
    found = await _candidates(store, terms)
    scores = await sliced(_weigh(found, terms, max(bank.memories, 1)))
    best = sorted(scores, key=lambda position: (-scores[position], position))[:limit]
    rows = {row.position: row for row in await store.fetch(memories.at_positions(best))}
    return [RankedMemory(rows[position], round(scores[position], 4)) for position in best if position in rows]


async def _known_terms(store: Store, asked: list[str], prefix_chars: int) -> dict[str, _Term]:
    """Look up the rarest of these tokens; a token that no memory has is replaced by its relatives."""
    if not asked:
        return {}
    terms = {token: _Term(1.0, frequency) for token, frequency in await store.fetch(full_text.frequencies(asked))}
    unknown = [token for token in asked if token not in terms][:MAX_TERMS]
    if unknown:
        for token, frequency in await _relatives(store, unknown, prefix_chars):
            terms.setdefault(token, _Term(_RELATIVE_WEIGHT, frequency))
    rarest = sorted(terms, key=lambda token: (terms[token].frequency, token))
    return {token: terms[token] for token in rarest[:MAX_TERMS]}


async def _relatives(store: Store, unknown: list[str], prefix_chars: int) -> list[tuple[str, int]]:
    """Find tokens that begin like these (an inflection), or that these begin with (the first word of a compound)."""
    stems: dict[str, int] = {}
    beginnings: list[str] = []
    for token in unknown:
        chars = len(token) - prefix_chars
        if chars >= 4:
            stems[token[: prefix_chars + max(4, chars - 2)]] = len(token)
        beginnings += [token[: prefix_chars + length] for length in range(5, chars)]
    found = await store.fetch(full_text.frequencies(beginnings)) if beginnings else []
    if stems:
        begun = await store.fetch(full_text.relatives(list(stems), _RELATIVES))
        found += [(token, frequency) for stem, token, frequency in begun if len(token) <= stems[stem] + 4]
    return found


async def _candidates(store: Store, terms: dict[str, _Term]) -> list[tuple[int, str]]:
    """Find memories by terms sorted by frequency: the rarest lead, the others only count in the score."""
    tokens = [f'"{token}"' for token in terms]
    left = MAX_MATCHED
    leading = 0
    for term in terms.values():
        left -= term.frequency
        if left < 0:
            break
        leading += 1
    if leading:
        return await store.fetch(full_text.candidates(" OR ".join(tokens[:leading]), CANDIDATES))
    # Common terms distinguish little, so take some memories with all of them instead of ranking all memories.
    for match in (" AND ".join(tokens), " AND ".join(tokens[:2]), tokens[0]):
        found = await store.fetch(full_text.newest(match, MAX_UNRANKED))
        if found:
            break
    return found


def _weigh(found: Sequence[tuple[int, str]], terms: dict[str, _Term], memories: int) -> Steps[dict[int, float]]:
    """Score candidates by BM25 over all terms, with the bank's own frequencies."""
    counts: dict[int, tuple[int, Counter[str]]] = {}
    for position, text in found:
        counts[position] = yield from _count(text, terms)
    average = sum(length for length, _ in counts.values()) / max(len(counts), 1) or 1.0
    scores: dict[int, float] = {}
    for position, (length, counted) in counts.items():
        norm = _K1 * (1 - _B + _B * length / average)
        score = 0.0
        for token, times in counted.items():
            weight, frequency = terms[token]
            rarity = log(1 + (memories + 0.5) / (frequency + 0.5))
            score += weight * rarity * times * (_K1 + 1) / (times + norm)
        scores[position] = score
    return scores


def _count(text: str, terms: dict[str, _Term]) -> Steps[tuple[int, Counter[str]]]:
    """Count the tokens of a memory, and the occurrences of each token of the query."""
    length, counted = 0, Counter[str]()
    start = 0
    while start < len(text):
        end = text.find(" ", start + _SLICE_CHARS)
        tokens = text[start : end if end >= 0 else len(text)].split()
        length += len(tokens)
        counted.update(filter(terms.__contains__, tokens))
        start = end if end >= 0 else len(text)
        yield
    return length, counted
