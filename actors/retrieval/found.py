"""The results of a search: texts that match a question, with the judgement whether they answer it."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Final

from msgspec import Struct, structs

from actors.retrieval.question import OTHER_FORM, Judge
from actors.retrieval.ranking import AFTER, MOST_BESIDE, Gains, highest, in_order, rarity

RELATIVE: Final = 0.6
"""The weight of a term that shares only its beginning with a term of the question that no text has."""

MAX_RELATIVES: Final = 8
"""The number of terms that stand for one term of the question that no text has."""

SHORTEST_BEGINNING: Final = 4
"""The shortest beginning that two forms of a word share, in characters."""

COMPOUND: Final = 0.5
"""The share of a compound that a text accounts for which has only its first word."""

LONGER_BY: Final = 4
"""The number of characters by which a form of a word may be longer than the one in the question."""


class Found(Struct, frozen=True):
    """A text that matches a question.

    Attributes:
        number: the text's.
        score: comparable within one search; > 0.
        share: of the question's terms, 0 to 1, that the text accounts for.
        answers: whether it answers the question.
    """

    number: int
    score: float
    share: float
    answers: bool


def beginning(term: str) -> str:
    """Return the beginning that other forms of a term have, too; "" if it has no other form, as A320 is not A321."""
    return term[: max(SHORTEST_BEGINNING, len(term) - 2)] if len(term) >= SHORTEST_BEGINNING and term.isalpha() else ""


def shares_of(relatives: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return the terms of the question that relatives stand for, each with the largest share that one accounts for."""
    shares: dict[str, float] = {}
    for relative, term in relatives:
        form = relative.startswith(beginning(term)) or relative == term[:-1]
        share = OTHER_FORM if form else COMPOUND
        shares[term] = max(share, shares.get(term, 0.0))
    return shares


def answerable(
    judge: Judge, having: Collection[str], strengths: Iterable[float], raising: Iterable[str], held: Container[str]
) -> bool:
    """Return whether a text with all terms of the question that any text has would answer it.

    Args:
        judge: tells whether a text answers the question.
        having: those terms.
        strengths: the weights of the terms that were searched for.
        raising: as `factors` takes it.
        held: what of these any text has.
    """
    best = judge.judge(dict.fromkeys(having, 1.0), highest(strengths, raising, held))
    return judge.or_if_named(best, having)[1]


def judged(
    judge: Judge,
    texts: int,
    having: Mapping[str, int],
    replaced: Mapping[str, float],
    own: Mapping[int, Gains],
    found: Mapping[int, Gains],
    factors: Mapping[int, float],
    limit: int,
    place_of: Callable[[int], tuple[str, int] | None],
    fits: Callable[[int, float, bool], bool] | None = None,
) -> list[Found]:
    """Rank texts by their gains, best first, and judge the best ones; among equals, the higher number first.

    For the best one, its score counts, too.

    Args:
        judge: tells whether they answer the question.
        texts: the number of texts that were searched.
        having: the number of them with each term of the question, or with its relatives.
        replaced: the terms that relatives stand for, each with the share that these account for.
        own: the gains of texts by their own terms.
        found: their gains, and those of others, in their context.
        factors: what the scores of some texts are multiplied by.
        limit: the number of texts to judge.
        place_of: finds the whole that a text is a part of, and its number there.
        fits: tells whether a text may answer by what it holds, given its share and whether it has terms itself; None if
            all may.
    """
    ranked: list[Found] = []
    unfit: list[int] = []
    scored = [(sum(gains.values()), number) for number, gains in found.items()]
    for score, number in in_order(scored, factors)[:limit]:
        gains, by_itself = found[number], own.get(number, ())
        if gains is by_itself and not replaced:
            covered = dict.fromkeys(gains, 1.0)
        else:
            covered = {
                term: replaced.get(term, 1.0)
                if term in by_itself
                else min(MOST_BESIDE, gain / rarity(texts, having[term]), replaced.get(term, 1.0))
                for term, gain in gains.items()
            }
        share, answers = judge.or_if_named(judge.judge(covered, 0.0 if ranked else score), by_itself)
        if fits is not None and not fits(number, share, bool(by_itself)):
            unfit.append(len(ranked))
        ranked.append(Found(number, score, share, answers))
    if len(ranked) > 1 and any(one.answers for one in ranked[1:]):
        _judge_by_parts_before(ranked, [place_of(one.number) for one in ranked])
    for rank in unfit:
        ranked[rank] = structs.replace(ranked[rank], answers=False)
    return ranked


def _judge_by_parts_before(ranked: list[Found], places: list[tuple[str, int] | None]) -> None:
    """Take a part for an answer that ranks above one shortly before it that answers: it may lack that one's words."""
    below: set[tuple[str, int]] = set()
    for rank in range(len(ranked) - 1, -1, -1):
        one, place = ranked[rank], places[rank]
        if place is None or not place[0]:
            continue
        if one.answers:
            below.add(place)
        elif any((place[0], place[1] - distance) in below for distance in range(1, AFTER + 1)):
            ranked[rank] = Found(one.number, one.score, one.share, True)
