"""Push notification configs of A2A tasks: where the end of a run is told. They go with the conversation."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from persistence.store import Params, Query, Write
from persistence.tasks import BOUND_NAME, WITH_REPLY


@dataclass(frozen=True, slots=True)
class PushConfigRow:
    """A config as stored; `target` is sealed, times are in ms since the epoch.

    `message_id` is the user's message of the run. `due` is the time from which on the run's end is to be told, None
    once it is told or given up; `failed` counts the attempts that failed.
    """

    message_id: str
    id: str
    conversation_id: int
    target: bytes = field(repr=False)
    due: int | None
    failed: int
    created_at: int


class DuePush(NamedTuple):
    """A config whose run may have ended, with the run's user and agent, and the state and end that the store knows.

    `mark` is that of the reply, or of a message without one; `name` is the client's own id of the conversation.
    """

    config: PushConfigRow
    user_id: str
    agent_id: str
    seq: int
    said_at: int
    replied_at: int | None
    ended_at: int | None
    mark: str | None
    name: str | None


_COLUMNS = "message_id, id, conversation_id, target, due, failed, created_at"


def _row(row: Params) -> PushConfigRow:
    return PushConfigRow(*row)


def put(config: PushConfigRow, most: int) -> Write:
    """Add a config, or replace the one of the same id; refused as `ROWS` if the task has `most` others.

    Refused as `FOREIGN_KEY` when the conversation is gone.
    """
    return Write(
        f"INSERT INTO push_configs ({_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
        " WHERE (SELECT count(*) FROM push_configs WHERE message_id = ?1 AND id <> ?2) < ?8"
        " ON CONFLICT (message_id, id) DO UPDATE SET target = excluded.target, due = excluded.due, failed = 0",
        (
            config.message_id,
            config.id,
            config.conversation_id,
            config.target,
            config.due,
            config.failed,
            config.created_at,
            most,
        ),
        rows=1,
    )


def of_task(message_id: str, after_id: str, limit: int) -> Query[PushConfigRow]:
    """List the configs of a run by their ids, after one."""
    return Query(
        f"SELECT {_COLUMNS} FROM push_configs WHERE message_id = ? AND id > ? ORDER BY id LIMIT ?",
        (message_id, after_id, limit),
        _row,
    )


def with_id(message_id: str, id: str) -> Query[PushConfigRow]:
    """Read one config."""
    return Query(f"SELECT {_COLUMNS} FROM push_configs WHERE message_id = ? AND id = ?", (message_id, id), _row)


def delete(message_id: str, id: str) -> Write:
    """Remove a config, if it is there."""
    return Write("DELETE FROM push_configs WHERE message_id = ? AND id = ?", (message_id, id))


def due_at(now: int, after: tuple[str, str], limit: int, but: Sequence[str] = ()) -> Query[DuePush]:
    """List the configs that are due, after one, by their runs and ids, except those of the users `but`."""
    return Query(
        "SELECT push_configs.message_id, push_configs.id, push_configs.conversation_id, push_configs.target,"
        " push_configs.due, push_configs.failed, push_configs.created_at, conversations.user_id,"
        " conversations.agent_id, said.seq, said.at, reply.at,"
        " coalesce(reply.at, failed_runs.at),"
        f" CASE WHEN reply.at IS NULL THEN said.mark ELSE reply.mark END, {BOUND_NAME}"
        " FROM push_configs @hint(CROSS) JOIN conversations ON conversations.id = push_configs.conversation_id"
        " @hint(CROSS) JOIN messages AS said ON said.id = push_configs.message_id AND said.role = 'user'"
        f" AND said.conversation_id = push_configs.conversation_id {WITH_REPLY}"
        " LEFT JOIN failed_runs ON failed_runs.message_id = said.id"
        " JOIN users ON users.id = conversations.user_id AND users.suspended_at IS NULL"
        " WHERE push_configs.due <= ? AND (push_configs.message_id > ? OR"
        " (push_configs.message_id = ? AND push_configs.id > ?))"
        " AND conversations.user_id NOT IN @list_text(?)"
        " ORDER BY push_configs.message_id, push_configs.id LIMIT ?",
        (now, after[0], *after, json.dumps(but), limit),
        lambda row: DuePush(PushConfigRow(*row[:7]), *row[7:]),
    )


def attempted(config: PushConfigRow, due: int | None) -> Write:
    """Note an attempt: it is due again after a failure, or, with None, not any more."""
    failed = config.failed if due is None else config.failed + 1
    return Write(
        "UPDATE push_configs SET due = ?, failed = ? WHERE message_id = ? AND id = ?",
        (due, failed, config.message_id, config.id),
    )
