"""A small inverted index ranked by Okapi BM25, for collections that fit in memory.

Robertson, S. and Zaragoza, H. (2009): The Probabilistic Relevance Framework: BM25 and Beyond. Foundations and
Trends in Information Retrieval 3(4), 333-389. Two choices within it: the inverse document frequency of a term
in n of N documents is ln((N + 1) / (n + 0.5)), which is never negative; the average length is a constant, so
what length and frequency contribute is computed once, when a document is added.
"""

from collections.abc import Collection, Sequence
from math import log

MAX_TERMS_PER_DOCUMENT = 1_024
"""Distinct terms of a document that are indexed, the first ones: bounds the memory of hostile texts."""

MAX_QUERY_TERMS = 16
"""Terms of a query that are used, the rarest ones."""

MAX_POSTINGS = 64
"""Postings that a search reads, those of the rarest terms."""

_K1 = 1.2
_B = 0.5  # less than the usual 0.75: a longer message is not much worse for that
_AVERAGE_LENGTH = 8.0  # terms of a message

_FREQUENCY_BITS = 4
_MAX_FREQUENCY = (1 << _FREQUENCY_BITS) - 1


class Index:
    """Documents, each known by a number >= 0 and found by its terms.

    A posting is `number << 4 | frequency`. A tuple of them per term takes half the memory of a dict per term.

        >>> index = Index()
        >>> index.add(1, ["dog", "name", "rex"])
        >>> index.add(2, ["train", "leave"])
        >>> [number for number, score in index.search(["dog"], limit=5)]
        [1]
    """

    __slots__ = ("_impacts", "_postings", "_terms")

    def __init__(self) -> None:
        self._postings: dict[str, tuple[int, ...]] = {}
        self._impacts: dict[int, float] = {}  # posting -> what BM25 multiplies a term's weight with
        self._terms: dict[int, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def __contains__(self, number: int) -> bool:
        return number in self._terms

    def terms(self, number: int) -> tuple[str, ...]:
        """The distinct terms of a document."""
        return self._terms[number]

    def add(self, number: int, terms: Sequence[str]) -> None:
        """Index a document under a number that is not in use."""
        if number in self._terms:
            raise ValueError(f"document {number} is indexed already")
        distinct = tuple(dict.fromkeys(terms))
        length = len(terms)
        if len(distinct) > MAX_TERMS_PER_DOCUMENT:
            distinct = distinct[:MAX_TERMS_PER_DOCUMENT]
        self._terms[number] = distinct
        postings = self._postings
        once = (self._posting(number, 1, length),)
        if len(distinct) == length:
            for term in distinct:
                postings[term] = postings[term] + once if term in postings else once
            return
        frequencies = dict.fromkeys(distinct, 0)
        for term in terms:
            if term in frequencies:
                frequencies[term] += 1
        for term, frequency in frequencies.items():
            posting = once if frequency == 1 else (self._posting(number, frequency, length),)
            postings[term] = postings.get(term, ()) + posting

    def _posting(self, number: int, frequency: int, length: int) -> int:
        posting = number << _FREQUENCY_BITS | min(frequency, _MAX_FREQUENCY)
        norm = _K1 * (1 - _B + _B * length / _AVERAGE_LENGTH)
        self._impacts[posting] = frequency * (_K1 + 1) / (frequency + norm)
        return posting

    def remove(self, number: int) -> None:
        """Forget a document; KeyError if there is none of that number."""
        postings = self._postings
        impacts = self._impacts
        once = number << _FREQUENCY_BITS | 1
        impacts.pop(once)
        for term in self._terms.pop(number):
            known = postings[term]
            if known[0] == once:  # as a rule: the oldest document goes first
                place = 0
            else:
                place = next(i for i, posting in enumerate(known) if posting >> _FREQUENCY_BITS == number)
                impacts.pop(known[place], None)
            if len(known) == 1:
                del postings[term]
            else:
                postings[term] = known[:place] + known[place + 1 :] if place else known[1:]

    def search(self, terms: Collection[str], limit: int, least: int = 1) -> list[tuple[int, float]]:
        """The best documents and their scores (> 0), best first; of equals the higher number first.

        The rarest of the distinct `terms` lead; those in more than half of the documents count only when no
        rarer one is in any. Left out are documents with fewer than `least` of the terms that count, and those that
        score less than a quarter of the best one.
        """
        postings = self._postings
        found = [known for term in terms if (known := postings.get(term))]
        if len(found) < least or not found:
            return []
        found.sort(key=len)
        half = len(self._terms) // 2
        left = MAX_POSTINGS
        counted: list[tuple[int, ...]] = []
        for known in found[:MAX_QUERY_TERMS]:
            size = len(known)
            if counted and (size > left or size > half):
                break
            counted.append(known)
            left -= size
        # Terms that are too common to count might still be in a document: they are given the benefit of the doubt.
        least -= len(found) - len(counted)
        if least > 1:
            matches: dict[int, int] = {}
            for known in counted:
                for posting in known[-MAX_POSTINGS:]:
                    number = posting >> _FREQUENCY_BITS
                    matches[number] = matches.get(number, 0) + 1
            wanted = {number for number, count in matches.items() if count >= least}
            if not wanted:
                return []
        else:
            wanted = None
        return self._ranked(counted, wanted, limit)

    def _ranked(self, found: list[tuple[int, ...]], wanted: set[int] | None, limit: int) -> list[tuple[int, float]]:
        impacts = self._impacts
        count = len(self._terms)
        scores: dict[int, float] = {}
        for known in found:
            weight = log((count + 1) / (len(known) + 0.5))
            for posting in known[-MAX_POSTINGS:]:
                number = posting >> _FREQUENCY_BITS
                if wanted is not None and number not in wanted:
                    continue
                if number in scores:
                    scores[number] += weight * impacts[posting]
                else:
                    scores[number] = weight * impacts[posting]
        least_score = max(scores.values()) / 4
        best = [(score, number) for number, score in scores.items() if score >= least_score]
        best.sort(reverse=True)
        return [(number, score) for score, number in best[:limit]]
