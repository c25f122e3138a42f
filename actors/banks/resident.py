"""The memories of banks in use, with an index, in memory: bounded, and dropped when nobody recalls."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from sys import getsizeof
from time import monotonic

from actors.banks.loading import memory_terms, whole_and_part
from actors.banks.messages import RecalledMemory
from actors.retrieval.index import Index
from actors.retrieval.question import Question
from actors.slices import Steps, sliced
from persistence import memories
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.store import Store, StoreUnavailable

MAX_MEMORIES = 5_000
"""The largest number of memories of a bank that is kept in memory."""

MAX_TEXT_BYTES = 2_000_000
"""The largest size of the texts of such a bank, in memory."""

IDLE_S = 60.0
"""Seconds without a recall after which a bank's memories are dropped."""

BUDGET_BYTES = 256 * 1024 * 1024
"""The largest estimated size of all these banks of a process together."""

_PAGE = 64  # memories read at once
_ROW_BYTES = 800  # of a memory without its text
_INDEX_BYTES_OF_CHAR = 4
_DEAR = 4  # to forget a memory costs as much as to read this number

log = logging.getLogger("parley.banks")


class Residents:
    """The banks of a process whose memories are in memory; bounds their size and the time that they stay."""

    def __init__(
        self, limit_bytes: int = BUDGET_BYTES, idle_s: float = IDLE_S, ticks: Callable[[], float] = monotonic
    ) -> None:
        self._limit_bytes = limit_bytes
        self._idle_s = idle_s
        self._ticks = ticks
        self._used: OrderedDict[ResidentMemories, float] = OrderedDict()  # with the time of the last recall
        self._timer: asyncio.TimerHandle | None = None
        self.total_bytes = 0
        """The estimated size of all."""

    def __len__(self) -> int:
        return len(self._used)

    def use(self, resident: "ResidentMemories") -> None:
        """Note that memories were searched: of all, they are the last to be dropped."""
        self._used[resident] = self._ticks()
        self._used.move_to_end(resident)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._idle_s, self.drop_idle)

    def grow(self, resident: "ResidentMemories", size: int) -> None:
        """Note that memories take more or less (`size` < 0) space; drop others, least recently used first, for it."""
        self.total_bytes += size
        while self.total_bytes > self._limit_bytes and self._used:
            oldest = next(iter(self._used))
            oldest.drop()
            if oldest is resident:
                return

    def forget(self, resident: "ResidentMemories", size: int) -> None:
        """Note that memories were dropped."""
        self._used.pop(resident, None)
        self.total_bytes -= size

    def drop_idle(self) -> None:
        """Drop the memories that nobody searched for a while."""
        self._timer = None
        now = self._ticks()
        for resident, used_at in list(self._used.items()):
            if now - used_at < self._idle_s:
                rest = used_at + self._idle_s - now
                self._timer = asyncio.get_running_loop().call_later(rest, self.drop_idle)
                break
            resident.drop()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ResidentMemories:
    """The memories of one bank in memory, from the first recall on, as far as the bank is small enough.

    They are read in the background. A change that the bank's actor has stored is read anew from the store, which also
    knows the authors' names. Recalls are answered only when memory equals the store; `recall` returns None until then.
    """

    __slots__ = (
        "_authors",
        "_bank_id",
        "_changed",
        "_counted",
        "_index",
        "_removed",
        "_residents",
        "_rows",
        "_size",
        "_store",
        "_task",
        "_text_bytes",
        "_too_large",
    )

    def __init__(self, bank_id: str, store: Store, residents: Residents) -> None:
        self._bank_id = bank_id
        self._store = store
        self._residents = residents
        self._rows: dict[int, MemoryRow] | None = None
        self._index = Index()
        self._task: asyncio.Task[None] | None = None
        self._changed: set[int] = set()  # positions of memories to be read anew
        self._removed = False  # memories were removed or censored since the positions were read
        self._too_large = False
        self._text_bytes = self._size = self._counted = 0
        self._authors: dict[str, str] = {}  # ids and names of the authors, and the ids of their owners

    def __len__(self) -> int:
        return len(self._rows or ())

    @property
    def reading(self) -> bool:
        """Whether memories are being read from the store."""
        return self._task is not None

    def recall(self, bank: BankRow, question: Question, limit: int) -> tuple[RecalledMemory, ...] | None:
        """Return the memories that match a question best, best first; None if the store has to be asked."""
        rows = self._rows
        if rows is None or self._task is not None:
            if self._task is None and bank.memories <= MAX_MEMORIES and not self._too_large:
                self._residents.use(self)
                self._rows = {}
                self._task = asyncio.create_task(self._read(everything=True))
            elif rows is not None:
                self._residents.use(self)
            return None
        self._residents.use(self)
        return tuple(
            [
                RecalledMemory(rows[one.number], round(one.score, 4), one.share, one.answers)
                for one in self._index.search(question, limit)
            ]
        )

    def concerns(self, id: str) -> bool:
        """Return whether an agent with this id, or of the user with this id, may have written one of the memories."""
        if self._rows is None:
            return False
        return self._task is not None or id in self._authors

    # changes

    def loaded(self, positions: Iterable[int]) -> None:
        """Take note that memories were stored, replaced or removed by a load."""
        if self._rows is not None:
            self._changed.update(positions)
            self._read_soon()

    def removed(self) -> None:
        """Take note that memories were removed or censored."""
        self._too_large = False
        if self._rows is not None:
            self._removed = True
            self._read_soon()

    def drop(self) -> None:
        """Drop all memories; the next recall begins to read them again."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._rows = None
        self._index = Index()
        self._authors = {}
        self._changed = set()
        self._removed = False
        counted, self._counted, self._size, self._text_bytes = self._counted, 0, 0, 0
        self._residents.forget(self, counted)

    def _read_soon(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._read())

    # reading

    async def _read(self, *, everything: bool = False) -> None:
        """Make memory equal to the store: read all memories or none, then those that have changed meanwhile."""
        try:
            if everything:
                await self._read_all()
            while self._changed or self._removed:
                await self._read_changes()
        except StoreUnavailable:
            self.drop()
        except Exception:
            log.exception("the memories of the bank %s could not be read", self._bank_id)
            self.drop()
        else:
            self._task = None

    async def _read_all(self) -> None:
        after = 0
        while page := await self._store.fetch(memories.uncensored_after(self._bank_id, after, _PAGE)):
            await self._take(page)
            after = page[-1].position

    async def _read_changes(self) -> None:
        """Read what has changed since the last read; changes that are stored in between come in the next round."""
        changed, removed = self._changed, self._removed
        self._changed, self._removed = set(), False
        if removed:
            left = set(await self._store.fetch(memories.uncensored_positions(self._bank_id)))
            await self._forget(self._held() - left)
        rows = await self._store.fetch(memories.at_positions(sorted(changed))) if changed else []
        await self._forget(changed & self._held())
        await self._take(rows)

    def _held(self) -> set[int]:
        return set(self._rows or ())

    async def _take(self, rows: list[MemoryRow]) -> None:
        """Keep memories and index them.

        Raises:
            CancelledError: they are too many, or too large.
        """
        await sliced(self._index_each(rows))
        if len(self) > MAX_MEMORIES or self._text_bytes > MAX_TEXT_BYTES:
            self._too_large = True
            self.drop()
        else:
            more, self._counted = self._size - self._counted, self._size
            self._residents.grow(self, more)
        self._end_if_dropped()

    def _index_each(self, rows: list[MemoryRow]) -> Steps[None]:
        for row in rows:
            text = row.text or ""
            terms = yield from memory_terms(row.name, text)
            if self._rows is None:
                return
            self._rows[row.position] = self._shared(row)
            self._index.add(row.position, terms, *whole_and_part(row.name))
            self._text_bytes += getsizeof(text)
            self._size += _size_of(row)
            yield

    def _shared(self, row: MemoryRow) -> MemoryRow:
        """Return a row that shares its author's texts with the other rows, each of which was read with its own."""
        known = self._authors
        author_id, author, owner_id, destroyed_author = (
            text and known.setdefault(text, text)
            for text in (row.author_id, row.author, row.author_owner_id, row.destroyed_author)
        )
        created_at = row.updated_at if row.created_at == row.updated_at else row.created_at
        return row._replace(
            author_id=author_id,
            author=author,
            author_owner_id=owner_id,
            created_at=created_at,
            destroyed_author=destroyed_author,
        )

    async def _forget(self, positions: set[int]) -> None:
        """Drop some memories, or all if those are many, because each costs as much as reading some anew.

        Raises:
            CancelledError: all were dropped.
        """
        if len(positions) > _PAGE and len(positions) * _DEAR > len(self):
            self.drop()
        else:
            await sliced(self._forget_each(positions))
        self._end_if_dropped()

    def _forget_each(self, positions: set[int]) -> Steps[None]:
        for position in positions:
            if self._rows is None:
                return
            row = self._rows.pop(position)
            self._index.remove(position)
            self._text_bytes -= getsizeof(row.text or "")
            self._size -= _size_of(row)
            yield

    def _end_if_dropped(self) -> None:
        """End the task that reads if there is nothing to keep what it reads."""
        if self._rows is None:
            raise asyncio.CancelledError


def _size_of(row: MemoryRow) -> int:
    """Estimate the size of a memory with its terms in the index, in bytes."""
    text = row.text or ""
    return _ROW_BYTES + getsizeof(text) + _INDEX_BYTES_OF_CHAR * len(text)
