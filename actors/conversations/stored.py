"""Messages as rows of the store, and the rows that note which memories a message quotes."""

from collections.abc import Callable
from typing import Literal

import orjson

from actors.engines.message import Source, Utterance
from actors.engines.turn import Memory
from actors.idempotency.records import Receipt
from persistence import conversations
from persistence.conversations import MessageRow
from persistence.store import Write


def append(conversation_id: int, message: Utterance) -> Write:
    """Make the write that adds a message to a private conversation."""
    return conversations.append(conversation_id, *columns_of(message))


def columns_of(message: Utterance) -> tuple[int, str, str, str, str, str | None, int]:
    """Return the values of a message's row, in the order of `MessageRow`."""
    id, role, name, content, seq, at, sources = message
    stored = orjson.dumps([source.record() for source in sources]).decode() if sources else None
    return seq, id, role, name, content, stored, at


def from_row(row: MessageRow) -> Utterance:
    """Make a message of its row."""
    return Utterance(
        id=row.id,
        role="user" if row.role == "user" else "agent",
        name=row.name,
        content=row.content,
        seq=row.seq,
        at=row.at,
        sources=tuple(Source.from_record(source) for source in orjson.loads(row.sources or b"[]")),
    )


def quote_notes(
    message: Utterance, memories: tuple[Memory, ...], note: Callable[[int, int, int], Write]
) -> list[Write]:
    """Make the writes that note which of these memories a message quotes, for a censoring to find.

    Args:
        message: a reply with its sources.
        memories: the memories that the engine was given.
        note: makes the write from the memory's position, the message's seq and the source's number.
    """
    positions = {(memory.bank, memory.name): memory.position for memory in memories}
    return [
        note(positions[source.of, source.id], message.seq, number)
        for number, source in enumerate(message.sources)
        if source.kind == "bank" and (source.of, source.id) in positions
    ]


def with_answers_notes(
    notes: list[Write], noted_in: Literal["quotes", "zone_quotes"], stream: int | str, seq: int, receipt: Receipt | None
) -> list[Write]:
    """Return the notes of a stored message, and where a receipt keeps an answer, the same notes for that answer."""
    return [*notes, *(receipt.quotes_alike(noted_in, stream, seq) if notes and receipt is not None else ())]


def quoted_positions(message: Utterance, memories: tuple[Memory, ...]) -> tuple[int, ...]:
    """Return the positions of those memories that a message quotes."""
    if not memories:
        return ()
    quoted = {(source.of, source.id) for source in message.sources if source.kind == "bank"}
    return tuple(memory.position for memory in memories if (memory.bank, memory.name) in quoted)
