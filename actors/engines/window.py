"""The last utterances of one conversation, and the search in them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from actors.engines import dialogue_acts
from actors.engines.message import FoundUtterance, Utterance, turn_of
from actors.engines.statements import OlderStatements, Statements, in_context, new_index
from actors.retrieval.found import Found
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.slices import Steps, whole
from actors.text.tokenizer import SLICE_CHARS

CAPACITY = 200
"""The number of utterances that engines see (docs/contract.md, "Chat engines")."""

MAX_LEFT = 2_000
"""The number of utterances that left the window and wait to be archived; above it the oldest are dropped."""

_FEW = 1_000  # statements that are dropped one by one
_MAX_BETWEEN = 16  # utterances, up to the next statement


class Window:
    """The last `capacity` utterances, oldest first.

    The index is built at the first search and updated by every later `append`, so a conversation that no engine
    searches costs only a list. `indexing` adds a long utterance, and those that come after it.

    With `keeps_left`, utterances that leave stay in memory, where searches find them, until an archive has them, too
    (`archiving`). Those that state something stay longer, until `drop_archived`. For `a_turn` see `turn_of`.
    """

    __slots__ = (
        "_a_turn",
        "_archived",
        "_capacity",
        "_from_seq",
        "_index",
        "_indexed",
        "_keeps_left",
        "_oldest",
        "_repeating",
        "_utterances",
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
        self._oldest = 0  # the index's number of the first utterance; those of archived ones are smaller
        self._archived = Statements()
        self._from_seq = 0  # the `oldest_seq`, once an utterance is gone
        self._index: Index | None = None
        self._indexed = 0  # all utterances with smaller numbers are in the index
        self._repeating: dict[int, Sequence[str]] = {}  # the terms of indexed utterances that have one several times
        self.left = 0
        """The number of utterances that left and that the archive has not."""
        if keeps_left:
            for utterance in utterances:
                self.append(utterance)

    def __len__(self) -> int:
        return len(self._utterances) - self.left

    def __iter__(self) -> Iterator[Utterance]:
        return islice(self._utterances, self.left, None)

    @property
    def is_empty(self) -> bool:
        """Whether no utterance is in memory, not even one that left."""
        return not self._utterances and not self._archived

    @property
    def archived(self) -> int:
        """The number of utterances that left, state something, and that the archive has, too."""
        return len(self._archived)

    @property
    def archived_weight(self) -> int:
        """The size of these: each counts once, and once more for each 250 characters."""
        return self._archived.weight

    @property
    def oldest_seq(self) -> int:
        """The seq from which on all utterances that state something are in memory, whether or not they left; or 0."""
        return self._from_seq or (self._utterances[0].seq if self._utterances else 0)

    @property
    def last_seq(self) -> int:
        """The seq of the newest utterance; 0 in an empty window."""
        return self._utterances[-1].seq if self._utterances else 0

    @property
    def leaving_seq(self) -> int:
        """The seq of the oldest utterance that the archive has not; 0 in an empty window."""
        return self._utterances[0].seq if self._utterances else 0

    def append(self, utterance: Utterance) -> None:
        """Add the newest utterance; the oldest leaves a full window."""
        utterances = self._utterances
        if not utterances:
            self._oldest = self._indexed = utterance.seq  # so that older ones can have numbers, too
        if len(utterances) - self.left == self._capacity:
            if self._keeps_left and self.left < MAX_LEFT:
                self.left += 1
            else:
                self._from_seq = utterances[0].seq + 1
                self._remove(self._oldest)
                self._shift()
        number = self._oldest + len(utterances)
        utterances.append(utterance)
        index = self._index
        if index is not None and self._indexed == number and len(utterance.content) <= SLICE_CHARS:
            self._indexed += 1
            if terms := dialogue_acts.facts(utterance):
                self._add(index, number, utterance.seq, terms)

    def before(self, seq: int) -> "Window":
        """Return a window of the utterances before a seq, without an index and without those that left."""
        return Window((utterance for utterance in self if utterance.seq < seq), self._capacity, a_turn=self._a_turn)

    def leaving(self, limit: int, chars: int) -> Steps[list[tuple[Utterance, Sequence[str]]]]:
        """List the oldest utterances that left and are not archived, each with its terms as `facts` returns them.

        The one with which they have `chars` characters is the last.
        """
        found: list[tuple[Utterance, Sequence[str]]] = []
        for number, utterance in enumerate(self._utterances[: min(limit, self.left)], self._oldest):
            found.append((utterance, (yield from self._finding_facts(number, utterance))))
            chars -= len(utterance.content)
            if chars <= 0:
                break
            yield
        return found

    def _finding_facts(self, number: int, utterance: Utterance) -> Steps[Sequence[str]]:
        """Find the terms of an utterance that is not archived, in the index if it is there."""
        index = self._index
        if index is None or not self._oldest <= number < self._indexed:
            return (yield from dialogue_acts.finding_facts(utterance))
        return (self._repeating.get(number) or index.terms(number)) if number in index else ()

    def archiving(self, upto_seq: int) -> Steps[None]:
        """Take the utterances that left, up to a seq, for archived; those that state nothing are dropped."""
        while self.left and (utterance := self._utterances[0]).seq <= upto_seq:
            number = self._oldest
            terms = yield from self._finding_facts(number, utterance)
            if number == self._oldest:  # else it was dropped meanwhile
                self._from_seq = self.oldest_seq
                self._shift()
                self.left -= 1
                self._repeating.pop(number, None)
                if terms:
                    self._archived.add(number, utterance)
            yield

    def drop_archived(self, *, keep: int = 0, room: int = 0) -> None:
        """Drop the oldest utterances that are archived, down to `keep` of them, with an `archived_weight` of `room`."""
        if len(self._archived) > keep + _FEW:
            self._from_seq = max(self._from_seq, self._archived.keep_newest(keep).seq + 1)
            self.compact()  # costs less than to take so many out of the index
        for number, utterance in self._archived.drop_oldest(keep, room):
            self._from_seq = max(self._from_seq, utterance.seq + 1)
            self._remove(number)

    def take_older(self, older: OlderStatements) -> None:
        """Take all statements from before the `oldest_seq`, so that searches find them, too; they are archived.

        This costs little if the window `is_indexed`.
        """
        older.index.add_all(self._ready())
        self._index = older.index
        older.statements.add_all(self._archived)
        self._archived = older.statements
        self._from_seq = 1

    def _shift(self) -> None:
        """Take the first utterance off the list."""
        del self._utterances[0]
        self._oldest += 1

    def _remove(self, number: int) -> None:
        """Remove an utterance from the index, if it is there."""
        if self._index is not None and number in self._index:
            self._index.remove(number)
            self._repeating.pop(number, None)

    def _add(self, index: Index, number: int, seq: int, terms: Sequence[str]) -> None:
        index.add(number, terms, part=turn_of(seq, self._a_turn))
        if len(index.terms(number)) < len(terms):
            self._repeating[number] = tuple(terms)

    @property
    def is_indexed(self) -> bool:
        """Whether the next search needs to index no utterance first."""
        return self._index is not None and self._indexed == self._oldest + len(self._utterances)

    def indexing(self) -> Steps[Index]:
        """Bring the index up to date, and return it. Others may do the same, append or search meanwhile."""
        while True:
            index = self._index
            if index is None:
                index = self._index = new_index()
                self._indexed = 0
                self._repeating.clear()
            if self.is_indexed:
                return index
            for number in self._not_indexed():
                utterance = self._at(number)
                if utterance is None or number < self._indexed:  # it was dropped, or another caller was faster
                    continue
                terms = yield from dialogue_acts.finding_facts(utterance)
                if index is not self._index:
                    break
                if number >= self._indexed and self._at(number) is not None:
                    self._indexed = number + 1
                    if terms:
                        self._add(index, number, utterance.seq, terms)
                yield

    def _not_indexed(self) -> list[int]:
        """List the numbers of the utterances that are to be added to the index."""
        rest = range(max(self._indexed, self._oldest), self._oldest + len(self._utterances))
        return [*self._archived.from_number(self._indexed), *rest]

    def _at(self, number: int) -> Utterance | None:
        """Return the utterance with a number in the index, if it is still in memory."""
        if number < self._oldest:
            return self._archived.get(number)
        return self._utterances[number - self._oldest]

    def search(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the utterances that match a question best, in their context, best first; of equals the newest first.

        Those that left are searched, too.
        """
        return self._search(question, limit, answering=False)

    def answers(self, question: Question, limit: int, *, as_bank: bool = False) -> list[FoundUtterance]:
        """Return the same as `search`, or nothing if none of them can answer the question.

        `as_bank`: whether utterances are found in as much context as the memories of a bank, which costs more.
        """
        return self._search(question, limit, answering=True, as_bank=as_bank)

    def sure(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the utterances that answer a question without doubt by themselves, as `search` does."""
        index = self._ready()
        return self._found(index.sure(question, limit, among=self._told)) if len(index) else []

    def _search(
        self, question: Question, limit: int, *, answering: bool, as_bank: bool = False
    ) -> list[FoundUtterance]:
        index = self._ready()
        context = in_context(question, as_bank_of=len(index) if as_bank else 0)
        found = index.search(question, limit, among=self._told, context=context, answering=answering)
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
        index, utterances, oldest, archived = self._index, self._utterances, self._oldest, self._archived
        if index is None:
            return []
        return [
            FoundUtterance(
                utterances[one.number - oldest] if one.number >= oldest else archived[one.number],
                one.score,
                one.share,
                one.answers,
                index.terms(one.number),
            )
            for one in found
        ]

    def statements(self) -> Iterator[Utterance]:
        """Yield the utterances that state something, newest first."""
        index = whole(self.indexing())
        for position in range(len(self._utterances) - 1, -1, -1):
            if self._oldest + position in index:
                yield self._utterances[position]
        yield from reversed(self._archived)

    def newer_with(self, term: str, seq: int, rare: int) -> Iterator[FoundUtterance]:
        """Yield the utterances after a seq that have a term, newest first; none if it is in more than `rare`."""
        index = self._ready()
        numbers = index.having(term)
        for number in reversed(numbers) if len(numbers) <= rare else ():
            utterance = self._at(number)
            if utterance is None or utterance.seq <= seq:
                return
            yield FoundUtterance(utterance, 0.0, 0.0, answers=False, terms=index.terms(number))

    def next_statement(self, utterance: Utterance) -> Utterance | None:
        """Return the next statement of a user, whoever it is, if it is among the next few utterances and in memory."""
        index, seq = self._index, utterance.seq
        if index is None:
            return None
        for number, one in self._after(seq):
            if one.seq > seq + _MAX_BETWEEN:
                return None
            if one.role == "user" and number in index:
                return one
        return None

    def _after(self, seq: int) -> Iterator[tuple[int, Utterance]]:
        """Yield the next few utterances in memory after a seq, each with its number in the index."""
        if seq < self.leaving_seq:
            yield from self._archived.after(seq, _MAX_BETWEEN)
        first = bisect_right(self._utterances, seq, key=_seq)
        yield from enumerate(self._utterances[first : first + _MAX_BETWEEN], self._oldest + first)

    def compact(self) -> None:
        """Drop the index, which takes most of an idle window's memory; the next search rebuilds it."""
        self._index = None


def _seq(utterance: Utterance) -> int:
    return utterance.seq
