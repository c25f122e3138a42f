"""Runs: chats on their way, by their ids. The doors of all protocols read, follow and cancel them here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from typing import Any, Literal, NamedTuple

from msgspec import structs

from actors.agents.messages import AGENT, CancelRun, HearRun, RunError, RunHeard, nothing_said
from actors.agents.silence import silence_of
from actors.calls.call import Call, Elsewhere
from actors.calls.credential_watching import watching_credential
from actors.conversations.ids import conversation_id, message_of, number_of, run_of
from actors.conversations.place import RunKey
from actors.conversations.records import message_record
from actors.conversations.stored import from_row
from actors.engines.message import Utterance
from actors.errors import MessageKept, NotFound, Overloaded, ServiceError
from actors.idempotency.records import Quoting
from actors.sessions.credential_watch import CredentialWatch
from actors.wire import Record
from persistence import conversations, deleted_responses, failed_runs, memories, run_keys, runs
from persistence.conversations import MessageRow
from persistence.runs import RunRow
from persistence.store import FOREIGN_KEY, Reads, Unit, rows_of

WAIT_S = 15.0
"""Seconds after which `follow_run` yields an empty piece where nothing was said."""

CUT_OFF = MessageKept("The run was cut off before the agent answered.").note
"""The note of a run that was lost with its gateway."""

State = Literal["working", "completed", "failed", "cancelled"]


class Run(NamedTuple):
    """One AP_Chat, or one message through another door, on its way or after its end.

    `conversation` is the id of its conversation. `reply` is None until it is stored; `error` is the one that the run
    ended with where there is no reply, at the time `ended_at` in ms since the epoch, if that is known.
    """

    id: str
    conversation: str
    agent_id: str
    state: State
    message: Utterance
    reply: Utterance | None = None
    error: RunError | None = None
    ended_at: int | None = None

    def record(self) -> Record:
        """Return the record of the run (docs/contract.md, "Records")."""
        reply, error = self.reply, self.error
        return {
            "id": self.id,
            "conversation": self.conversation,
            "state": self.state,
            "message": message_record(self.message, None, self.conversation),
            "reply": None if reply is None else message_record(reply, None, self.conversation),
            "error": None if error is None else error.status(),
        }


class RunPiece(NamedTuple):
    """A piece of a run's reply; `upto` is the number of characters of the reply up to its end."""

    text: str
    upto: int


async def read_run(call: Call, run_id: str) -> Run:
    """Read one of the caller's runs.

    Raises:
        NotFound: there is no such run, or it is another user's.
        NotPermitted: the sender's API key is not for its agent.
        Elsewhere: the store has no such run, and only another node knows whether one waits for its turn.
    """
    run = await _found(call, run_id)
    return run if run.state != "working" else await _as_the_agent_knows(call, run)


async def keyed_run(call: Call, key: RunKey, for_ms: int) -> Run | None:
    """Read the run of a repeated request, for `for_ms` after its beginning; None if it has none."""
    for found in await call.core.store.fetch(run_keys.of_key(key.digest, call.core.clock() - for_ms)):
        if found.fingerprint == key.fingerprint:
            return await read_run(call, run_of(found.message_id))
    return None


async def forget_key(call: Call, key: RunKey, before: int, for_ms: int) -> None:
    """Let the next request with a key begin a run, and not find one that began in the `for_ms` before a time."""
    store = call.core.store
    if await store.fetch(run_keys.of_key(key.digest, before - for_ms)):
        await store.commit(Unit((run_keys.forget(key.digest, before),)))


async def forget_response(call: Call, run: Run) -> None:
    """Mark the response that a client has of a run as deleted; its messages stay.

    Raises:
        NotFound: the run is gone with its conversation.
    """
    write = deleted_responses.insert(run.message.id, number_of(run.conversation) or 0)
    await call.core.store.commit(Unit((write,), constraint_errors={FOREIGN_KEY: _no_such_run}))


async def _as_the_agent_knows(call: Call, run: Run) -> Run:
    """Return a run that the store knows no end of."""
    heard = await _hear(call, run, after=0, wait_s=0)
    return run if heard.state == "working" else await _after_its_end(call, run, heard)


async def _after_its_end(call: Call, run: Run, heard: RunHeard) -> Run:
    """Return a run that is not under way any more."""
    if heard.state != "failed":
        run = await _stored(call, run.id)
    if run.state != "working":
        return run
    store = call.core.store
    for failed in await store.fetch(failed_runs.of_message(run.message.id)):
        return run._replace(state="failed", error=heard.error or RunError(*failed[1:4]), ended_at=failed.at)
    if heard.error is not None:
        return run._replace(state="failed", error=heard.error)
    silence = await silence_of(store, run.agent_id)  # no error was stored
    return run._replace(state="failed", error=_of(silence or _cut_off()))


async def follow_run(call: Call, run_id: str, after: int = 0) -> AsyncIterator[RunPiece | Run]:
    """Yield the pieces of a run's reply after a number of characters, as they come, and last the ended run.

    An empty piece says that nothing came for `WAIT_S`.

    Raises:
        NotFound: there is no such run, or it is another user's.
        NotPermitted: the sender's API key is not for its agent.
        Elsewhere: see `read_run`.
        InvalidCredential: the caller's session or API key has ended.
        ServiceError: the agent can't be reached; following may go on later.
    """
    with watching_credential(call) as watch:
        async for heard in _followed(call, run_id, after, watch):
            yield heard


async def _followed(call: Call, run_id: str, after: int, watch: CredentialWatch) -> AsyncIterator[RunPiece | Run]:
    run = await _found(call, run_id)
    if run.state == "working":  # an end of the credential from here on is told
        await call.require_credential()
    while run.state == "working":
        heard = await watch.unless_ended(_hear(call, run, after, WAIT_S))
        if heard.positions:
            left = await call.core.store.fetch(memories.at_positions(heard.positions))
            if len(left) < len(heard.positions):  # one was censored since
                heard = heard._replace(text="")
        if heard.text or heard.state == "working":
            after += len(heard.text)
            yield RunPiece(heard.text, after)
        if heard.state != "working":
            run = await _after_its_end(call, run, heard)
    if run.reply is not None and len(run.reply.content) > after:
        yield RunPiece(run.reply.content[after:], len(run.reply.content))
    yield run


async def cancel_run(call: Call, run_id: str) -> Run:
    """End one of the caller's runs with what was said so far, and return it; one that has ended does not change.

    Raises:
        NotFound: there is no such run, or it is another user's.
        NotPermitted: the sender's API key is not for its agent.
        Elsewhere: this node does not serve the agent.
    """
    run = await read_run(call, run_id)
    if run.state != "working":
        call.waive_receipt(reads=True)
        return run
    message = CancelRun(call.user.user_id, run.message.id)
    await call.carry_out(AGENT, run.agent_id, message, lambda _: Quoting(), repeatable=True)
    return await read_run(call, run_id)


def _hear(call: Call, run: Run, after: int, wait_s: float) -> Coroutine[Any, Any, RunHeard]:
    return call.ask(AGENT, run.agent_id, HearRun(call.user.user_id, run.message.id, after, wait_s))


async def _found(call: Call, run_id: str) -> Run:
    """Read a run as the store knows it, or as its agent's node does while it waits for its turn.

    Raises:
        NotFound: there is no such run, or it is another user's.
        NotPermitted: the sender's API key is not for its agent.
        Elsewhere: the store has no such run, and another node has its agent.
    """
    try:
        return await _stored(call, run_id)
    except NotFound:
        message_id = message_of(run_id)
        if message_id is None:
            raise
        waiting = call.core.runs_waiting.get(message_id)
        if waiting is None and not call.core.directory.serves(message_id):
            raise Elsewhere(message_id, call) from None
        if waiting is None or waiting.user_id != call.user.user_id:
            raise
    call.require_in_scope("agents", waiting.agent_id)
    said, name = waiting.told.message, waiting.told.conversation or ""
    if not waiting.run.cancelled:
        return Run(run_id, name, waiting.agent_id, "working", said)
    said = structs.replace(said, mark="cancelled")
    error, at = _of(nothing_said()), waiting.run.cancelled_at
    return Run(run_id, name, waiting.agent_id, "cancelled", said, error=error, ended_at=at)


async def _stored(call: Call, run_id: str) -> Run:
    """Read a run as the store knows it; without a reply it may be under way.

    Raises:
        NotFound: there is no such run, or it is another user's.
        NotPermitted: the sender's API key is not for its agent.
    """
    message_id = message_of(run_id)
    run = message_id and await call.core.store.read(_read(run_id, call.user.user_id, message_id))
    if not run:
        raise _no_such_run()
    call.require_in_scope("agents", run.agent_id)
    return run


def _read(run_id: str, user_id: str, message_id: str) -> Reads[Run | None]:
    for row in (yield from rows_of(runs.of_message(user_id, message_id))):
        replies = yield from rows_of(conversations.reply_to(row.conversation, row.message.seq))
        ends = [] if row.message.mark is None else (yield from rows_of(failed_runs.of_message(message_id)))
        return _run_of(run_id, row, replies[0] if replies else None, ends[0].at if ends else None)
    return None


def _run_of(run_id: str, row: RunRow, stored_reply: MessageRow | None, cancelled_at: int | None) -> Run:
    said, name = from_row(row.message), conversation_id(row.conversation, row.agent_id)
    if stored_reply is not None:
        reply = from_row(stored_reply)
        state: State = "cancelled" if reply.mark == "cancelled" else "completed"
        return Run(run_id, name, row.agent_id, state, said, reply)
    if said.mark == "cancelled":
        return Run(run_id, name, row.agent_id, "cancelled", said, None, _of(nothing_said()), cancelled_at)
    return Run(run_id, name, row.agent_id, "working", said)


def _no_such_run() -> NotFound:
    return NotFound("There is no such run of yours; it is gone with its conversation, or its id is another one.")


def _of(error: ServiceError) -> RunError:
    return RunError(error.internal_code, error.http_code, error.note)


def _cut_off() -> ServiceError:
    return Overloaded(CUT_OFF)
