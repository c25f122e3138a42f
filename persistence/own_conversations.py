"""A user's own conversations: listed, counted, titled and erased."""

import json
from typing import NamedTuple

from persistence.conversations import LAST_SEQ, SELECT, ConversationRow, row_of
from persistence.kept_to import Ids, kept_to
from persistence.store import Query, Write

_SELECT_ALSO_USED = SELECT.replace("\n    FROM", ", page.used\n    FROM")


class Used(NamedTuple):
    """The time at which a conversation was used, in ms since the epoch, and its number."""

    at: int
    number: int


def listed(
    user_id: str, agent_ids: Ids, upto: int, after: Used | None, limit: int
) -> Query[tuple[Used, ConversationRow]]:
    """List a user's conversations as they were at a time, the most recently used first.

    Args:
        user_id: whose they are.
        agent_ids: the agents, or None for all.
        upto: the time; what was said after it does not count.
        after: the last one of the page before, or None for the first page.
        limit: the number of conversations.
    """
    conditions = "conversations.user_id = :user AND conversations.copying IS NULL"
    conditions += kept_to("conversations.agent_id", agent_ids)
    params: dict[str, str | int] = {"user": user_id, "upto": upto, "limit": limit, "ids": json.dumps(agent_ids)}
    page = ""
    if after is not None:
        page = "WHERE (used, id) < (@typed(:used, bigint), @typed(:number, bigint))"
        params |= {"used": after.at, "number": after.number}
    said = "SELECT at FROM messages WHERE conversation_id = conversations.id AND at <= :upto ORDER BY seq DESC LIMIT 1"
    return Query(
        f"WITH mine AS (SELECT id, @greatest(id >> 22, coalesce(({said}), 0)) AS used FROM conversations"
        f" WHERE {conditions}), page AS MATERIALIZED (SELECT id, used FROM mine {page} ORDER BY used DESC, id DESC"
        f" LIMIT :limit) {_SELECT_ALSO_USED} JOIN page ON page.id = conversations.id"
        " ORDER BY page.used DESC, page.id DESC",
        params,
        lambda row: (Used(row[-1], row[0]), row_of(row[:-1])),
    )


def set_title(conversation_id: int, user_id: str, title: str, at: int) -> Write:
    """Set the title of one of a user's conversations; refused as `ROWS` when it is gone."""
    return Write(
        "UPDATE conversations SET title = ?, titled_at = ? WHERE id = ? AND user_id = ?",
        (title, at, conversation_id, user_id),
        rows=1,
    )


def erase(conversation_id: int, user_id: str) -> tuple[Write, ...]:
    """Remove one of a user's conversations with all that belongs to it; refused as `ROWS` when it is gone.

    Its messages, index, quotes, keys and bindings go by cascade; copies of it that are not complete go, too.
    """
    return (
        Write("DELETE FROM conversations WHERE copying = ?", (conversation_id,)),
        Write("DELETE FROM conversations WHERE id = ? AND user_id = ?", (conversation_id, user_id), rows=1),
    )


def messages_between(agent_id: str, user_id: str) -> Query[int]:
    """Count the messages of all conversations of a user with an agent, with one seek for each."""
    return Query(
        f"SELECT CAST(coalesce(sum({LAST_SEQ}), 0) AS BIGINT) FROM conversations"
        " WHERE user_id = ? AND agent_id = ? AND copying IS NULL",
        (user_id, agent_id),
        lambda row: row[0],
    )
