"""A private conversation of a user with an agent, as the agent's actor keeps it in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Literal

from msgspec import Struct

from actors.conversations.archive import Archive
from actors.conversations.ids import conversation_id, run_of
from actors.conversations.place import Beginning, ChatPlace, RunKey
from actors.conversations.reading import CONVERSATION, Newest
from actors.conversations.stored import PRIVATE_QUOTES, append
from actors.engines.message import A_PRIVATE_TURN, Source, Utterance
from actors.engines.options import EngineOptions
from actors.engines.turn import Memory, Reply
from actors.engines.window import Window
from actors.errors import ServiceError
from actors.idempotency.records import Receipt
from actors.ids import new_id
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress
from persistence import conversation_copies, conversations, quotes, run_keys
from persistence.agents import AgentRow
from persistence.censoring import REDACTED
from persistence.store import Store, Write

WAITING_LIMIT = 32
"""Chats that may wait for their turn in one conversation; one more is refused at once."""


class ChatSent(Struct, frozen=True):
    """A message and the agent's reply, both durable.

    `number` is the conversation's, and `conversation` its id; both are None if nothing was to be kept. `outcome` is the
    engine's reply as it came.
    """

    message: Utterance
    reply: Utterance
    number: int | None = None
    conversation: str | None = None
    outcome: Reply | None = None


class RunBegun(Struct, frozen=True):
    """A chat whose user's message is durable, before the first piece of the reply.

    `waits`: the chat waits for its turn, so the message has no seq and is not stored yet; it is told again when it is.
    """

    run: str
    message: Utterance
    conversation: str | None
    waits: bool = False


class Chat(Struct, frozen=True):
    """A message to be answered, with the id that it gets and the future of its answer.

    `resumes` is the message itself if an earlier attempt stored it without a reply. `place` is None for the default
    conversation; `begun` and `progress` take what can be told before the answer.
    """

    message_id: str
    user_name: str
    content: str
    answer: AsyncFuture[ChatSent]
    progress: Progress | None
    memories: tuple[Memory, ...] = ()
    receipt: Receipt | None = None
    resumes: Utterance | None = None
    place: ChatPlace | None = None
    key: RunKey | None = None
    options: EngineOptions | None = None
    begun: Callable[[RunBegun], None] | None = None
    with_tools: bool = True

    def fail_once(self, saved: AsyncFuture[None], error: ServiceError, conversation: "Conversation") -> None:
        """Fail the chat once the user's message is saved, because the error says that the message is kept."""
        if conversation.kept:
            error.of_run(run_of(self.message_id), conversation.name)
        saved.then(lambda done: self.answer.fail(done.error or error))

    def beside_message(self, conversation: "Conversation", at: int) -> list[Write]:
        """Make the writes stored with the user's message: its key, and the client's id of the conversation."""
        place, key = self.place, self.key
        writes: list[Write] = []
        assert conversation.id is not None
        if key is not None:
            writes.append(run_keys.remember(key.digest, self.message_id, conversation.id, key.fingerprint, at))
            writes += [run_keys.name(name, self.message_id, conversation.id) for name in key.names]
            if key.shown:
                writes.append(run_keys.show(key.shown, self.message_id, conversation.id))
        if place is not None and place.binds is not None:
            writes.append(conversations.bind(conversation.user_id, conversation.agent_id, place.binds, conversation.id))
        return writes

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
    id: str | None = None,
    mark: Literal["cancelled", "imported"] | None = None,
) -> Utterance:
    """Make a message, with a new id unless it has one.

    A new id is `near` the key of the actor that keeps the message: the agent in a private chat, the domain in its
    zones. So the id names that actor's shard, whoever sent the message.
    """
    return Utterance(id or new_id("msg", near), role, name, content, seq, at, sources, mark)


@dataclass(slots=True, weakref_slot=True)
class Conversation:
    """The state of one conversation while it is in use.

    `key` names it among the agent's conversations in memory: the user's id for the default one, the number for another.
    `id` is its number, None until the default one is begun; `last_seq` counts its messages. One chat is answered at a
    time: while the conversation is not `loaded` or an engine is `at_work`, others wait in order. It is not `loaded`
    either while the store may refuse its newest reply. Nothing of one that is not `kept` is stored. `begins` is how a
    new one begins, until that is stored. `copy_of` is set while it is a copy, with messages, that its next unit shows.
    """

    user_id: str
    agent_id: str
    key: str | int
    window: Window = field(default_factory=partial(Window, keeps_left=True, a_turn=A_PRIVATE_TURN))
    archive: Archive[int] | None = None
    id: int | None = None
    name: str = ""
    last_seq: int = 0
    loaded: bool = False
    stored: bool = False
    kept: bool = True
    begins: Beginning | None = None
    copy_of: int | None = None
    imported: tuple[Utterance, ...] = ()
    at_work: Chat | None = None
    open_units: int = 0
    waiting: tuple[Chat, ...] = ()

    @classmethod
    def beginning(cls, user_id: str, user_name: str, agent: AgentRow, place: ChatPlace, at: int) -> "Conversation":
        """Make a new conversation that is not the default; its first unit stores the messages it begins with."""
        begins = place.begins
        assert begins is not None
        new = cls(user_id, agent.id, place.number, loaded=True, kept=place.kept, begins=begins)
        new.number_as(place.number)
        new.imported = tuple(
            [
                new_message(agent.id, role, user_name if role == "user" else agent.name, text, seq, at, mark="imported")
                for seq, (role, text) in enumerate(begins.earlier, 1)
            ]
        )
        for message in new.imported:
            new.window.append(message)
        new.last_seq = len(new.imported)
        return new

    def number_as(self, number: int) -> None:
        """Set its number, and so the id that clients see."""
        self.id = number
        self.name = conversation_id(number, self.agent_id)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is under way, so that it may be dropped and read from the store again later."""
        return self.loaded and not self.at_work and not self.open_units and not self.waiting

    @property
    def to_import(self) -> int:
        """The number of imported or copied messages that its next unit stores or shows."""
        if self.copy_of is not None:
            return self.last_seq
        return 0 if self.stored else len(self.imported)

    def take(self, store: Store, id: int, last_seq: int, newest: Newest) -> None:
        """Take what the store has of the conversation."""
        self.number_as(id)
        self.last_seq, self.stored = last_seq, True
        for message in newest.messages:
            self.window.append(message)
        self.archive = Archive(store, CONVERSATION, id, self.window, newest.collection)

    def add(self, messages: tuple[Utterance, ...], *, answers: int | None = None) -> list[Write]:
        """Add messages in memory, and make the writes of the unit that stores them.

        `answers` is the seq of the user's message that the last one is the reply to, if it does not stand before it.
        """
        self.open_units += 1
        window, id = self.window, self.id
        assert id is not None
        for message in messages:
            window.append(message)
        if messages:
            self.last_seq = messages[-1].seq
        if not self.kept:
            return []
        writes = [append(id, message) for message in messages]
        if answers is not None:
            writes[-1] = append(id, messages[-1], answers)
        if self.copy_of is not None:
            self.copy_of = None
            return [conversation_copies.finish(id), *writes]
        if self.stored:
            return writes
        self.stored = True
        begins = self.begins
        if begins is None:
            return [conversations.begin(id, self.user_id, self.agent_id), *writes]
        self.begins = None
        opening, cut, scope = begins.opening, begins.cut, begins.scope
        begun = conversations.begin_other(id, self.user_id, self.agent_id, opening=opening, cut=cut, scope=scope)
        given = zip(begins.names, self.imported, strict=False)
        names = [run_keys.name(name, message.id, id) for name, message in given if name]
        notes = [quotes.quote_imported(memory, id, place + 1, REDACTED) for place, memory in begins.quoted]
        return [begun, *[append(id, message) for message in self.imported], *chain(*notes), *names, *writes]

    def unit_stored(self) -> None:
        """Note that one of its units is stored."""
        self.open_units -= 1
        if self.archive is not None:
            self.archive.tend()

    def older(self, store: Store, *, streams: bool) -> Archive[int] | None:
        """Return what searches the whole conversation, if there is more than an instant engine has in the window."""
        archive = self.archive
        if archive is None:
            if not self.stored or self.id is None:
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
            "conversation": self.name or None,
            "last_seq": self.last_seq,
            "remembered": len(self.window),
            "waiting": len(self.waiting),
            "engine_at_work": self.at_work is not None,
        }
