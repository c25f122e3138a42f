"""The copy of a conversation for CV_Fork, made in units of moderate size beside other work."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import orjson

from actors.errors import NotFound
from persistence import conversation_copies
from persistence.conversation_copies import Copied
from persistence.conversations import ConversationRow
from persistence.store import FOREIGN_KEY, ROWS, Store, StoreUnavailable, Unit

BATCH = 500
"""The number of messages that one unit copies."""

TITLE_CHARS = 200
"""The longest title of a conversation."""

_HINT = " (fork)"
_TRIES = 8  # each fails only on a censoring between read and copy
_RANDOM = 13  # digits


class _Changed(Exception):
    """The messages were censored or erased since they were read."""


def forked_title(title: str | None) -> str | None:
    """Return the title of a fork: that of its source with a hint, or none."""
    if title is None or title.endswith(_HINT):
        return title
    return title[: TITLE_CHARS - len(_HINT)] + _HINT


def forked_id(message_id: str, number: int) -> str:
    """Return the id of a message's copy in the conversation with a number.

    It keeps the time and the shard in the message's id. All random parts are moved by one distance, so that copies sort
    as their messages do, and an id can be made again for the sources that name its message.
    """
    start, random, shard = message_id[: -_RANDOM - 2], message_id[-_RANDOM - 2 : -2], message_id[-2:]
    return f"{start}{(int(random, 16) + _distance(number)) % 16**_RANDOM:0{_RANDOM}x}{shard}"


def _distance(number: int) -> int:
    return int(hashlib.sha256(number.to_bytes(8)).hexdigest()[:_RANDOM], 16) or 1


async def copy_messages(store: Store, source: int, copy: ConversationRow, working: Sequence[str]) -> None:
    """Copy the messages of a conversation up to the last seq of its copy, which nobody sees before it is finished.

    `working` are the ids of the user's messages whose runs are under way; their copies are marked as cancelled.

    Raises:
        NotFound: the conversation was erased meanwhile.
        StoreUnavailable: not all could be stored.
    """
    begin = conversation_copies.begin(copy.number, source, copy.user_id, copy.title)
    await store.commit(Unit((begin,), (), {ROWS: _gone}))
    after = 0
    while after < copy.last_seq:
        after = await _copy_some(store, source, copy.number, after, copy.last_seq)
    if working:
        await store.commit(Unit((conversation_copies.cut_off(copy.number, source, copy.last_seq, working),)))


async def _copy_some(store: Store, source: int, number: int, after: int, upto: int) -> int:
    """Copy some messages after a seq, and return the seq of the last of them."""
    for _ in range(_TRIES):
        rows = await store.fetch(conversation_copies.to_copy(source, after, upto, BATCH))
        if not rows:
            raise _gone()
        copied = [
            Copied(seq, id, sources, forked_id(id, number), _mapped(sources, number)) for seq, id, sources in rows
        ]
        with suppress(_Changed):
            writes = conversation_copies.add(number, source, copied)
            await store.commit(Unit(writes, (), {ROWS: _Changed, FOREIGN_KEY: _gone}))
            return rows[-1][0]
    raise StoreUnavailable("the messages changed again and again while they were copied")


def _mapped(sources: str | None, number: int) -> str | None:
    """Let the sources of a message name the copies of other messages."""
    if sources is None or '"conversation"' not in sources:
        return sources
    records = orjson.loads(sources)
    for record in records:
        if "conversation" in record:
            record["id"] = forked_id(record["id"], number)
    return orjson.dumps(records).decode()


def _gone() -> NotFound:
    return NotFound("The conversation was erased while it was copied.")
