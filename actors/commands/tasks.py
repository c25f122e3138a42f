"""Runs as tasks of A2A: one by its id, many by their last change, and the run of a message that was sent before."""

from collections.abc import Sequence
from typing import NamedTuple

from actors.agents.messages import AGENT, ListRuns
from actors.calls.call import Call
from actors.calls.conversation_targets import own_conversation
from actors.commands.runs import CUT_OFF, State, read_run
from actors.commands.talk import KEY_MS
from actors.conversations.ids import conversation_id, number_of, run_of
from actors.conversations.place import RunKey
from actors.conversations.stored import from_row
from actors.engines.message import Utterance
from actors.errors import NotFound
from persistence import conversations, run_keys, tasks
from persistence.tasks import Chosen, TaskRow

CONVERSATION_PREFIX = "cnv_"


class TaskView(NamedTuple):
    """A run with what a task shows of it.

    `number` is that of its conversation, and `context` the id that the client knows: its own one, if it has bound one.
    `error` is the note of a failed run, and `message_id` the client's own id of the message, if it had one. `ended_at`
    is the time of an end without a reply, if it is known.
    """

    id: str
    number: int
    context: str
    state: State
    message: Utterance
    reply: Utterance | None = None
    error: str | None = None
    message_id: str | None = None
    ended_at: int | None = None

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state != "working"


async def task_of(call: Call, agent_id: str, run_id: str) -> TaskView:
    """Read one of the caller's runs with an agent.

    Raises:
        NotFound: there is no such run of the caller's with this agent.
        NotPermitted: the sender's API key is not for the agent.
        Elsewhere: see `read_run`.
    """
    run = await read_run(call, run_id)
    number = number_of(run.conversation)
    if run.agent_id != agent_id or number is None:
        raise NotFound("There is no such task of yours with this agent.")
    ((context, message_id),) = await call.core.store.fetch(tasks.client_ids(number, run.message.id))
    error, waiting = run.error and run.error.note, call.core.runs_waiting.get(run.message.id)
    message_id = message_id or (waiting and waiting.shown) or None
    context = context or run.conversation
    return TaskView(run.id, number, context, run.state, run.message, run.reply, error, message_id, run.ended_at)


async def numbered_context(call: Call, agent_id: str, context: str) -> int | None:
    """Find the conversation of the caller with an agent that an id names; None if it names none."""
    if context.startswith(CONVERSATION_PREFIX):
        try:
            row = await own_conversation(call, context)
        except NotFound:
            return None
        return row.number if row.agent_id == agent_id else None
    found = await call.core.store.fetch(conversations.bound_to(call.user.user_id, agent_id, context))
    return found[0] if found else None


class Page(NamedTuple):
    """Runs, the number of all chosen ones, and the place of the next page: time and message of this one's last run."""

    tasks: Sequence[TaskView]
    total: int
    next: tuple[int, str] | None


async def tasks_of(
    call: Call,
    agent_id: str,
    *,
    number: int | None,
    state: str | None,
    since: int | None,
    before: tuple[int, str] | None,
    limit: int,
) -> Page:
    """List the caller's runs with an agent, the last changed first.

    Args:
        call: the caller's request.
        agent_id: the agent.
        number: that of a conversation; None for all.
        state: working, completed, failed or cancelled; None for all.
        since: the earliest time of a run's last change, in ms since the epoch.
        before: the place of the page.
        limit: the number of runs on a page.
    """
    store, user_id = call.core.store, call.user.user_id
    working = await call.ask(AGENT, agent_id, ListRuns(user_id))
    chosen = Chosen(user_id, agent_id, working, number, state, since)
    rows = await store.fetch(tasks.page(chosen, before, limit + 1))
    (total,) = await store.fetch(tasks.count(chosen))
    last = rows[limit - 1] if len(rows) > limit else None
    ids = dict(await store.fetch(run_keys.shown([row.message.id for row in rows[:limit]])))
    views = [_view(row, agent_id, ids.get(row.message.id)) for row in rows[:limit]]
    return Page(views, total, last and (last.changed_at, last.message.id))


def _view(row: TaskRow, agent_id: str, message_id: str | None) -> TaskView:
    context = row.name or conversation_id(row.conversation_id, agent_id)
    state: State = row.state  # pyright: ignore[reportAssignmentType] - the query makes no others
    reply = None if row.reply is None else from_row(row.reply)
    said = from_row(row.message)
    error = row.error or CUT_OFF if state == "failed" else None
    number, at = row.conversation_id, row.changed_at
    return TaskView(run_of(said.id), number, context, state, said, reply, error, message_id, at)


class Known(NamedTuple):
    """The run of a key, and whether it was made by the same request."""

    run: str
    same_request: bool


async def known_run(call: Call, key: RunKey) -> Known | None:
    """Find the run of a key that a message of the last 24 hours had."""
    found = await call.core.store.fetch(run_keys.of_key(key.digest, call.core.clock() - KEY_MS))
    return Known(run_of(found[0].message_id), found[0].fingerprint == key.fingerprint) if found else None
