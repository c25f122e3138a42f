"""The search of texts that no index has: they are read for one search, and found and scored as stored.py does it."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from actors.retrieval.found import LONGER_BY, MAX_RELATIVES, RELATIVE, beginning
from actors.retrieval.question import Question
from actors.retrieval.ranking import IN_CONTEXT, K1, B, Gains, Matched, factors, in_context, rarity
from actors.retrieval.stored import MAX_LOOKED_UP, MAX_TERMS, OtherTexts
from actors.slices import Steps
from actors.text import tokenizer
from actors.text.answer_kinds import ASKED, ASKS


class Scan:
    """Texts with their terms, numbered from 0 on in the order in which they are added.

    >>> scan = Scan()
    >>> scan.add(["dog", "name", "rex"])
    >>> scan.add(["train", "leav"], strength=0.5)
    >>> [number for _, number in whole(scan.searching(Question(["dog"]), 5, OtherTexts()))]
    [0]
    """

    __slots__ = ("_at", "_places", "_postings", "_strengths", "_terms", "_words")

    def __init__(self) -> None:
        self._terms: list[Sequence[str]] = []
        self._strengths: list[float] = []
        self._postings: dict[str, list[int]] = {}
        self._words = 0
        self._places: dict[int, tuple[int, int]] = {}
        self._at: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, terms: Sequence[str], strength: float = 1.0, place: tuple[int, int] | None = None) -> None:
        """Add a text.

        Args:
            terms: in order with repetitions, with the kinds of answers that it holds.
            strength: its scores are multiplied by it.
            place: the number of its conversation and its place there, by which texts are beside each other; None if
                it stands alone.
        """
        number = len(self._terms)
        self._terms.append(terms)
        self._strengths.append(strength)
        self._words += len(terms)
        if place is not None:
            self._places[number] = place
            self._at[place] = number
        for term in set(terms):
            self._postings.setdefault(term, []).append(number)

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many texts have each of these terms; those that none has are left out."""
        return {term: len(having) for term in terms if (having := self._postings.get(term))}

    def searching(
        self, question: Question, limit: int, elsewhere: OtherTexts, *, beside: bool = True
    ) -> Steps[list[tuple[float, int]]]:
        """Return the scores and numbers of the texts that match a question best, in their context.

        Of equals the first added comes first.

        Args:
            question: its first `MAX_LOOKED_UP` terms count, and the rarest of these.
            limit: the number of texts to find.
            elsewhere: the texts of indexes, which only count in the frequencies.
            beside: whether texts are found that only stand beside some with terms of the question.
        """
        known = self._known(list(question.terms)[:MAX_LOOKED_UP])
        rarest = sorted(known, key=lambda term: (len(self._postings[term]), term))[:MAX_TERMS]
        texts, strengths = len(self._terms) + elsewhere.texts, self._strengths
        fixed, by_length = K1 * (1 - B), K1 * B * len(self._terms) / (self._words or 1)
        own: dict[int, float] = {}
        of_terms: list[tuple[str, dict[int, float]]] = []
        for term in rarest:
            asked, weight = known[term]
            having = self._postings[term]
            weight *= (K1 + 1) * rarity(texts, len(having) + elsewhere.frequencies.get(term, 0))
            gained: dict[int, float] = {}
            for number in having:
                terms = self._terms[number]
                times = terms.count(term)
                gain = gained[number] = weight * times / (times + fixed + by_length * len(terms))
                own[number] = own.get(number, 0.0) + gain * strengths[number]
            of_terms.append((asked, gained))
            yield
        best = [-at for _, at in nlargest(max(limit, IN_CONTEXT), ((score, -number) for number, score in own.items()))]
        gains: dict[int, Gains] = {number: {} for number in best}
        for asked, gained in of_terms:
            for number in best:
                if number in gained:
                    gains[number][asked] = max(gained[number], gains[number].get(asked, 0.0))
        found, raising = self._in_context(best, gains), question.raising
        holding = {kind: set(self._postings[kind]) for kind in (*raising, ASKED, ASKS) if kind in self._postings}
        raised = factors(raising, holding, found.keys())
        scores = [
            (sum(of_text.values()) * raised.get(number, 1.0) * strengths[number], -number)
            for number, of_text in found.items()
            if beside or number in own
        ]
        return [(score, -number) for score, number in nlargest(limit, scores)]

    def _in_context(self, best: Iterable[int], gains: Mapping[int, Gains]) -> dict[int, Gains]:
        """Return the gains of the best texts and of those beside them, in their context."""
        found: dict[int, Gains] = {}
        beside: dict[int, list[Matched]] = {}
        for number in best:
            if number in self._places:
                conversation, part = self._places[number]
                beside.setdefault(conversation, []).append(Matched(number, "", part, gains[number]))
            else:
                found[number] = gains[number]
        asking = set(self._postings.get(ASKED, ()))
        for conversation, matched in beside.items():
            found |= in_context(matched, lambda at, of=conversation: self._at.get((of, at[1])), asking)
        return found

    def _known(self, asked: Sequence[str]) -> dict[str, tuple[str, float]]:
        """Return the terms to search for, each with that of the question and its weight.

        A term that no text has is replaced by its relatives.
        """
        known = {term: (term, 1.0) for term in asked if term in self._postings}
        unknown = [term for term in asked if term not in self._postings][:MAX_TERMS]
        for term in unknown:
            for relative in self._relatives(term):
                known.setdefault(relative, (term, RELATIVE))
        return known

    def _relatives(self, term: str) -> list[str]:
        """List other forms of a term, and the words that it begins with."""
        begun = beginning(term)
        words = [word for word in tokenizer.beginnings(term) if word in self._postings]
        if not begun:
            return words
        longest = len(term) + LONGER_BY
        forms = [word for word in self._postings if word.startswith(begun) and len(word) <= longest and word.isalpha()]
        return words + sorted(forms)[:MAX_RELATIVES]
