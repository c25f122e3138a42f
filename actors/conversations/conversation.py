"""A private conversation of a user with an agent, as the agent's actor keeps it in memory."""

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from actors.conversations.archive import CONVERSATION, Archive, Newest
from actors.conversations.stored import PRIVATE_QUOTES, append
from actors.engines.message import A_PRIVATE_TURN, Source, Utterance
from actors.engines.turn import Memory, Reply
from actors.engines.window import Window
from actors.errors import ServiceError
from actors.idempotency.records import Receipt
from actors.ids import new_id, new_number
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress
from persistence import conversations
from persistence.store import Store, Write

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

    def beside_reply(self, conversation_id: int, sent: ChatSent, outcome: Reply, *, streamed: bool) -> list[Write]:
        """Make the writes stored with a reply: the notes of its quotes, and the rows of the receipt.

        A streamed reply, and so the answer that the receipt keeps, may repeat anything that the engine was given.
        """
        receipt = self.receipt
        writes = PRIVATE_QUOTES.notes(conversation_id, sent.reply, self.memories, whole=streamed)
        if receipt is not None:
            writes += receipt.writes(sent)
        return writes + PRIVATE_QUOTES.unseen_notes(conversation_id, sent.reply, outcome, receipt)


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
    window: Window = field(default_factory=partial(Window, keeps_left=True, a_turn=A_PRIVATE_TURN))
    archive: Archive[int] | None = None
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

    def take(self, store: Store, id: int, last_seq: int, newest: Newest) -> None:
        """Take what the store has of the conversation."""
        self.id, self.last_seq = id, last_seq
        for message in newest.messages:
            self.window.append(message)
        self.archive = Archive(store, CONVERSATION, id, self.window, newest.collection)

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
        if self.archive is not None:
            self.archive.tend()

    def older(self, store: Store, *, streams: bool) -> Archive[int] | None:
        """Return what searches the whole conversation, if there is more than an instant engine has in the window."""
        archive = self.archive
        if archive is None:
            if self.id is None:
                return None
            archive = self.archive = Archive(store, CONVERSATION, self.id, self.window)
        return None if archive.is_empty and not streams else archive

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
