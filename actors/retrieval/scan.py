"""The search of texts that no index has: they are read for one search, and found and scored as stored.py does it."""

from collections.abc import Iterable, Sequence
from heapq import nlargest

from actors.retrieval.found import LONGER_BY, MAX_RELATIVES, RELATIVE, beginning
from actors.retrieval.ranking import K1, B, rarity
from actors.retrieval.stored import MAX_LOOKED_UP, MAX_TERMS, Elsewhere
from actors.text import tokenizer


class Scan:
    """Texts with their terms, numbered from 0 on in the order in which they are added.

    >>> scan = Scan()
    >>> scan.add(["dog", "name", "rex"])
    >>> scan.add(["train", "leav"], strength=0.5)
    >>> [number for _, number in scan.search(["dog"], 5, Elsewhere())]
    [0]
    """

    __slots__ = ("_postings", "_strengths", "_terms", "_words")

    def __init__(self) -> None:
        self._terms: list[Sequence[str]] = []
        self._strengths: list[float] = []
        self._postings: dict[str, list[int]] = {}
        self._words = 0

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, terms: Sequence[str], strength: float = 1.0) -> None:
        """Add a text by its terms, in order with repetitions; its scores are multiplied by `strength`."""
        number = len(self._terms)
        self._terms.append(terms)
        self._strengths.append(strength)
        self._words += len(terms)
        for term in set(terms):
            self._postings.setdefault(term, []).append(number)

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many texts have each of these terms; those that none has are left out."""
        return {term: len(having) for term in terms if (having := self._postings.get(term))}

    def search(self, asked: Sequence[str], limit: int, elsewhere: Elsewhere) -> list[tuple[float, int]]:
        """Return the scores and numbers of the texts that match terms best; of equals the first added first.

        Args:
            asked: the distinct terms of the question; the first `MAX_LOOKED_UP` count, and the rarest of these.
            limit: the number of texts to find.
            elsewhere: the texts of indexes, which only count in the frequencies.
        """
        found = self._known(asked[:MAX_LOOKED_UP])
        rarest = sorted(found, key=lambda term: (len(self._postings[term]), term))[:MAX_TERMS]
        texts = len(self._terms) + elsewhere.texts
        fixed, by_length = K1 * (1 - B), K1 * B * len(self._terms) / (self._words or 1)
        scores: dict[int, float] = {}
        for term in rarest:
            having = self._postings[term]
            weight = found[term] * (K1 + 1) * rarity(texts, len(having) + elsewhere.frequencies.get(term, 0))
            for number in having:
                terms = self._terms[number]
                times = terms.count(term)
                gain = weight * times / (times + fixed + by_length * len(terms))
                scores[number] = scores.get(number, 0.0) + gain
        strengths = self._strengths
        best = nlargest(limit, ((score * strengths[number], -number) for number, score in scores.items()))
        return [(score, -number) for score, number in best]

    def _known(self, asked: Sequence[str]) -> dict[str, float]:
        """Return the terms to search for with their weights; one that no text has is replaced by its relatives."""
        known = {term: 1.0 for term in asked if term in self._postings}
        unknown = [term for term in asked if term not in self._postings][:MAX_TERMS]
        for term in unknown:
            for relative in self._relatives(term):
                known.setdefault(relative, RELATIVE)
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
