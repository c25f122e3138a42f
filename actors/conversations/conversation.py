"""A private conversation of a user with an agent, as the agent's actor holds it in memory."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from actors.engines.message import Utterance
from actors.engines.turn import Memory
from actors.engines.window import Window
from actors.idempotency.records import Receipt
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress

WAITING_LIMIT = 32
"""Chats that may wait for their turn in one conversation; one more is refused at once."""


class ChatSent(NamedTuple):
    """A message and the agent's reply, both durable."""

    message: Utterance
    reply: Utterance


class Chat(NamedTuple):
    """A message to be answered, with the future of its answer.

    `resumes` is the message itself where an earlier attempt stored it and left it without a reply.
    """

    user_name: str
    content: str
    answer: AsyncFuture[ChatSent]
    progress: Progress | None
    memories: tuple[Memory, ...] = ()
    receipt: Receipt | None = None
    resumes: Utterance | None = None


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
        """Tell whether nothing is under way, so that it may be dropped and read from the store again later."""
        return self.loaded and not self.at_work and not self.open_units and not self.waiting

    def unit_stored(self) -> None:
        """Count one of its units as stored."""
        self.open_units -= 1

    def under_way(self) -> list[Chat]:
        """List the chats that are not answered yet."""
        return [*([self.at_work] if self.at_work else ()), *self.waiting]
