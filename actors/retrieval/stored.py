"""The search of a collection in the store: a large bank, or the older messages of a conversation or zone.

It ranks and judges as an index in memory does (index.py). The rarest terms of a question find texts; these are then
looked at by all terms, in their context. A search is reads of one trip to the store (`Store.read`), off the event loop.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from actors.retrieval.found import LONGER_BY, MAX_RELATIVES, RELATIVE, Found, answerable, beginning, judged, shares_of
from actors.retrieval.index import MAX_POSTINGS
from actors.retrieval.question import Question
from actors.retrieval.ranking import (
    AFTER,
    BEFORE,
    K1,
    B,
    Gains,
    Matched,
    factors,
    in_context,
    in_order,
    leading,
    looked_at,
    rarity,
)
from actors.text import tokenizer
from actors.text.answer_kinds import ASKED, ASKS
from persistence import search_index
from persistence.search_index import Collection, Frequency
from persistence.store import Reads, rows_of

MAX_LOOKED_UP = 64
"""The number of distinct terms of a question that are looked up, the first ones; bounds the cost of a long text."""

MAX_TERMS = 16
"""The number of these terms that are searched for, the rarest ones."""


class Hit(NamedTuple):
    """A text that was found, and its score, which is comparable only within one search."""

    document: int
    score: float


class OtherTexts(NamedTuple):
    """Texts that count in the frequencies beside those of an index: their number, and how many have each term."""

    texts: int = 0
    frequencies: Mapping[str, int] = MappingProxyType({})


_NOTHING = OtherTexts()


class _Term(Struct, frozen=True):
    """A term that is searched for: its number, the question's term that it stands for, and how many texts have it."""

    number: int
    asked: str
    weight: float
    documents: int


class _Match(Struct, frozen=True):
    """A text that was found: where it is a part, and the gain of each of its terms, by number."""

    whole: str
    part: int
    gains: dict[int, float]


def ranked(
    collection: Collection,
    question: Question,
    limit: int,
    *,
    context: int = 0,
    postings: int = MAX_POSTINGS,
    answering: bool = False,
) -> Reads[list[Found]]:
    """Find the texts of a collection that match a question best, best first; see `Index.search`.

    Args:
        collection: as read from the store; a count of its texts that is a little old does no harm.
        question: its first `MAX_LOOKED_UP` terms count.
        limit: the number of texts to find.
        context: the number of best texts whose terms count for the texts around them; 0: as many as is usual.
        postings: bounds the postings that are read to find texts.
        answering: return nothing if all texts together have too few of the question's terms for an answer.
    """
    terms = yield from _known(collection.number, list(question.terms))
    if not terms:
        return []
    texts = collection.texts
    strengths = {one.number: one.weight * rarity(texts, one.documents) for one in terms.values()}
    having: dict[str, int] = {}
    for one in terms.values():
        having[one.asked] = having.get(one.asked, 0) + one.documents
    judge, raising = question.judging(texts, having), question.raising
    if answering and not answerable(judge, having, [one * (K1 + 1) for one in strengths.values()], raising, raising):
        return []
    scored = yield from _scored(collection, question, terms, strengths, limit, context, postings)
    replaced = shares_of([(term, one.asked) for term, one in terms.items() if term != one.asked])
    places = {document: place for place, document in scored.numbers.items()}

    def fits(document: int, share: float, alone: bool) -> bool:
        held = [kind for kind in question.needs if document in scored.holding.get(kind, ())]
        return question.fits(share, held, alone=alone)

    return judged(
        judge,
        texts,
        having,
        replaced,
        scored.own,
        scored.gains,
        scored.raised,
        limit,
        places.get,
        fits if question.needs else None,
    )


class _Scored(NamedTuple):
    """The texts that were found and those beside them; see `judged`."""

    own: dict[int, Gains]
    gains: dict[int, Gains]
    raised: dict[int, float]
    holding: dict[str, set[int]]  # the texts with each kind of answer, and those that ask
    numbers: dict[tuple[str, int], int]


def _scored(
    collection: Collection,
    question: Question,
    terms: Mapping[str, _Term],
    strengths: Mapping[int, float],
    limit: int,
    context: int,
    postings: int,
) -> Reads[_Scored]:
    """Find the best texts, and those beside them, with what counts for each; for the arguments see `_matches`."""
    found, numbers = yield from _matches(collection, terms, strengths, limit, context, postings)
    asked = {one.number: one.asked for one in terms.values()}
    own = {document: _by_asked(match.gains, asked) for document, match in found.items()}
    matched = [Matched(document, match.whole, match.part, own[document]) for document, match in found.items()]
    raising = question.raising
    kinds = [*{*raising, *question.needs}, ASKS, ASKED]
    holding: dict[str, set[int]] = {}
    around = {*found, *numbers.values()}
    for term, document in (yield from rows_of(search_index.having(collection.number, kinds, list(around)))):
        holding.setdefault(term, set()).add(document)
    gains = in_context(matched, numbers.get, holding.get(ASKED, set()))
    return _Scored(own, gains, factors(raising, holding, gains.keys()), holding, numbers)


def _by_asked(gains: Mapping[int, float], asked: Mapping[int, str]) -> Gains:
    """Return the largest gain for each term of the question."""
    found: Gains = {}
    for number, gain in gains.items():
        term = asked[number]
        if gain > found.get(term, 0.0):
            found[term] = gain
    return found


def search(
    collection: Collection, question: Question, limit: int, elsewhere: OtherTexts = _NOTHING, *, beside: bool = True
) -> Reads[list[Hit]]:
    """Find the texts of a collection that match a question best, in their context, best first.

    Among equals, the higher document comes first.

    Args:
        collection: as read from the store.
        question: its first `MAX_LOOKED_UP` terms count.
        limit: the number of texts to find.
        elsewhere: the texts that only count in the frequencies.
        beside: whether texts are found that only stand beside some with terms of the question.
    """
    terms = yield from _known(collection.number, list(question.terms))
    if not terms:
        return []
    texts = collection.texts + elsewhere.texts
    strengths = {
        one.number: one.weight * rarity(texts, one.documents + elsewhere.frequencies.get(term, 0))
        for term, one in terms.items()
    }
    scored = yield from _scored(collection, question, terms, strengths, limit, 0, MAX_POSTINGS)
    sums = [
        (sum(gains.values()), document) for document, gains in scored.gains.items() if beside or document in scored.own
    ]
    return [Hit(document, score) for score, document in in_order(sums, scored.raised)[:limit]]


def _matches(
    collection: Collection,
    terms: Mapping[str, _Term],
    strengths: Mapping[int, float],
    limit: int,
    context: int,
    postings: int,
) -> Reads[tuple[dict[int, _Match], dict[tuple[str, int], int]]]:
    """Find the best texts by the rarest terms; also number the parts around them, by whole and part.

    Args:
        collection: that of the texts.
        terms: what is searched for, the rarest first.
        strengths: the weight of each term, by number.
        limit: the number of texts to find.
        context: as `ranked` takes it.
        postings: bounds the postings that are read.
    """
    average = collection.words / collection.texts if collection.texts and collection.words else 1.0
    frequencies = [one.documents for one in terms.values()]
    weights = [(number, strength * (K1 + 1)) for number, strength in strengths.items()]
    count, newest = leading(frequencies, postings)
    closely, alone = looked_at(collection.texts, limit, context)
    query = search_index.matches(
        collection.number, weights[:count], list(strengths), average, K1, B, closely, BEFORE, AFTER, newest, alone
    )
    weight_of = dict(weights)
    fixed, by_length = K1 * (1 - B), K1 * B / average
    found: dict[int, _Match] = {}
    numbers: dict[tuple[str, int], int] = {}
    for document, whole, part, number, times, length in (yield from rows_of(query)):
        if not number:
            place = whole, part
            if document >= numbers.get(place, document):  # of two at one place, the newest counts, as in memory
                numbers[place] = document
            continue
        match = found.get(document)
        if match is None:
            match = found[document] = _Match(whole, part, {})
        match.gains[number] = weight_of[number] * times / (times + fixed + by_length * length)
    return found, numbers


def _known(collection: int, asked: Sequence[str]) -> Reads[dict[str, _Term]]:
    """Look up the rarest terms, rarest first; one that no text has is replaced by its relatives."""
    if not asked:
        return {}
    asked = asked[:MAX_LOOKED_UP]
    found = yield from rows_of(search_index.frequencies(collection, asked))
    terms = {term: _Term(number, term, 1.0, documents) for term, number, documents in found}
    unknown = [term for term in asked if term not in terms][:MAX_TERMS]
    if unknown:
        for of, (term, number, documents) in (yield from _relatives(collection, unknown)):
            terms.setdefault(term, _Term(number, of, RELATIVE, documents))
    rarest = sorted(terms, key=lambda term: (terms[term].documents, term))[:MAX_TERMS]
    return {term: terms[term] for term in rarest}


def _relatives(collection: int, unknown: Iterable[str]) -> Reads[list[tuple[str, Frequency]]]:
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
        known = yield from rows_of(search_index.frequencies(collection, list(words)))
        found += [(words[frequency.term], frequency) for frequency in known]
    if begun:
        others = yield from rows_of(search_index.relatives(collection, list(begun), MAX_RELATIVES * len(begun)))
        for start, same in groupby(others, lambda one: one[0]):
            term = begun[start]
            forms = [known for _, known in same if len(known.term) <= len(term) + LONGER_BY and known.term.isalpha()]
            found += [(term, known) for known in forms[:MAX_RELATIVES]]
    return found
