"""A private conversation of a user with an agent, as its agent's actor holds it."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from actors.engines.message import Source, Utterance
from actors.engines.turn import Memory
from actors.engines.window import Window
from actors.idempotency.records import Receipt
from actors.runtime.actor import AsyncFuture, Progress
from actors.wire import iso
from persistence import conversations
from persistence.conversations import MessageRow
from persistence.store import Write

WAITING_LIMIT = 32
"""Chats that may wait for their turn in one conversation; one more is refused at once."""


class ChatSent(NamedTuple):
    """A message and the agent's reply, both durable."""

    message: Utterance
    reply: Utterance


class Chat(NamedTuple):
    """A message that waits for its turn, and where the answer goes."""

    user_name: str
    content: str
    answer: AsyncFuture[ChatSent]
    progress: Progress | None
    memories: tuple[Memory, ...] = ()
    receipt: Receipt | None = None
    resumes: Utterance | None = None


@dataclass(slots=True)
class Conversation:
    """What is remembered of one conversation while it is in use.

    `id` is None until it is stored; `last_seq` counts its messages. One chat is answered at a time: while a
    slow engine is `at_work` or not `loaded`, others wait in order.
    """

    user_id: str
    window: Window = field(default_factory=Window)
    id: int | None = None
    last_seq: int = 0
    loaded: bool = False
    at_work: Chat | None = None
    open_units: int = 0
    waiting: deque[Chat] = field(default_factory=deque[Chat])

    @property
    def at_rest(self) -> bool:
        """Tell whether nothing of it is under way, so that it may be read again from the store later."""
        return self.loaded and not self.at_work and not self.open_units and not self.waiting

    def unit_stored(self) -> None:
        """Note that one of its units is stored."""
        self.open_units -= 1

    def under_way(self) -> list[Chat]:
        """List the chats that are not answered yet."""
        return [*([self.at_work] if self.at_work else ()), *self.waiting]


def message_record(message: Utterance, zone: str | None = None) -> dict[str, Any]:
    """Show a message to its reader (product 1, "Records")."""
    id, role, name, content, seq, at, sources = message
    return {
        "id": id,
        "role": role,
        "name": name,
        "content": content,
        "at": iso(at),
        "zone": zone,
        "seq": seq,
        "sources": [source.record() for source in sources],
    }


def append(conversation_id: int, message: Utterance) -> Write:
    """Make the write that keeps a message."""
    return conversations.append(conversation_id, *columns_of(message))


def columns_of(message: Utterance) -> tuple[int, str, str, str, str, str | None, int]:
    """Tell what is stored of a message, in the order of `MessageRow`."""
    id, role, name, content, seq, at, sources = message
    kept = orjson.dumps([source.record() for source in sources]).decode() if sources else None
    return seq, id, role, name, content, kept, at


def quote_notes(
    message: Utterance, memories: tuple[Memory, ...], note: Callable[[int, int, int], Write]
) -> list[Write]:
    """Make the writes that note which of these memories a message quotes: `note(place, seq, number of the source)`."""
    places = {(memory.bank, memory.name): memory.place for memory in memories}
    return [
        note(places[source.of, source.id], message.seq, number)
        for number, source in enumerate(message.sources)
        if source.kind == "bank" and (source.of, source.id) in places
    ]


def places_quoted(message: Utterance, memories: tuple[Memory, ...]) -> tuple[int, ...]:
    """Tell where the store keeps those of these memories that a message quotes."""
    if not memories:
        return ()
    quoted = {(source.of, source.id) for source in message.sources if source.kind == "bank"}
    return tuple(memory.place for memory in memories if (memory.bank, memory.name) in quoted)


def noted(
    notes: list[Write], noted_in: Literal["quotes", "zone_quotes"], stream: int | str, seq: int, receipt: Receipt | None
) -> list[Write]:
    """Make notes of what a message draws on; also for the answer that a receipt has kept of it."""
    return [*notes, *(receipt.quotes_alike(noted_in, stream, seq) if notes and receipt is not None else ())]


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
