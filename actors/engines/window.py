"""The last utterances of one conversation, and the search in them."""

from collections.abc import Collection, Iterable, Iterator

from actors.engines import dialogue_acts
from actors.engines.message import Utterance
from actors.slices import Steps, whole
from actors.text.bm25 import Index
from actors.text.tokenizer import SLICE_CHARS

CAPACITY = 200
"""The number of utterances that engines see (docs/contract.md, "Chat engines")."""


class Window:
    """The last `capacity` utterances, oldest first.

    The index is built at the first search and updated by every later `append`, so a conversation that no engine
    searches costs only a list. `indexing` adds a long utterance, and those that come after it.
    """

    __slots__ = ("_capacity", "_index", "_indexed", "_oldest", "_utterances")

    def __init__(self, utterances: Iterable[Utterance] = (), capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise ValueError(f"a window holds at least one utterance, not {capacity}")
        self._capacity = capacity
        self._utterances = list(utterances)[-capacity:]
        self._oldest = 0  # the index's number of the first utterance
        self._index: Index | None = None
        self._indexed = 0  # the number of the first utterance that is not in the index yet

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
        number = self._oldest + len(utterances)
        utterances.append(utterance)
        if index is not None and self._indexed == number and len(utterance.content) <= SLICE_CHARS:
            self._indexed += 1
            if terms := dialogue_acts.facts(utterance):
                index.add(number, terms)

    def before(self, seq: int) -> "Window":
        """Return a window of the utterances before a seq, without an index."""
        return Window(utterance for utterance in self._utterances if utterance.seq < seq)

    @property
    def is_indexed(self) -> bool:
        """Whether the next search needs to index no utterance first."""
        return self._index is not None and self._indexed == self._oldest + len(self._utterances)

    def indexing(self) -> Steps[Index]:
        """Bring the index up to date, and return it. Others may do the same, append or search meanwhile."""
        while True:
            if self._index is None:
                self._index, self._indexed = Index(), self._oldest
            index, number = self._index, max(self._indexed, self._oldest)
            if number == self._oldest + len(self._utterances):
                self._indexed = number
                return index
            terms = yield from dialogue_acts.finding_facts(self._utterances[number - self._oldest])
            if index is self._index and number == max(self._indexed, self._oldest):  # else another caller was faster
                self._indexed = number + 1
                if terms:
                    index.add(number, terms)
            yield

    def search(
        self, terms: Collection[str], limit: int, least: int = 1
    ) -> list[tuple[Utterance, float, tuple[str, ...]]]:
        """Return the utterances that match these distinct terms best (see `Index.search`), newest of equals first.

        Only those with at least `least` of the terms, each with its BM25 score (> 0) and its distinct terms.
        """
        index = self._index
        if index is None or self._indexed != self._oldest + len(self._utterances):
            index = whole(self.indexing())
        utterances = self._utterances
        oldest = self._oldest
        return [(utterances[n - oldest], score, index.terms(n)) for n, score in index.search(terms, limit, least)]

    def statements(self) -> Iterator[Utterance]:
        """Yield the utterances that state something, newest first."""
        index = whole(self.indexing())
        for position in range(len(self._utterances) - 1, -1, -1):
            if self._oldest + position in index:
                yield self._utterances[position]

    def compact(self) -> None:
        """Drop the index, which takes most of an idle window's memory; the next search rebuilds it."""
        self._index = None
