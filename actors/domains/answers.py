"""The answers to messages in zones: the rows that are stored with them, and when they are given."""

from actors.domains.messages import Said
from actors.engines.message import Utterance
from actors.errors import ServiceError
from actors.idempotency.records import Receipt
from actors.runtime.future import AsyncFuture
from persistence.store import Write


def of_receipt(receipt: Receipt | None, outcome: Said | None, said: Utterance) -> list[Write]:
    """Make the writes of a receipt; without an outcome, the row of a message that waits for its reply."""
    if receipt is None:
        return []
    return receipt.begin(said.id) if outcome is None else receipt.writes(outcome)


def once_stored(stored: AsyncFuture[None], error: ServiceError) -> AsyncFuture[Said]:
    """Fail an answer when a unit is stored, because the error says that the message is kept."""
    answer: AsyncFuture[Said] = AsyncFuture()
    stored.then(lambda done: answer.fail(done.error or error))
    return answer
