"""A private conversation of a user with an agent, as the agent's actor keeps it in memory."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from actors.conversations.stored import append
from actors.engines.message import Source, Utterance
from actors.engines.turn import Memory
from actors.engines.window import Window
from actors.errors import ServiceError
from actors.idempotency.records import Receipt
from actors.ids import new_id, new_number
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress
from persistence import conversations
from persistence.store import Write

WAITING_LIMIT = 32
"""Chats that may wait for their turn in one conversation; one more is refused at once."""


class ChatSent(NamedTuple):
    """A message and the agent's reply, both durable."""

    message: Utterance
    reply: Utterance


class Chat(NamedTuple):
    """A message to be answered, with the future of its answer.

    `resumes` is the message itself if an earlier attempt stored it without a reply.
    """

    user_name: str
    content: str
    answer: AsyncFuture[ChatSent]
    progress: Progress | None
    memories: tuple[Memory, ...] = ()
    receipt: Receipt | None = None
    resumes: Utterance | None = None

    def fail_once(self, saved: AsyncFuture[None], error: ServiceError) -> None:
        """Fail the chat once the user's message is saved, because the error says that the message is kept."""
        saved.then(lambda done: self.answer.fail(done.error or error))


def new_message(
    near: str,
    role: Literal["user", "agent"],
    name: str,
    content: str,
    seq: int,
    at: int,
    sources: tuple[Source, ...] = (),
) -> Utterance:
    """Make a message with a new id.

    The id is `near` the key of the actor that keeps the message: the agent in a private chat, the domain in its zones.
    So the id names that actor's shard, whoever sent the message.
    """
    return Utterance(new_id("msg", near), role, name, content, seq, at, sources)


@dataclass(slots=True)
class Conversation:
    """The state of one conversation while it is in use.

    `id` is None until it is stored; `last_seq` counts its messages. One chat is answered at a time: while the
    conversation is not `loaded` or an engine is `at_work`, other chats wait in order.
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
        """Whether nothing is under way, so that it may be dropped and read from the store again later."""
        return self.loaded and not self.at_work and not self.open_units and not self.waiting

    def add(self, messages: tuple[Utterance, ...], agent_id: str) -> list[Write]:
        """Add messages in memory, and make the writes of the unit that stores them."""
        self.open_units += 1
        for message in messages:
            self.last_seq = message.seq
            self.window.append(message)
        if self.id is not None:
            return [append(self.id, message) for message in messages]
        id = self.id = new_number()
        return [
            conversations.begin(id, self.user_id, agent_id),
            *(append(id, message) for message in messages),
        ]

    def unit_stored(self) -> None:
        """Note that one of its units is stored."""
        self.open_units -= 1

    def under_way(self) -> list[Chat]:
        """List the chats that are not answered yet."""
        return [*([self.at_work] if self.at_work else ()), *self.waiting]

    def snapshot(self) -> dict[str, Any]:
        """Return the state as maintainers see it, without texts."""
        return {
            "user_id": self.user_id,
            "last_seq": self.last_seq,
            "remembered": len(self.window),
            "waiting": len(self.waiting),
            "engine_at_work": self.at_work is not None,
        }
