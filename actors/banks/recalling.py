"""The recalls of one bank: answered from memory while the bank is in use and small, else from the store."""

import asyncio
import logging

from actors.banks.messages import BankView, RecalledMemories, RecallMemories
from actors.banks.recall import recall_for
from actors.banks.resident import ResidentMemories, Residents
from actors.errors import InternalError, StorageUnavailable
from actors.retrieval.question import Question
from actors.runtime.future import AsyncFuture
from persistence.store import Store, StoreUnavailable

log = logging.getLogger("parley.banks")


class Recalling:
    """Answers the recalls of one bank."""

    __slots__ = ("_store", "_tasks", "resident")

    def __init__(self, bank_id: str, store: Store, residents: Residents) -> None:
        self._store = store
        self._tasks: set[asyncio.Task[None]] = set()
        self.resident = ResidentMemories(bank_id, store, residents)

    @property
    def under_way(self) -> bool:
        """Whether a recall waits for the store."""
        return bool(self._tasks)

    @property
    def in_memory(self) -> int:
        """The number of memories from which recalls are answered without the store."""
        return 0 if self.resident.reading else len(self.resident)

    def recall(self, view: BankView, message: RecallMemories) -> RecalledMemories | AsyncFuture[RecalledMemories]:
        """Answer a recall, whose viewer may see the memories."""
        found = self.resident.recall(view.row, Question(message.terms), message.limit)
        if found is not None:
            return RecalledMemories(view, found)
        answer: AsyncFuture[RecalledMemories] = AsyncFuture()
        task = asyncio.create_task(self._recall_stored(view, message, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return answer

    async def _recall_stored(
        self, view: BankView, message: RecallMemories, answer: AsyncFuture[RecalledMemories]
    ) -> None:
        try:
            found = await recall_for(self._store, view.row, message.text, message.terms, message.limit)
        except StoreUnavailable:
            answer.fail(StorageUnavailable("The gateway could not read the memories; try again."))
        except Exception:
            log.exception("a recall from the bank %s failed", view.row.id)
            answer.fail(InternalError("The gateway failed on this request; it has been logged."))
        else:
            answer.set(RecalledMemories(view, found))
