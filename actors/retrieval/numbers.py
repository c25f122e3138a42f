"""The numbers that a question names: "What is on shelf 2?" asks for no shelf with 2 boxes on it."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, TypeVar

from actors.retrieval.question import DOUBTFUL, Question


class _Found(Protocol):
    @property
    def share(self) -> float: ...


T = TypeVar("T", bound=_Found)

_NEAR = 2  # terms: "invoice no. 12"


class Numbers(NamedTuple):
    """The numbers of a question.

    Attributes:
        beside: the terms that have a digit, each with the term before and the one after it, or "".
        asked: all terms of the question.
    """

    beside: dict[str, tuple[str, str]]
    asked: Collection[str]

    def share(self, share: float, terms: Collection[str]) -> float:
        """Return the share of a text with these terms, which is never without doubt if it lacks one of the numbers."""
        return share if all(number in terms for number in self.beside) else share * DOUBTFUL

    def placed(self, terms: Sequence[str]) -> int:
        """Count the numbers that a text has right behind or before the same term as the question.

        `terms` are the text's in order; others than the question's may stand between, but no number.
        """
        count = 0
        for number, (before, after) in self.beside.items():
            if number in terms:
                at = terms.index(number)
                behind, ahead = terms[max(at - _NEAR, 0) : at], terms[at + 1 : at + 1 + _NEAR]
                count += self._nearest(behind[::-1]) == before or self._nearest(ahead) == after
        return count

    def _nearest(self, terms: Sequence[str]) -> str | None:
        """Return the first of a few terms that is a number or in the question."""
        return next((term for term in terms if term in self.asked or _is_number(term)), None)


def best_placed(texts: Sequence[T], placed: Sequence[int]) -> list[T]:
    """Return the texts, each with its count of `Numbers.placed`, of which none with the same share has a higher one."""
    most: dict[float, int] = {}
    for text, count in zip(texts, placed, strict=True):
        most[text.share] = max(count, most.get(text.share, 0))
    return [text for text, count in zip(texts, placed, strict=True) if count == most[text.share]]


def numbers_in(question: Question) -> Numbers | None:
    """Return the numbers that a question names; None if it names none."""
    terms = ["", *question.terms, ""]
    beside = {term: (terms[at - 1], terms[at + 1]) for at, term in enumerate(terms) if _is_number(term)}
    return Numbers(beside, question.terms) if beside else None


def _is_number(term: str) -> bool:
    return not term.isalpha() and any(map(str.isdigit, term))
