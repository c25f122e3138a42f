"""The last utterances of one conversation, and the search in them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from actors.engines import dialogue_acts
from actors.engines.message import Utterance, turn_of
from actors.retrieval.found import Found
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.slices import Steps, whole
from actors.text.tokenizer import SLICE_CHARS

CAPACITY = 200
"""The number of utterances that engines see (docs/contract.md, "Chat engines")."""


MAX_LEFT = 2_000
"""The number of utterances that left the window and wait to be archived; above it the oldest are dropped."""

IN_CONTEXT = 8
"""The number of best utterances whose words count for those around them."""

MAX_POSTINGS = 256
"""Bounds the cost of a search: the number of places of words that it looks at, those of the rarest words."""


_seq_of = attrgetter("seq")


class FoundUtterance(NamedTuple):
    """An utterance that matches a question, with its distinct terms; for the other members see `Found`."""

    utterance: Utterance
    score: float
    share: float
    answers: bool
    terms: tuple[str, ...]


class Window:
    """The last `capacity` utterances, oldest first.

    The index is built at the first search and updated by every later `append`, so a conversation that no engine
    searches costs only a list. `indexing` adds a long utterance, and those that come after it.

    With `keeps_left`, utterances that leave stay in memory, where searches find them, until `drop_left`. Those of them
    that an archive has, too, come first. For `a_turn` see `turn_of`.
    """

    __slots__ = (
        "_a_turn",
        "_capacity",
        "_index",
        "_indexed",
        "_keeps_left",
        "_oldest",
        "_repeating",
        "_utterances",
        "archived",
        "archived_weight",
        "left",
    )

    def __init__(
        self,
        utterances: Iterable[Utterance] = (),
        capacity: int = CAPACITY,
        *,
        keeps_left: bool = False,
        a_turn: int = 1,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"a window holds at least one utterance, not {capacity}")
        self._capacity = capacity
        self._a_turn = a_turn
        self._keeps_left = keeps_left
        self._utterances = [] if keeps_left else list(utterances)[-capacity:]  # those that left come first
        self._oldest = 0  # the index's number of the first utterance
        self._index: Index | None = None
        self._indexed = 0  # the number of the first utterance that is not in the index yet
        self._repeating: dict[int, Sequence[str]] = {}  # the terms of indexed utterances that have one several times
        self.left = 0
        """The number of utterances that left and are kept."""
        self.archived = 0
        """The number of those that the archive has, too."""
        self.archived_weight = 0
        """The size of these: each counts once, and once more for each thousand characters."""
        if keeps_left:
            for utterance in utterances:
                self.append(utterance)

    def __len__(self) -> int:
        return len(self._utterances) - self.left

    def __iter__(self) -> Iterator[Utterance]:
        return islice(self._utterances, self.left, None)

    @property
    def first_seq(self) -> int:
        """The seq of the oldest utterance that has not left; 0 in an empty window."""
        return self._utterances[self.left].seq if len(self) else 0

    @property
    def oldest_seq(self) -> int:
        """The seq of the oldest utterance in memory, whether or not it left; 0 if there is none."""
        return self._utterances[0].seq if self._utterances else 0

    @property
    def last_seq(self) -> int:
        """The seq of the newest utterance; 0 in an empty window."""
        return self._utterances[-1].seq if self._utterances else 0

    @property
    def leaving_seq(self) -> int:
        """The seq of the oldest utterance that the archive has not; 0 if it has all."""
        return self._utterances[self.archived].seq if self.archived < len(self._utterances) else 0

    def append(self, utterance: Utterance) -> None:
        """Add the newest utterance; the oldest leaves a full window."""
        utterances = self._utterances
        if len(utterances) - self.left == self._capacity:
            if self._keeps_left:
                self.left += 1
            if not self._keeps_left or self.left > MAX_LEFT:
                self._drop(1)
        number = self._oldest + len(utterances)
        utterances.append(utterance)
        index = self._index
        if index is not None and self._indexed == number and len(utterance.content) <= SLICE_CHARS:
            self._indexed += 1
            if terms := dialogue_acts.facts(utterance):
                self._add(index, number, terms)

    def before(self, seq: int) -> "Window":
        """Return a window of the utterances before a seq, without an index and without those that left."""
        return Window((utterance for utterance in self if utterance.seq < seq), self._capacity, a_turn=self._a_turn)

    def leaving(self, limit: int, chars: int) -> Steps[list[tuple[Utterance, Sequence[str]]]]:
        """List the oldest utterances that left and are not archived, each with its terms as `facts` returns them.

        The one with which they have `chars` characters is the last.
        """
        found: list[tuple[Utterance, Sequence[str]]] = []
        first = self.archived
        leaving = self._utterances[first : min(first + limit, self.left)]
        for number, utterance in enumerate(leaving, self._oldest + first):
            index = self._index
            if index is None or not self._oldest <= number < self._indexed:
                terms: Sequence[str] = yield from dialogue_acts.finding_facts(utterance)
            elif number in index:
                terms = self._repeating.get(number) or index.terms(number)
            else:
                terms = ()
            found.append((utterance, terms))
            chars -= len(utterance.content)
            if chars <= 0:
                break
            yield
        return found

    def drop_left(self, upto_seq: int, *, keep: int = 0, room: int | None = None) -> None:
        """Drop the utterances that left, up to a seq, because the archive has them; keep the newest `keep` of these.

        `room`: the largest `archived_weight` of those that are kept.
        """
        utterances, before = self._utterances, self.archived
        archived = self.archived = bisect_right(utterances, upto_seq, hi=self.left, key=_seq_of)
        self.archived_weight += _weigh(utterances[before:archived]) - _weigh(utterances[archived:before])
        count = max(archived - keep, 0)
        if room is not None:
            weight = self.archived_weight - _weigh(utterances[:count])
            while weight > room and count < archived:
                weight -= _weigh(utterances[count : count + 1])
                count += 1
        self._drop(count)

    def _drop(self, count: int) -> None:
        """Drop the first utterances."""
        index = self._index
        if index is not None:
            for number in range(self._oldest, self._oldest + count):
                if number in index:
                    index.remove(number)
                    self._repeating.pop(number, None)
        self.archived_weight -= _weigh(self._utterances[: min(count, self.archived)])
        del self._utterances[:count]
        self._oldest += count
        self.left = max(self.left - count, 0)
        self.archived = max(self.archived - count, 0)

    def _add(self, index: Index, number: int, terms: Sequence[str]) -> None:
        index.add(number, terms, part=turn_of(self._utterances[number - self._oldest].seq, self._a_turn))
        if len(index.terms(number)) < len(terms):
            self._repeating[number] = tuple(terms)

    @property
    def is_indexed(self) -> bool:
        """Whether the next search needs to index no utterance first."""
        return self._index is not None and self._indexed == self._oldest + len(self._utterances)

    def indexing(self) -> Steps[Index]:
        """Bring the index up to date, and return it. Others may do the same, append or search meanwhile."""
        while True:
            if self._index is None:
                self._index, self._indexed = Index(max_postings=MAX_POSTINGS, relates=False), self._oldest
                self._repeating.clear()
            index, number = self._index, max(self._indexed, self._oldest)
            if number == self._oldest + len(self._utterances):
                self._indexed = number
                return index
            terms = yield from dialogue_acts.finding_facts(self._utterances[number - self._oldest])
            if index is self._index and number == max(self._indexed, self._oldest):  # else another caller was faster
                self._indexed = number + 1
                if terms:
                    self._add(index, number, terms)
            yield

    def search(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the utterances that match a question best, in their context, best first; of equals the newest first.

        Those that left are searched, too.
        """
        return self._search(question, limit, answering=False)

    def answers(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the same as `search`, or nothing if none of them can answer the question."""
        return self._search(question, limit, answering=True)

    def sure(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the utterances that answer a question without doubt by themselves, as `search` does."""
        return self._found(self._ready().sure(question, limit, among=self._told))

    def _search(self, question: Question, limit: int, *, answering: bool) -> list[FoundUtterance]:
        index = self._ready()
        found = index.search(question, limit, among=self._told, context=IN_CONTEXT, answering=answering)
        return self._found(found)

    def _ready(self) -> Index:
        index = self._index
        if index is None or self._indexed != self._oldest + len(self._utterances):
            index = whole(self.indexing())
        return index

    @property
    def _told(self) -> int:
        return self.last_seq // 2  # about every other message of a conversation states something

    def _found(self, found: list[Found]) -> list[FoundUtterance]:
        index, utterances, oldest = self._index, self._utterances, self._oldest
        if index is None:
            return []
        return [
            FoundUtterance(utterances[number - oldest], score, share, answers, index.terms(number))
            for number, score, share, answers in found
        ]

    def statements(self) -> Iterator[Utterance]:
        """Yield the utterances that state something, newest first."""
        index = whole(self.indexing())
        for position in range(len(self._utterances) - 1, -1, -1):
            if self._oldest + position in index:
                yield self._utterances[position]

    def compact(self) -> None:
        """Drop the index, which takes most of an idle window's memory; the next search rebuilds it."""
        self._index = None


def _weigh(utterances: Sequence[Utterance]) -> int:
    return len(utterances) + sum([len(utterance.content) // 1_000 for utterance in utterances])
