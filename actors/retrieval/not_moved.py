"""The search of a bank that was stored by 0.2.0 and is not all moved to today's index yet (actors/jobs/indexing.py).

Memories that are not moved are found by the index of that time, under the terms of that time. Once no database has
any, this module can go, and with it persistence/memories_not_moved.py.
"""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from actors.retrieval.index import MAX_POSTINGS
from actors.retrieval.question import Question
from actors.retrieval.ranking import IN_CONTEXT, K1, B, rarity
from actors.retrieval.stored import MAX_LOOKED_UP, MAX_TERMS, Hit, OtherTexts, search
from actors.slices import Steps, sliced
from actors.text import tokenizer
from persistence import memories_not_moved, search_index
from persistence.banks import BankRow
from persistence.search_index import Collection
from persistence.store import Store

_MAX_UNRANKED = 300  # memories that are scored where all terms are common
_SLICE_CHARS = 32_000
_RELATIVES = 64
_RELATIVE_WEIGHT = 0.6
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f]")
_UNDECOMPOSED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"})
_NAMED = ("called", "named", "heisse", "heissen", "heisst", "appelle", "appellent", "nom", "nombre", "llama", "llamo")
_SYNONYMS = dict.fromkeys(_NAMED, "name") | {"color": "colour", "favorite": "favourite"}


async def search_both(
    store: Store, bank: BankRow, collection: Collection, question: str, asked: Sequence[str], limit: int
) -> list[Hit]:
    """Find the memories of a bank that match a question best, in both indexes, scored alike (see `stored.search`).

    Raises:
        StoreUnavailable: the store can't be read.
    """
    # The old index first: a memory that moves in between is then found twice, and never missed.
    tokens = await sliced(_tokens_of(question, bank.number)) if store.has_index_of_0_2_0 else {}
    here = dict(await store.fetch(memories_not_moved.frequencies(list(tokens))) if tokens else [])
    known = await store.fetch(search_index.frequencies(collection.number, asked[:MAX_LOOKED_UP]))
    moved = {frequency.term: frequency.documents for frequency in known}
    left = max(bank.memories - collection.texts, 0)
    forms = {token: tokenizer.forms(words) for token, words in tokens.items()}
    before = {term: max((here.get(token, 0) for token in forms if term in forms[token]), default=0) for term in asked}
    also = {token: max((moved.get(term, 0) for term in forms[token]), default=0) for token in tokens}
    scores = await _search_not_moved(store, bank, tokens, here, also)
    moved_hits = await store.read(search(collection, Question(asked), limit, OtherTexts(left, before), beside=False))
    hits = {hit.document: hit for hit in moved_hits}
    for position, score in scores.items():
        hits.setdefault(position, Hit(position, score))
    return sorted(hits.values(), key=lambda hit: (-hit.score, -hit.document))[:limit]


def _tokens_of(question: str, bank: int) -> Steps[dict[str, list[str]]]:
    """Make the tokens of a question's first words, each with these words; the bank's number precedes each token."""
    tokens: dict[str, list[str]] = {}
    for word in dict.fromkeys((yield from tokenizer.splitting(question))):
        if tokenizer.terms([word]):
            tokens.setdefault(f"{bank}z{_term_of(word)}", []).append(word)
            if len(tokens) == MAX_LOOKED_UP:
                break
    if tokenizer.SELF_NAME in (yield from tokenizer.reading(question[: tokenizer.SLICE_CHARS])):
        tokens[f"{bank}zmyname"] = []
    return tokens


def _term_of(word: str) -> str:
    """Return the term of a word in 0.2.0: without accents and English plural."""
    word = word[: tokenizer.MAX_WORD]
    if not word.isascii() and word[0] <= "\u2e7f":  # from there on no script has accents
        word = _ACCENTS.sub("", unicodedata.normalize("NFKD", word)).casefold().translate(_UNDECOMPOSED)
        word = unicodedata.normalize("NFC", word)
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "siu":
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
            word = word[:-2]
        else:
            word = word[:-1]
    return _SYNONYMS.get(word, word)


async def _search_not_moved(
    store: Store, bank: BankRow, tokens: Iterable[str], here: Mapping[str, int], moved: Mapping[str, int]
) -> dict[int, float]:
    """Score the best memories of the old index; `here` and `moved` are the memories that have each token."""
    found = dict.fromkeys(here, 1.0)
    documents = dict(here)
    unknown = [token for token in tokens if not here.get(token) and not moved.get(token)][:MAX_TERMS]
    for token, frequency in await _relatives(store, unknown, len(f"{bank.number}z")) if unknown else ():
        found.setdefault(token, _RELATIVE_WEIGHT)
        documents.setdefault(token, frequency)
    if not found:
        return {}
    rarest = sorted(found, key=lambda token: (documents[token], token))[:MAX_TERMS]
    texts = max(bank.memories, 1)
    weights = {token: found[token] * rarity(texts, documents[token] + moved.get(token, 0)) for token in rarest}
    return await sliced(_weigh(await _candidates(store, rarest, documents), weights))


async def _relatives(store: Store, unknown: Iterable[str], prefix_chars: int) -> list[tuple[str, int]]:
    stems: dict[str, int] = {}
    beginnings: list[str] = []
    for token in unknown:
        chars = len(token) - prefix_chars
        if chars >= 4:
            stems[token[: prefix_chars + max(4, chars - 2)]] = len(token)
        beginnings += [token[: prefix_chars + length] for length in range(5, chars)]
    found = await store.fetch(memories_not_moved.frequencies(beginnings)) if beginnings else []
    if stems:
        begun = await store.fetch(memories_not_moved.relatives(list(stems), _RELATIVES))
        found += [(token, frequency) for stem, token, frequency in begun if len(token) <= stems[stem] + 4]
    return found


async def _candidates(store: Store, rarest: Sequence[str], documents: Mapping[str, int]) -> list[tuple[int, str]]:
    tokens = [f'"{token}"' for token in rarest]
    left = MAX_POSTINGS
    leading = 0
    for token in rarest:
        left -= documents[token]
        if left < 0:
            break
        leading += 1
    if leading:
        return await store.fetch(memories_not_moved.candidates(" OR ".join(tokens[:leading]), IN_CONTEXT))
    found: list[tuple[int, str]] = []
    for match in (" AND ".join(tokens), " AND ".join(tokens[:2]), tokens[0]):
        found = await store.fetch(memories_not_moved.newest(match, _MAX_UNRANKED))
        if found:
            break
    return found


def _weigh(found: Sequence[tuple[int, str]], weights: Mapping[str, float]) -> Steps[dict[int, float]]:
    """Score candidates by BM25 over all tokens."""
    counts: dict[int, tuple[int, Counter[str]]] = {}
    for position, text in found:
        counts[position] = yield from _count(text, weights)
    average = sum(length for length, _ in counts.values()) / max(len(counts), 1) or 1.0
    scores: dict[int, float] = {}
    for position, (length, counted) in counts.items():
        norm = K1 * (1 - B + B * length / average)
        scores[position] = sum(weights[token] * times * (K1 + 1) / (times + norm) for token, times in counted.items())
    return scores


def _count(text: str, weights: Mapping[str, float]) -> Steps[tuple[int, Counter[str]]]:
    """Count the tokens of a memory, and the occurrences of each token that has a weight."""
    length, counted = 0, Counter[str]()
    start = 0
    while start < len(text):
        end = text.find(" ", start + _SLICE_CHARS)
        tokens = text[start : end if end >= 0 else len(text)].split()
        length += len(tokens)
        counted.update(filter(weights.__contains__, tokens))
        start = end if end >= 0 else len(text)
        yield
    return length, counted
