"""Reads of CV_Search: the conversations of a user that are searched, and their messages."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence.agents import is_destroyed
from persistence.conversations import MessageRow, marked_row
from persistence.kept_to import Ids, kept_to
from persistence.search_index import Collection
from persistence.store import Query


class Searched(NamedTuple):
    """A conversation that is searched, by number, with its agent, its last seq, and its collection if it has one."""

    number: int
    agent_id: str
    last_seq: int
    collection: Collection | None


def searched(user_id: str, agent_ids: Ids, number: int | None, limit: int) -> Query[Searched]:
    """List the conversations of a user, all or those with some agents or one alone, the most recently used first."""
    conditions = "conversations.user_id = :user AND conversations.copying IS NULL"
    conditions += kept_to("conversations.agent_id", agent_ids)
    params: dict[str, str | int] = {"user": user_id, "limit": limit, "ids": json.dumps(agent_ids)}
    if number is not None:
        conditions += " AND conversations.id = :number"
        params["number"] = number
    return Query(
        "SELECT id, agent_id, last_seq, number, version, reached, texts, words FROM (SELECT conversations.id,"
        " conversations.agent_id, (SELECT max(seq) FROM messages WHERE conversation_id = conversations.id) AS last_seq,"
        " collections.number, version, reached, texts, words FROM conversations"
        f" LEFT JOIN collections ON collections.conversation_id = conversations.id WHERE {conditions}) AS mine"
        " WHERE last_seq IS NOT NULL ORDER BY"
        " (SELECT at FROM messages WHERE conversation_id = mine.id AND seq = last_seq) DESC, id DESC LIMIT :limit",
        params,
        lambda row: Searched(row[0], row[1], row[2], None if row[3] is None else Collection(*row[3:])),
    )


_COLUMNS = ", ".join(f"messages.{column}" for column in MessageRow._fields[:-1])


class Stretch(NamedTuple):
    """The messages of a conversation, by its number, after one seq and up to another."""

    number: int
    after: int
    upto: int


def messages_of(stretches: Sequence[Stretch]) -> Query[tuple[int, MessageRow]]:
    """Read the messages of some stretches, each with its conversation's number."""
    return Query(
        f"SELECT conversation_id, {_COLUMNS} FROM @rows(?, conversation bigint, after bigint, upto bigint) AS given"
        " @seek(messages, messages.conversation_id = given.conversation AND messages.seq > given.after"
        " AND messages.seq <= given.upto)",
        (json.dumps(stretches),),
        lambda row: (row[0], MessageRow(*row[1:])),
    )


def messages_at(user_id: str, places: Sequence[tuple[int, int]]) -> Query[tuple[int, str, MessageRow]]:
    """Read messages of a user's conversations, by number and seq: the conversation, its agent, the message."""
    return Query(
        f"SELECT conversation_id, agent_id, {_COLUMNS}, {is_destroyed('conversations.agent_id')}"
        " FROM @rows(?, conversation bigint, place bigint) AS given"
        " @seek(messages, messages.conversation_id = given.conversation AND messages.seq = given.place)"
        " JOIN conversations ON conversations.id = messages.conversation_id WHERE conversations.user_id = ?",
        (json.dumps(places), user_id),
        lambda row: (row[0], row[1], marked_row(row[2:])),
    )
