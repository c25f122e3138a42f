"""The search of a collection in the store: a large bank, or the older messages of a conversation or zone.

The rarest terms of a question find texts, ranked by BM25 over all its terms, with the frequencies of the collection.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from types import MappingProxyType
from typing import NamedTuple

from actors.text import tokenizer
from persistence import search_index
from persistence.search_index import Collection, Frequency, Hit
from persistence.store import Store

K1 = 1.2
B = 0.5

MAX_LOOKED_UP = 64
"""The number of distinct terms of a question that are looked up, the first ones; bounds the cost of a long text."""

MAX_TERMS = 16
"""The number of these terms that are searched for, the rarest ones."""

MAX_MATCHED = 3_000
"""The number of postings that a search reads to find texts; more common terms only count in the scores."""

CANDIDATES = 40
"""The smallest number of texts that are scored by all terms."""

_RELATIVES = 64
_RELATIVE_WEIGHT = 0.6  # the weight of a term that shares only its beginning with a term of the question
_SHORTEST_BEGINNING = 4
_SHORTEST_COMPOUND = 6  # characters of a word whose beginnings are looked up as words
_MAX_BEGINNINGS = 96


class Elsewhere(NamedTuple):
    """Texts of the same collection that are not in its index yet: their number, and how many of them have each term."""

    texts: int = 0
    frequencies: Mapping[str, int] = MappingProxyType({})


_NOTHING = Elsewhere()


class _Term(NamedTuple):
    """A term that is searched for: its number, its weight, and the number of texts that have it."""

    number: int
    weight: float
    documents: int


def rarity(documents: int, texts: int) -> float:
    """Return the inverse document frequency of a term that this number of the texts have."""
    return log(1 + (max(texts - documents, 0) + 0.5) / (documents + 0.5))


async def search(
    store: Store, collection: Collection, asked: Sequence[str], limit: int, elsewhere: Elsewhere = _NOTHING
) -> list[Hit]:
    """Find the texts of a collection that match terms best, best first; among equals, the higher document first.

    Args:
        store: where the collection is.
        collection: as read from the store; a count of its texts that is a little old does no harm.
        asked: the distinct terms of the question; the first `MAX_LOOKED_UP` count.
        limit: the number of texts to find.
        elsewhere: the texts that only count in the frequencies.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    terms = await _known(store, collection.number, asked[:MAX_LOOKED_UP])
    if not terms:
        return []
    texts = collection.texts + elsewhere.texts
    average = collection.words / collection.texts if collection.texts and collection.words else 1.0

    def weighed(term: str) -> tuple[int, float]:
        number, weight, documents = terms[term]
        return number, weight * rarity(documents + elsewhere.frequencies.get(term, 0), texts)

    rarest = sorted(terms, key=lambda term: (terms[term].documents, term))[:MAX_TERMS]
    frequencies = [terms[term].documents for term in rarest]
    weights = [weighed(term) for term in rarest]
    leading = _leading(frequencies)
    newest = None
    if not leading:
        # Common terms distinguish little, so only the newest texts are ranked.
        share = MAX_MATCHED / sum(frequencies)
        newest = [max(1, int(documents * share)) for documents in frequencies]
        leading = len(weights)
    query = search_index.best(
        collection.number,
        weights[:leading],
        average,
        K1,
        B,
        max(limit, CANDIDATES),
        others=weights[leading:],
        newest=newest,
    )
    return (await store.fetch(query))[:limit]


def _leading(frequencies: Sequence[int]) -> int:
    """Count the terms, rarest first, that have at most `MAX_MATCHED` postings together."""
    left = MAX_MATCHED
    for count, documents in enumerate(frequencies):
        left -= documents
        if left < 0:
            return count
    return len(frequencies)


async def _known(store: Store, collection: int, asked: Sequence[str]) -> dict[str, _Term]:
    """Look up terms; one that no text has is replaced by its relatives."""
    if not asked:
        return {}
    found = await store.fetch(search_index.frequencies(collection, asked))
    terms = {term: _Term(number, 1.0, documents) for term, number, documents in found}
    unknown = [term for term in asked if term not in terms][:MAX_TERMS]
    if unknown:
        for term, number, documents in await _relatives(store, collection, unknown):
            terms.setdefault(term, _Term(number, _RELATIVE_WEIGHT, documents))
    return terms


async def _relatives(store: Store, collection: int, unknown: Iterable[str]) -> list[Frequency]:
    """Find terms that begin like these (an inflection), or that these begin with (the first word of a compound)."""
    stems: dict[str, int] = {}
    beginnings: list[str] = []
    for term in unknown:
        chars = len(term)
        if chars >= _SHORTEST_BEGINNING:
            stems[term[: max(_SHORTEST_BEGINNING, chars - 2)]] = chars
        if chars >= _SHORTEST_COMPOUND:
            beginnings += [term[:length] for length in range(_SHORTEST_COMPOUND - 1, chars)]
    words = tokenizer.forms(beginnings[:_MAX_BEGINNINGS])
    found = await store.fetch(search_index.frequencies(collection, sorted(words))) if words else []
    if stems:
        begun = await store.fetch(search_index.relatives(collection, list(stems), _RELATIVES))
        found += [known for beginning, known in begun if len(known.term) <= stems[beginning] + 4]
    return found
