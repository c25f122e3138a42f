"""The statements of a conversation that left its window and are still in memory."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from actors.engines import dialogue_acts
from actors.engines.message import Utterance, turn_of
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.retrieval.ranking import count_in_context
from actors.slices import Steps, let_go
from actors.text.answer_kinds import AGE

MAX_POSTINGS = 128
"""Bounds the cost of a search: the number of places of words that it looks at, those of the rarest words."""

_IN_CONTEXT, _WITH_AGE = 6, 64


def in_context(question: Question, *, as_bank_of: int = 0) -> int:
    """Return the number of best utterances whose words count for those around them.

    Where an age is asked for that is more, because all the other messages about a person match no worse.

    Args:
        question: what is asked.
        as_bank_of: the number of utterances if they are searched as a bank's memories are; 0 if they aren't.
    """
    usual = _WITH_AGE if AGE in question.needs else _IN_CONTEXT
    return max(usual, count_in_context(as_bank_of)) if as_bank_of else usual


def new_index() -> Index:
    """Make an empty index of utterances."""
    return Index(max_postings=MAX_POSTINGS)


class Statements:
    """Utterances by their numbers in an index, oldest first."""

    __slots__ = ("_by_number", "_numbers", "weight")

    def __init__(self) -> None:
        self._by_number: dict[int, Utterance] = {}
        self._numbers: list[int] = []
        self.weight = 0
        """The size of all: each counts once, and once more for each 250 characters."""

    def __del__(self) -> None:
        let_go(self._by_number)

    def __len__(self) -> int:
        return len(self._by_number)

    def __getitem__(self, number: int) -> Utterance:
        return self._by_number[number]

    def __reversed__(self) -> Iterator[Utterance]:
        return reversed(self._by_number.values())

    def get(self, number: int) -> Utterance | None:
        """Return the utterance with a number, if it is here."""
        return self._by_number.get(number)

    def add(self, number: int, utterance: Utterance) -> None:
        """Add the newest, whose number is the highest."""
        self._by_number[number] = utterance
        self._numbers.append(number)
        self.weight += _weight(utterance)

    def add_all(self, others: "Statements") -> None:
        """Add others that are all newer."""
        self._by_number |= others._by_number
        self._numbers += others._numbers
        self.weight += others.weight

    def drop_oldest(self, keep: int, room: int) -> list[tuple[int, Utterance]]:
        """Drop the oldest, down to `keep` of them with a weight of `room`; return these with their numbers."""
        dropped: list[tuple[int, Utterance]] = []
        count = len(self)
        for number, utterance in self._by_number.items():
            if count - len(dropped) <= keep and self.weight <= room:
                break
            self.weight -= _weight(utterance)
            dropped.append((number, utterance))
        del self._numbers[: len(dropped)]
        for number, _ in dropped:
            del self._by_number[number]
        return dropped

    def keep_newest(self, count: int) -> Utterance:
        """Drop all but the newest `count`, fewer than there are; return the newest of those dropped."""
        dropped = self._by_number[self._numbers[-count - 1]]
        self._numbers = self._numbers[len(self) - count :]
        all_of_them = self._by_number
        self._by_number = {number: all_of_them[number] for number in self._numbers}
        let_go(all_of_them)
        self.weight = sum(map(_weight, self._by_number.values()))
        return dropped

    def from_number(self, number: int) -> list[int]:
        """List the numbers from one on."""
        return self._numbers[bisect_left(self._numbers, number) :]

    def after(self, seq: int, limit: int) -> Iterator[tuple[int, Utterance]]:
        """Yield the first few after a seq, each with its number."""
        first = bisect_right(self._numbers, seq, key=lambda number: self._by_number[number].seq)
        for number in self._numbers[first : first + limit]:
            yield number, self._by_number[number]


class OlderStatements:
    """Statements from before a window, read from the store, oldest first: `Window.take_older` has them searched.

    Their numbers are their seqs.
    """

    __slots__ = ("_a_turn", "index", "statements", "upto_seq")

    def __init__(self, a_turn: int) -> None:
        """Make an empty collection; for `a_turn` see `turn_of`."""
        self._a_turn = a_turn
        self.index = new_index()
        self.statements = Statements()
        self.upto_seq = 0
        """The seq of the newest."""

    def adding(self, utterances: Iterable[Utterance]) -> Steps[None]:
        """Add some that are all newer."""
        for utterance in utterances:
            terms = yield from dialogue_acts.finding_facts(utterance)
            self.upto_seq = utterance.seq
            if terms:
                self.index.add(utterance.seq, terms, part=turn_of(utterance.seq, self._a_turn))
                self.statements.add(utterance.seq, utterance)
            yield


def _weight(utterance: Utterance) -> int:
    return 1 + len(utterance.content) // 250
