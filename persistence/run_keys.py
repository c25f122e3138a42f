"""The keys under which clients ask for a run again: repeats of a request, and ids that they give to their messages."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence.store import Query, Write

_ALWAYS = 2**62
"""A time after that of every run."""
SHOWN = "shown "
"""Begins the keys under which clients' own ids are kept; no digest has a space."""


class KeyedRun(NamedTuple):
    """The run of a key: the user's message, the number of its conversation, a digest of the request."""

    message_id: str
    conversation_id: int
    fingerprint: str


def remember(digest: str, message_id: str, conversation_id: int, fingerprint: str, at: int) -> Write:
    """Note the run of a key; of several the latest counts."""
    return Write(
        "INSERT INTO run_keys (digest, message_id, conversation_id, fingerprint, at) VALUES (?, ?, ?, ?, ?)",
        (digest, message_id, conversation_id, fingerprint, at),
        None,
        _REMEMBER_MANY,
    )


_REMEMBER_MANY = (
    "INSERT INTO run_keys (digest, message_id, conversation_id, fingerprint, at) SELECT * FROM @rows(?, digest text,"
    " message_id text, conversation_id bigint, fingerprint text, at bigint) AS made"
)


def name(digest: str, message_id: str, conversation_id: int) -> Write:
    """Note the message of a client's own id, as long as the conversation is stored."""
    return remember(digest, message_id, conversation_id, "", _ALWAYS)


def show(client_id: str, message_id: str, conversation_id: int) -> Write:
    """Note the client's own id of a message, as long as the conversation is stored."""
    return remember(SHOWN + message_id, message_id, conversation_id, client_id, _ALWAYS)


def shown(message_ids: Sequence[str]) -> Query[tuple[str, str]]:
    """Find the clients' own ids of messages: pairs of a message's id and the client's."""
    return Query(
        "SELECT message_id, fingerprint FROM run_keys WHERE digest IN @list_text(?)",
        (json.dumps([SHOWN + id for id in message_ids]),),
        lambda row: (row[0], row[1]),
    )


def of_key(digest: str, since: int) -> Query[KeyedRun]:
    """Find the latest run of a key, if it is not older than `since`, in ms since the epoch."""
    return Query(
        "SELECT message_id, conversation_id, fingerprint FROM run_keys WHERE digest = ? AND at >= ?"
        " ORDER BY at DESC, message_id DESC LIMIT 1",
        (digest, since),
        lambda row: KeyedRun(*row),
    )


def forget(digest: str, before: int) -> Write:
    """Forget the runs of a key that are from before a time, in ms since the epoch."""
    return Write("DELETE FROM run_keys WHERE digest = ? AND at < ?", (digest, before))


def delete_older(than: int) -> Write:
    """Forget the keys of older runs."""
    return Write("DELETE FROM run_keys WHERE at < ?", (than,))
