"""Push notification configs of the caller's tasks: where their ends are told."""

import hashlib

from actors.calls.call import Call
from actors.commands.tasks import TaskView
from actors.errors import InvalidField, NotFound, StateConflict
from actors.webhooks.push import MAX_CONFIGS, PushTarget, seal_purpose
from persistence import push_configs
from persistence.push_configs import PushConfigRow
from persistence.store import FOREIGN_KEY, ROWS, Unit


async def require_allowed(call: Call, url: str) -> None:
    """Refuse a URL that the gateway must not call.

    Raises:
        InvalidField: it is refused.
    """
    refusal = await call.core.outbound.refusal(call.user.user_id, url)
    if refusal is not None:
        raise InvalidField(f"Invalid value of url: {refusal}.")


async def add(call: Call, task: TaskView, id: str | None, target: PushTarget, *, tell: bool) -> PushConfigRow:
    """Add a config to a task, or replace the one of its id.

    Args:
        call: the caller's request.
        task: one of the caller's tasks.
        id: the client's own id; None makes one of the target, so that a repeat makes no second config.
        target: the receiver, whose URL is allowed.
        tell: whether the end of the task is to be told even if it is over.

    Raises:
        StateConflict: the task has too many, or waits for its turn.
        NotFound: the conversation was destroyed meanwhile.
    """
    if not task.message.seq:
        raise StateConflict("The task waits for its turn, so it takes no push notification config yet; add it later.")
    core, message_id = call.core, task.message.id
    packed = target.packed()
    id = id or hashlib.sha256(packed).hexdigest()[:32]
    now = core.clock()
    due = now if tell or not task.ended else None
    row = PushConfigRow(
        message_id, id, task.number, core.sealer.seal(packed, seal_purpose(message_id, id)), due, 0, now
    )
    constraint_errors = {ROWS: _too_many, FOREIGN_KEY: _gone}
    await core.store.commit(Unit((push_configs.put(row, MAX_CONFIGS),), constraint_errors=constraint_errors))
    core.pushing.wake()
    return row


def target_of(call: Call, row: PushConfigRow) -> PushTarget:
    """Open the target of a config."""
    return PushTarget.unpacked(call.core.sealer.open(row.target, seal_purpose(row.message_id, row.id)))


async def read(call: Call, task: TaskView, id: str) -> PushConfigRow:
    """Read a config of a task.

    Raises:
        NotFound: the task has no such config.
    """
    for row in await call.core.store.fetch(push_configs.with_id(task.message.id, id)):
        return row
    raise NotFound("The task has no push notification config of this id.")


async def listed(call: Call, task: TaskView, after_id: str, limit: int) -> list[PushConfigRow]:
    """List the configs of a task by their ids, after one."""
    return await call.core.store.fetch(push_configs.of_task(task.message.id, after_id, limit))


async def remove(call: Call, task: TaskView, id: str) -> None:
    """Remove a config of a task, if it is there."""
    await call.core.store.commit(Unit((push_configs.delete(task.message.id, id),)))


def _too_many() -> StateConflict:
    return StateConflict(f"The task has {MAX_CONFIGS} push notification configs, the limit; delete one first.")


def _gone() -> NotFound:
    return NotFound("The task is gone with its conversation.")
