"""A small inverted index ranked by Okapi BM25, for collections that fit in memory.

Robertson, S. and Zaragoza, H. (2009): The Probabilistic Relevance Framework: BM25 and Beyond. Foundations and
Trends in Information Retrieval 3(4), 333-389. Two choices within it: the inverse document frequency of a term
in n of N documents is ln((N + 1) / (n + 0.5)), which is never negative; the average length is a constant, so
the contribution of length and frequency is computed once, when a document is added.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from math import log
from typing import NamedTuple

MAX_TERMS_PER_DOCUMENT = 1_024
"""The number of distinct terms of a document that are indexed, the first ones; bounds the memory of hostile texts."""

MAX_QUERY_TERMS = 16
"""The number of terms of a query that are used, the rarest ones."""

MAX_POSTINGS = 64
"""The number of postings that a search reads, those of the rarest terms."""

_K1 = 1.2
_B = 0.5  # less than the usual 0.75, because a longer message is not much worse
_AVERAGE_LENGTH = 8.0  # terms of a message


class _Document(NamedTuple):
    """The distinct terms of a document, the BM25 weight of a term that occurs once, and the weights of the others."""

    terms: tuple[str, ...]
    once: float
    often: dict[str, float]


class Index:
    """Documents by number (>= 0), found by their terms.

    A tuple of numbers per term takes half the memory of a dict per term.

        >>> index = Index()
        >>> index.add(1, ["dog", "name", "rex"])
        >>> index.add(2, ["train", "leave"])
        >>> [number for number, score in index.search(["dog"], limit=5)]
        [1]
    """

    __slots__ = ("_documents", "_postings")

    def __init__(self) -> None:
        self._postings: dict[str, tuple[int, ...]] = {}
        self._documents: dict[int, _Document] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, number: int) -> bool:
        return number in self._documents

    def terms(self, number: int) -> tuple[str, ...]:
        """The distinct terms of a document."""
        return self._documents[number].terms

    def add(self, number: int, terms: Sequence[str]) -> None:
        """Index a document under a number that is not in use."""
        if number in self._documents:
            raise ValueError(f"document {number} is indexed already")
        distinct = tuple(dict.fromkeys(terms))[:MAX_TERMS_PER_DOCUMENT]
        norm = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_LENGTH)
        often: dict[str, float] = {}
        if len(distinct) < len(terms):
            for term, frequency in Counter(terms).items():
                if frequency > 1:
                    often[term] = frequency * (_K1 + 1) / (frequency + norm)
        self._documents[number] = _Document(distinct, (_K1 + 1) / (1 + norm), often)
        postings = self._postings
        posting = (number,)
        for term in distinct:
            postings[term] = postings[term] + posting if term in postings else posting

    def remove(self, number: int) -> None:
        """Remove a document; raises KeyError if there is none of that number."""
        postings = self._postings
        for term in self._documents.pop(number).terms:
            known = postings[term]
            if len(known) == 1:
                del postings[term]
            elif known[0] == number:  # the usual case: the oldest document goes first
                postings[term] = known[1:]
            else:
                position = known.index(number)
                postings[term] = known[:position] + known[position + 1 :]

    def search(self, terms: Collection[str], limit: int, least: int = 1) -> list[tuple[int, float]]:
        """Return the best documents and their scores (> 0), best first; among equals, the higher number first.

        The rarest of the distinct `terms` lead; those in more than half of the documents count only when no
        rarer one is in any. Left out are documents with fewer than `least` of the terms that count, and those that
        score less than a quarter of the best one.
        """
        postings = self._postings
        if not postings:
            return []
        found = [(len(known), term, known) for term in terms if (known := postings.get(term))]
        if not found or len(found) < least:
            return []
        found.sort()  # the rarest first
        count = len(self._documents)
        left = MAX_POSTINGS
        weights: dict[str, float] = {}
        numbers: list[tuple[int, ...]] = []
        for size, term, known in found[:MAX_QUERY_TERMS]:
            if weights and (size > left or size * 2 > count):
                break
            weights[term] = log((count + 1) / (size + 0.5))
            numbers.append(known if size <= MAX_POSTINGS else known[-MAX_POSTINGS:])
            left -= size
        # A document might still have the terms that are too common to count, so they count as found.
        least -= len(found) - len(weights)
        matching = chain.from_iterable(numbers)
        if least > 1:
            matches = [number for number, matched in Counter(matching).items() if matched >= least]
        else:
            matches = dict.fromkeys(matching)
        documents = self._documents
        ranked: list[tuple[float, int]] = []
        for number in matches:
            terms, once, often = documents[number]
            score = 0.0
            for term in terms:
                if term in weights:
                    score += weights[term] * (often.get(term, once) if often else once)
            ranked.append((score, number))
        if not ranked:
            return []
        ranked.sort(reverse=True)
        enough = ranked[0][0] / 4
        return [(number, score) for score, number in ranked[:limit] if score >= enough]
