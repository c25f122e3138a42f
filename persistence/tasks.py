"""Runs of a user with an agent as a list, by the times of their last change (A2A's tasks)."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from persistence.conversations import INNER_NAME, MessageRow
from persistence.run_keys import SHOWN
from persistence.store import Params, Query


class TaskRow(NamedTuple):
    """A run with its state, the time of its last change in ms since the epoch, its message and its reply.

    `name` is the client's own id of the conversation, if there is one, and `error` the note of the last stored error.
    """

    conversation_id: int
    name: str | None
    state: str
    changed_at: int
    message: MessageRow
    reply: MessageRow | None
    error: str | None


class Chosen(NamedTuple):
    """A choice among the runs of a user with an agent; None takes all.

    `working` are the ids of the messages whose runs are under way: of the other runs without a reply nobody else knows
    that they have failed. `since` is in ms since the epoch.
    """

    user_id: str
    agent_id: str
    working: Sequence[str]
    conversation_id: int | None = None
    state: str | None = None
    since: int | None = None


WITH_REPLY = """
    LEFT JOIN messages AS reply ON reply.conversation_id = said.conversation_id AND reply.role = 'agent'
        AND reply.seq = coalesce(
            (SELECT next.seq FROM messages AS next WHERE next.conversation_id = said.conversation_id
             AND next.seq = said.seq + 1 AND next.role = 'agent' AND next.answers IS NULL),
            (SELECT min(late.seq) FROM messages AS late WHERE late.conversation_id = said.conversation_id
             AND late.answers = said.seq))
"""
"""Joins the reply to the user's message `said`."""

_OF_CLIENTS = f"substr(name, 1, {len(INNER_NAME)}) <> '{INNER_NAME}'"

BOUND_NAME = f"(SELECT max(name) FROM bindings WHERE bindings.conversation_id = conversations.id AND {_OF_CLIENTS})"
"""A client's own id of a conversation."""

_RUNS = f"""
    SELECT said.conversation_id, {BOUND_NAME} AS bound,
           CASE WHEN reply.mark = 'cancelled' OR said.mark = 'cancelled' THEN 'cancelled'
                WHEN reply.id IS NOT NULL THEN 'completed'
                WHEN said.id IN @list_text(:working) THEN 'working' ELSE 'failed' END AS state,
           coalesce(reply.at, failed_runs.at, said.at) AS changed_at, failed_runs.note, said.id AS run,
           said.seq, said.role, said.name, said.content, said.sources, said.at, said.mark,
           reply.seq AS reply_seq, reply.id AS reply_id, reply.role AS reply_role, reply.name AS reply_name,
           reply.content AS reply_content, reply.sources AS reply_sources, reply.at AS reply_at,
           reply.mark AS reply_mark
    FROM conversations
    JOIN messages AS said ON said.conversation_id = conversations.id AND said.role = 'user'
    {WITH_REPLY}
    LEFT JOIN failed_runs ON failed_runs.message_id = said.id
    WHERE conversations.user_id = :user AND conversations.agent_id = :agent AND conversations.copying IS NULL
        AND (said.mark IS NULL OR said.mark = 'cancelled')
"""


def page(chosen: Chosen, before: tuple[int, str] | None, limit: int) -> Query[TaskRow]:
    """List chosen runs, the last changed first, before the time and message of one."""
    runs, conditions, params = _filtered(chosen)
    if before is not None:
        conditions += " AND (changed_at < :at OR (changed_at = :at AND run < :run))"
        params |= {"at": before[0], "run": before[1]}
    return Query(
        f"SELECT * FROM ({runs}) AS runs WHERE {conditions} ORDER BY changed_at DESC, run DESC LIMIT :most",
        params | {"most": limit},
        _row,
    )


def count(chosen: Chosen) -> Query[int]:
    """Count chosen runs."""
    runs, conditions, params = _filtered(chosen)
    return Query(f"SELECT count(*) FROM ({runs}) AS runs WHERE {conditions}", params, lambda row: row[0])


def client_ids(conversation_id: int, message_id: str) -> Query[tuple[str | None, str | None]]:
    """Find a client's own ids of a conversation and of a message there; None for one that it has not given."""
    return Query(
        f"SELECT (SELECT max(name) FROM bindings WHERE conversation_id = ? AND {_OF_CLIENTS}),"
        " (SELECT fingerprint FROM run_keys WHERE digest = ?)",
        (conversation_id, SHOWN + message_id),
        lambda row: (row[0], row[1]),
    )


def _filtered(chosen: Chosen) -> tuple[str, str, dict[str, Any]]:
    """Return the runs, the conditions on them, and the parameters of both."""
    params: dict[str, Any] = {"user": chosen.user_id, "agent": chosen.agent_id}
    params["working"] = json.dumps(list(chosen.working))
    runs, conditions = _RUNS, ["1 = 1"]
    if chosen.conversation_id is not None:
        runs += " AND conversations.id = :conversation"
        params["conversation"] = chosen.conversation_id
    if chosen.state is not None:
        conditions.append("state = :state")
        params["state"] = chosen.state
    if chosen.since is not None:
        conditions.append("changed_at >= :since")
        params["since"] = chosen.since
    return runs, " AND ".join(conditions), params


def _row(row: Params) -> TaskRow:
    conversation_id, name, state, changed_at, note, id, seq, *said = row[:13]
    reply = row[13:]
    message = MessageRow(seq, id, *said)
    return TaskRow(conversation_id, name, state, changed_at, message, MessageRow(*reply) if reply[0] else None, note)
