"""The search of a collection in the store: a large bank, or the older messages of a conversation or zone.

It ranks and judges as an index in memory does (index.py). The rarest terms of a question find texts; these are then
looked at by all terms, in their context.
"""

from asyncio import gather
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from actors.retrieval.found import LONGER_BY, MAX_RELATIVES, RELATIVE, Found, beginning, judged, shares_of
from actors.retrieval.question import Question
from actors.retrieval.ranking import BESIDE, IN_CONTEXT, K1, B, Gains, Matched, in_context, rarity
from actors.text import tokenizer
from persistence import search_index
from persistence.search_index import Collection, Frequency, Hit
from persistence.store import Store

MAX_LOOKED_UP = 64
"""The number of distinct terms of a question that are looked up, the first ones; bounds the cost of a long text."""

MAX_TERMS = 16
"""The number of these terms that are searched for, the rarest ones."""

MAX_MATCHED = 2_000
"""The number of postings that a search reads to find texts; more common terms only count in the scores."""

CANDIDATES = IN_CONTEXT
"""The smallest number of texts that are scored by all terms."""


class Elsewhere(NamedTuple):
    """Texts of the same collection that are not in its index yet: their number, and how many of them have each term."""

    texts: int = 0
    frequencies: Mapping[str, int] = MappingProxyType({})


_NOTHING = Elsewhere()


class _Term(NamedTuple):
    """A term that is searched for: its number, the question's term that it stands for, and how many texts have it."""

    number: int
    asked: str
    weight: float
    documents: int


class _Search(NamedTuple):
    """What a search found by the texts' own terms."""

    terms: dict[str, _Term]
    hits: list[Hit]
    texts: int
    average: float


async def ranked(
    store: Store, collection: Collection, question: Question, limit: int, *, context: int = CANDIDATES
) -> list[Found]:
    """Find the texts of a collection that match a question best, best first; see `Index.search`.

    Args:
        store: where the collection is.
        collection: as read from the store; a count of its texts that is a little old does no harm.
        question: its first `MAX_LOOKED_UP` terms count.
        limit: the number of texts to find.
        context: the number of best texts whose terms count for the texts around them.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    found = await _search(store, collection, list(question.terms), max(limit, context), _NOTHING)
    if found is None or not found.hits:
        return []
    by_number = {term.number: term for term in found.terms.values()}
    hits = {hit.document: hit for hit in found.hits}
    around = {
        (hit.whole, hit.part + distance)
        for hit in found.hits
        if hit.part
        for distance in BESIDE
        if hit.part + distance > 0
    }
    around -= {(hit.whole, hit.part) for hit in found.hits}
    wanted = search_index.at(collection.number, sorted(around))
    occurring, beside = await gather(
        store.fetch(search_index.occurrences(sorted(by_number), sorted(hits))),
        store.fetch(wanted) if around else _none(),
    )
    own: dict[int, Gains] = {document: {} for document in hits}
    for number, document, times, length in occurring:
        _, asked, weight, documents = by_number[number]
        norm = K1 * (1 - B + B * length / found.average)
        gain = weight * rarity(found.texts, documents) * (K1 + 1) * times / (times + norm)
        if gain > own[document].get(asked, 0.0):
            own[document][asked] = gain
    matched = [Matched(hit.document, hit.whole, hit.part, own[hit.document]) for hit in found.hits]
    numbers = {(hit.whole, hit.part): hit.document for hit in (*found.hits, *beside) if hit.part}
    having: dict[str, int] = {}
    for term in found.terms.values():
        having[term.asked] = having.get(term.asked, 0) + term.documents
    replaced = shares_of([(known, term.asked) for known, term in found.terms.items() if known != term.asked])
    gains = in_context(matched, numbers.get)
    judge = question.judging(found.texts, having)
    return judged(judge, found.texts, having, replaced, own, gains, limit)


async def _none() -> list[Hit]:
    return []


async def search(
    store: Store, collection: Collection, asked: Sequence[str], limit: int, elsewhere: Elsewhere = _NOTHING
) -> list[Hit]:
    """Find the texts of a collection that match terms best by themselves, best first.

    Among equals, the higher document comes first.

    Args:
        store: where the collection is.
        collection: as read from the store.
        asked: the distinct terms of the question; the first `MAX_LOOKED_UP` count.
        limit: the number of texts to find.
        elsewhere: the texts that only count in the frequencies.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    found = await _search(store, collection, asked, max(limit, CANDIDATES), elsewhere)
    return [] if found is None else found.hits[:limit]


async def _search(
    store: Store, collection: Collection, asked: Sequence[str], limit: int, elsewhere: Elsewhere
) -> _Search | None:
    terms = await _known(store, collection.number, asked[:MAX_LOOKED_UP])
    if not terms:
        return None
    texts = collection.texts + elsewhere.texts
    average = collection.words / collection.texts if collection.texts and collection.words else 1.0

    def weighed(term: str) -> tuple[int, float]:
        number, _, weight, documents = terms[term]
        return number, weight * rarity(texts, documents + elsewhere.frequencies.get(term, 0))

    weights = [weighed(term) for term in terms]
    frequencies = [term.documents for term in terms.values()]
    leading = _leading(frequencies)
    newest = None
    if not leading:
        # Common terms distinguish little, so only the newest texts are ranked.
        share = MAX_MATCHED / sum(frequencies)
        newest = [max(1, int(documents * share)) for documents in frequencies]
        leading = len(weights)
    query = search_index.best(
        collection.number, weights[:leading], average, K1, B, limit, others=weights[leading:], newest=newest
    )
    return _Search(terms, await store.fetch(query), texts, average)


def _leading(frequencies: Sequence[int]) -> int:
    """Count the terms, rarest first, that have at most `MAX_MATCHED` postings together."""
    left = MAX_MATCHED
    for count, documents in enumerate(frequencies):
        left -= documents
        if left < 0:
            return count
    return len(frequencies)


async def _known(store: Store, collection: int, asked: Sequence[str]) -> dict[str, _Term]:
    """Look up the rarest terms, rarest first; one that no text has is replaced by its relatives."""
    if not asked:
        return {}
    found = await store.fetch(search_index.frequencies(collection, asked))
    terms = {term: _Term(number, term, 1.0, documents) for term, number, documents in found}
    unknown = [term for term in asked if term not in terms][:MAX_TERMS]
    if unknown:
        for of, (term, number, documents) in await _relatives(store, collection, unknown):
            terms.setdefault(term, _Term(number, of, RELATIVE, documents))
    rarest = sorted(terms, key=lambda term: (terms[term].documents, term))[:MAX_TERMS]
    return {term: terms[term] for term in rarest}


async def _relatives(store: Store, collection: int, unknown: Iterable[str]) -> list[tuple[str, Frequency]]:
    """Find other forms of terms, and the words that these begin with, each with the term of the question."""
    begun: dict[str, str] = {}
    words: dict[str, str] = {}
    for term in unknown:
        if beginning(term):
            begun.setdefault(beginning(term), term)
        for word in tokenizer.beginnings(term):
            words.setdefault(word, term)
    found: list[tuple[str, Frequency]] = []
    if words:
        known = await store.fetch(search_index.frequencies(collection, list(words)))
        found += [(words[frequency.term], frequency) for frequency in known]
    if begun:
        others = await store.fetch(search_index.relatives(collection, list(begun), MAX_RELATIVES * len(begun)))
        for start, same in groupby(others, lambda one: one[0]):
            term = begun[start]
            forms = [known for _, known in same if len(known.term) <= len(term) + LONGER_BY and known.term.isalpha()]
            found += [(term, known) for known in forms[:MAX_RELATIVES]]
    return found
