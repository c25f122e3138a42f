"""The one ranking of all searches: Okapi BM25, and the context of a text within a longer one.

Robertson, S. and Zaragoza, H. (2009): The Probabilistic Relevance Framework: BM25 and Beyond. Foundations and
Trends in Information Retrieval 3(4), 333-389. The inverse document frequency of a term in n of N texts is
ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative.

A text that is a part of another (the turn of a dialogue, the part of a document) is found by the words of the parts
beside it, too: an answer seldom repeats the question. Each term of a question counts once for a text, where it
weighs most: in the text itself, in a part beside it, or anywhere in the same whole. What counts for a turn that ends
with a question counts for the next nearly as much, whether it has the words or they came before: "There is a parrot." -
"How old?" - "Eleven."
Then the texts are raised that hold the kind of answer which the question asks for, or that someone says whom it names,
and those with a question are lowered, most if they end with it. The constants are tuned on the development half of
bench/dialogues (docs/performance.md, "Recall"); those of neighbours and of speakers also with three other dialogues in
view, and confirmed by a fourth (docs/decisions, "answers are found by what came before their questions").
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import log

from msgspec import Struct

from actors.text.answer_kinds import AGE, ASKED, ASKS, DATE, NUMBER, ONESELF

K1 = 1.2
B = 0.4
"""Less than the usual 0.75: a longer message or memory is not much worse."""

BESIDE = {-1: 0.4, 0: 1.0, 1: 0.75, 2: 0.55, 3: 0.4, 4: 0.3}
"""The share of a term's weight that a text gains from the part this far before it (> 0) or after it (< 0)."""

MOST_BESIDE = 0.88
"""The largest part of a term that a text accounts for which has it only beside it.

Less than 0.9, with which the engine `recall` would quote it together with a text that has all terms itself.
"""

AFTER_QUESTION = 0.95
"""The part of what counts for a text that ends with a question, from itself or before it, that counts for the next."""

BEFORE, AFTER = -min(BESIDE), max(BESIDE)
"""The number of parts before and after a part for which its terms count."""

_DISTANCES = tuple(BESIDE)
_ITSELF = _DISTANCES.index(0)


def _weights(asked: int) -> tuple[float, ...]:
    """Return the weights of the `BESIDE`; the bits of `asked` tell of the part itself and the next ones if they ask."""
    weights = dict(BESIDE)
    for distance in range(1, AFTER + 1):
        if asked >> distance - 1 & 1:
            weights[distance] = max(weights[distance], AFTER_QUESTION * weights[distance - 1])
    return tuple(weights.values())


_WEIGHTS = tuple(_weights(asked) for asked in range(1 << AFTER))

IN_WHOLE = 0.2
"""The share of a term's weight that a text gains from any other part of the same whole."""

IN_CONTEXT = 28
"""The number of best texts whose terms count for the texts around them, where texts are few."""

MOST_IN_CONTEXT = 100
"""The same where texts are many."""

_TEXTS_FOR_ONE = 12  # in context; measured with 370 to 3,000 turns of dialogues

HOLDS_ANSWER = {NUMBER: 1.5, DATE: 1.3, AGE: 1.5, ONESELF: 1.3}
"""The factor of the score of a text that holds the kind of answer which the question asks for."""

SPOKEN = 1.5
"""The factor of the score of a text that is said by someone whom the question names."""

WITH_QUESTION = 0.92
"""The factor of the score of a text that has a question in it: less than `AFTER_QUESTION`."""

ENDS_ASKING = 0.65
"""A further factor if it ends with the question."""

_FACTORS = {ASKED: WITH_QUESTION, ASKS: ENDS_ASKING, **HOLDS_ANSWER}

Gains = dict[str, float]
"""The terms of a question that count for a text, each with its contribution to the text's score."""


@lru_cache(maxsize=16_384)
def rarity(texts: int, having: float) -> float:
    """Return the inverse document frequency of a term that `having` of `texts` texts have."""
    return log(1 + (texts - having + 0.5) / (having + 0.5)) if having < texts else log(1 + 0.5 / (having + 0.5))


def count_in_context(texts: int) -> int:
    """Return the number of best texts, of so many, whose terms count for the texts around them."""
    return min(max(texts // _TEXTS_FOR_ONE, IN_CONTEXT), MOST_IN_CONTEXT)


def looked_at(texts: int, limit: int, context: int) -> tuple[int, int]:
    """Return how many of the best texts are scored by all terms, and among how many of these those that are no parts.

    Args:
        texts: the number of texts that there are.
        limit: the number of texts to find.
        context: the number of best texts whose terms count for the texts around them; 0: as many as is usual.
    """
    return max(context or count_in_context(texts), limit), max(limit, IN_CONTEXT)


def leading(having: Sequence[int], most: int) -> tuple[int, list[int] | None]:
    """Return how many terms find texts, those that have at most `most` texts together, and how many texts of each.

    Where even the rarest has more, terms distinguish little: then all find texts, each its newest, in proportion.

    Args:
        having: the number of texts with each term, the rarest first.
        most: the number of postings that are read.

    Returns:
        the number of terms; the number of the newest texts of each that are read, or None for all texts.
    """
    left = most
    for place, count in enumerate(having):
        left -= count
        if left < 0:
            if place:
                return place, None
            part = most / sum(having)
            return len(having), [max(1, int(count * part)) for count in having]
    return len(having), None


class Matched(Struct, frozen=True):
    """A text with terms of a question.

    `whole` names the longer text that it is a part of, and `part` is its number there. A message has no whole, but its
    conversation's number as part; a text that stands alone has part 0.
    """

    number: int
    whole: str
    part: int
    gains: Gains


def in_context(
    matched: Sequence[Matched], number_at: Callable[[tuple[str, int]], int | None], asking: AbstractSet[int]
) -> dict[int, Gains]:
    """Return the gains of these texts and of those beside them, in their context.

    Args:
        matched: the best texts by their own terms.
        number_at: finds the text that is a certain part of a whole.
        asking: the texts that end with a question.
    """
    found: dict[int, Gains] = {}
    strongest: dict[str, Gains] = {}
    for one in matched:
        if one.part and one.whole:
            _raise(strongest.setdefault(one.whole, {}), one.gains, IN_WHOLE)
    for one in matched:
        number, whole, part, gains = one.number, one.whole, one.part, one.gains
        if not part:
            found[number] = gains
            continue
        around = [number_at((whole, part + distance)) if distance else number for distance in _DISTANCES]
        asked = 0
        if asking:
            for bit, beside in enumerate(around[_ITSELF:-1]):
                if beside in asking:
                    asked |= 1 << bit
        for beside, weight in zip(around, _WEIGHTS[asked], strict=True):
            if beside is None:
                continue
            known = found.get(beside)
            if known is None:
                known = found[beside] = strongest[whole].copy() if whole else {}
            for term, gain in gains.items():  # as `_raise` does, without 200 calls
                weighed = weight * gain
                if weighed > known.get(term, 0.0):
                    known[term] = weighed
    return found


def _raise(known: Gains, gains: Gains, weight: float) -> None:
    """Raise known gains to others that are larger."""
    for term, gain in gains.items():
        weighed = weight * gain
        if weighed > known.get(term, 0.0):
            known[term] = weighed


def factors(raising: Iterable[str], having: Mapping[str, set[int]], numbers: Collection[int]) -> dict[int, float]:
    """Return what the scores of some texts are multiplied by, by their numbers.

    Args:
        raising: the kinds of answers that the question asks for, and the terms of speakers whom it names.
        having: the texts that hold a kind of answer, that someone says, or that ask.
        numbers: the texts that were found.
    """
    found: dict[int, float] = {}
    spoken: set[int] = set()
    for term in (ASKED, ASKS, *raising):
        if term not in having:
            continue
        some = having[term].intersection(numbers)  # looks at `numbers` only, and these are few
        factor = _FACTORS.get(term)
        if factor is None:
            spoken |= some  # a name of two words raises once
            continue
        for number in some:
            found[number] = found.get(number, 1.0) * factor
    for number in spoken:
        found[number] = found.get(number, 1.0) * SPOKEN
    return found


def highest(strengths: Iterable[float], raising: Iterable[str], held: Container[str]) -> float:
    """Return the score of a text of usual length that has each term of a question once, and whatever raises it.

    Args:
        strengths: the weights of the terms.
        raising: as `factors` takes it.
        held: what of these any text has.
    """
    score, spoken = sum(strengths) / (K1 + 1), 1.0
    for term in filter(held.__contains__, raising):
        if term in HOLDS_ANSWER:
            score *= HOLDS_ANSWER[term]
        else:
            spoken = SPOKEN  # a name of two words raises once
    return score * spoken


def in_order(scored: Iterable[tuple[float, int]], factors: Mapping[int, float]) -> list[tuple[float, int]]:
    """Sort scores, each with its text's number, best first; among equals, the higher number first.

    Args:
        scored: the scores and numbers.
        factors: what the scores of some are multiplied by.
    """
    return sorted([(score * factors.get(number, 1.0), number) for score, number in scored], reverse=True)


def best_of(scores: Mapping[int, float], having: Iterable[Sequence[int]], count: int) -> list[tuple[float, int]]:
    """Return the highest scores with their texts' numbers, best first; among equals, the higher number first.

    `having` are the texts with each term that was counted, rarest term first: the texts with the rarest ones bound what
    has to be sorted.
    """
    if len(scores) > 2 * count:
        some: set[int] = set()
        for numbers in having:
            some.update(numbers)
            if len(some) >= count:
                break
        least = sorted([scores.get(number, 0.0) for number in some])[-count]
        ranked = [(score, number) for number, score in scores.items() if score >= least]
    else:
        ranked = [(score, number) for number, score in scores.items()]
    ranked.sort(reverse=True)
    return ranked[:count]
