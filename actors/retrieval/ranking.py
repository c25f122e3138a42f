"""The one ranking of all searches: Okapi BM25, and the context of a text within a longer one.

Robertson, S. and Zaragoza, H. (2009): The Probabilistic Relevance Framework: BM25 and Beyond. Foundations and
Trends in Information Retrieval 3(4), 333-389. The inverse document frequency of a term in n of N texts is
ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative.

A text that is a part of another (the turn of a dialogue, the part of a document) is found by the words of the parts
beside it, too: an answer seldom repeats the question. Each term of a question counts once for a text, where it
weighs most: in the text itself, in a part beside it, or anywhere in the same whole. The constants are tuned on the
development half of bench/dialogues (docs/performance.md, "Recall").
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

K1 = 1.2
B = 0.4
"""Less than the usual 0.75: a longer message or memory is not much worse."""

BESIDE = {-2: 0.3, -1: 0.5, 0: 1.0, 1: 0.7, 2: 0.45}
"""The share of a term's weight that a text gains from the part this far before it (> 0) or after it (< 0)."""

_DISTANCES = tuple(BESIDE.items())

IN_WHOLE = 0.2
"""The share of a term's weight that a text gains from any other part of the same whole."""

IN_CONTEXT = 48
"""The number of best texts whose terms count for the texts around them."""

Gains = dict[str, float]
"""The terms of a question that count for a text, each with its contribution to the text's score."""


@lru_cache(maxsize=16_384)
def rarity(texts: int, having: float) -> float:
    """Return the inverse document frequency of a term that `having` of `texts` texts have."""
    return log(1 + (texts - having + 0.5) / (having + 0.5)) if having < texts else log(1 + 0.5 / (having + 0.5))


class Matched(NamedTuple):
    """A text with terms of a question.

    `whole` names the longer text that it is a part of, and `part` is its number there. A message has no whole, but its
    conversation's number as part; a text that stands alone has part 0.
    """

    number: int
    whole: str
    part: int
    gains: Gains


def in_context(matched: Sequence[Matched], number_at: Callable[[tuple[str, int]], int | None]) -> dict[int, Gains]:
    """Return the gains of these texts and of those beside them, in their context.

    Args:
        matched: the best texts by their own terms.
        number_at: finds the text that is a certain part of a whole.
    """
    found: dict[int, Gains] = {}
    members: dict[str, list[int]] = {}
    strongest: dict[str, Gains] = {}
    for number, whole, part, gains in matched:
        if not part:
            found[number] = gains
            continue
        for distance, weight in _DISTANCES:
            beside = number_at((whole, part + distance)) if distance else number
            if beside is None:
                continue
            if beside in found:
                _raise(found[beside], gains, weight)
                continue
            found[beside] = {term: weight * gain for term, gain in gains.items()}
            if whole:
                members.setdefault(whole, []).append(beside)
        if whole:
            _raise(strongest.setdefault(whole, {}), gains, IN_WHOLE)
    for whole, best in strongest.items():
        for number in members[whole]:
            _raise(found[number], best, 1.0)
    return found


def _raise(known: Gains, gains: Gains, weight: float) -> None:
    """Raise known gains to others that are larger."""
    for term, gain in gains.items():
        weighed = weight * gain
        if weighed > known.get(term, 0.0):
            known[term] = weighed


def scores(found: Mapping[int, Gains]) -> list[tuple[float, int]]:
    """Return the scores and numbers of texts, best first; among equals, the higher number first."""
    return sorted([(sum(gains.values()), number) for number, gains in found.items()], reverse=True)
