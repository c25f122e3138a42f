"""The last utterances of one conversation, and the search over what they tell."""

from collections.abc import Collection, Iterable, Iterator

from actors.engines import speech
from actors.engines.bm25 import Index
from actors.engines.engine import Utterance

CAPACITY = 200
"""Utterances of a conversation that engines see (product.md 6)."""


class Window:
    """The last `capacity` utterances, oldest first.

    The index is built at the first search and follows every `append` from then on, so a conversation that no
    engine searches costs a list.
    """

    __slots__ = ("_capacity", "_index", "_oldest", "_utterances")

    def __init__(self, utterances: Iterable[Utterance] = (), capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise ValueError(f"a window holds at least one utterance, not {capacity}")
        self._capacity = capacity
        self._utterances = list(utterances)[-capacity:]
        self._oldest = 0  # the index's number of the first utterance
        self._index: Index | None = None

    def __len__(self) -> int:
        return len(self._utterances)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self._utterances)

    def append(self, utterance: Utterance) -> None:
        """Add the newest utterance; the oldest leaves a full window."""
        utterances = self._utterances
        index = self._index
        if len(utterances) == self._capacity:
            del utterances[0]
            if index is not None and self._oldest in index:
                index.remove(self._oldest)
            self._oldest += 1
        if index is not None:
            _add(index, self._oldest + len(utterances), utterance)
        utterances.append(utterance)

    def search(
        self, terms: Collection[str], limit: int, least: int = 1
    ) -> list[tuple[Utterance, float, tuple[str, ...]]]:
        """The utterances that match these distinct terms best (see `Index.search`), newest of equals first.

        Only those with at least `least` of the terms, each with its BM25 score (> 0) and its distinct terms.
        """
        index = self._indexed()
        utterances = self._utterances
        oldest = self._oldest
        return [(utterances[n - oldest], score, index.terms(n)) for n, score in index.search(terms, limit, least)]

    def told(self) -> Iterator[Utterance]:
        """The utterances that tell something, newest first."""
        index = self._indexed()
        for place in range(len(self._utterances) - 1, -1, -1):
            if self._oldest + place in index:
                yield self._utterances[place]

    def compact(self) -> None:
        """Drop the index, most of the memory of an idle window; the next search builds it anew."""
        self._index = None

    def _indexed(self) -> Index:
        if self._index is None:
            self._index = Index()
            for number, utterance in enumerate(self._utterances, self._oldest):
                _add(self._index, number, utterance)
        return self._index


def _add(index: Index, number: int, utterance: Utterance) -> None:
    terms = speech.facts(utterance)
    if terms:
        index.add(number, terms)
