"""The conversations of one agent that are in memory: found, loaded from the store, and dropped when they rest."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from itertools import count, islice
from typing import Any
from weakref import WeakValueDictionary

from actors.agents.messages import SendChat
from actors.conversations.conversation import Chat, Conversation
from actors.conversations.host import ChatHost
from actors.conversations.loading import read_or_error
from actors.conversations.place import Binding
from actors.conversations.reading import CONVERSATION, Newest, read_window
from actors.engines.answering import EngineRunner
from actors.errors import ServiceError
from actors.ids import Clock
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from persistence import conversations
from persistence.agents import AgentRow

WARM_CONVERSATIONS = 256
"""Conversations that one agent keeps in memory, unless more are in use; others are read from the store."""

_AT_ONCE = 16  # idle conversations that are dropped together, so that few new ones have to look for them

_states = count(1)

log = logging.getLogger("parley.agent")


class ConversationLoaded(OwnTell, frozen=True):
    """A conversation was read from the store; `error` where it could not be.

    The same is told once the store has taken a reply that it may refuse. `CensoredMeanwhile` means that it did not.
    """

    conversation: Conversation
    stored: tuple[int, int] | None = None
    newest: Newest | None = None
    error: ServiceError | None = None


class ConversationsInUse:
    """Holds conversations by their keys, the last used last."""

    __slots__ = ("_as_bound", "_bound", "_by_key", "_clock", "_engine", "_erased", "_erasing", "_host", "_stored")

    def __init__(self, host: ChatHost, engine: EngineRunner, clock: Clock) -> None:
        self._host = host
        self._engine = engine
        self._clock = clock
        self._by_key: dict[str | int, Conversation] = {}
        self._bound = WeakValueDictionary[tuple[str, str], Conversation]()  # by the ids of users and clients
        self._erased = set[int]()
        self._erasing = 0  # units of erasures that are not settled
        self._stored: AsyncFuture[None] | None = None  # resolves with the units of conversations that are read anew
        self._as_bound = next(_states)  # changes when a client's own id is bound or freed; no other actor has it

    def of(self, agent: AgentRow, message: SendChat) -> Conversation:
        """Find the conversation of a chat, or begin it, or begin to load it."""
        place = message.place
        key = message.viewer_id if place is None or place.is_default else place.number
        known = self._by_key.pop(key, None)
        if known is not None:
            self._by_key[key] = known  # last used, last in the dict
            self._remember_binding(message, known)
            return known
        if place is not None and place.begins is not None:
            bound = None if place.binds is None else self._bound_to(message.viewer_id, place.binds)
            if bound is not None:
                return bound  # another chat has just begun it
            conversation = Conversation.beginning(message.viewer_id, message.user_name, agent, place, self._clock())
        else:
            copy_of = None if place is None else place.copy_of
            conversation = Conversation(message.viewer_id, self._host.key, key, copy_of=copy_of)
            self._engine.in_background(self._load(conversation))
        if len(self._by_key) >= WARM_CONVERSATIONS:
            self._drop_resting()  # before the new one, which rests until its chat begins
        self._by_key[key] = conversation
        if place is not None and place.binds is not None:
            self._bound[message.viewer_id, place.binds] = conversation
            self._as_bound = next(_states)
        self._remember_binding(message, conversation)
        return conversation

    def _remember_binding(self, message: SendChat, conversation: Conversation) -> None:
        """Remember a client's own id that was read from the store, unless it may have been bound anew since."""
        bound_to = message.place and message.place.bound_to
        if bound_to is not None and bound_to[1] == self._as_bound:
            self._bound[message.viewer_id, bound_to[0]] = conversation

    def binding(self, user_id: str, client_id: str) -> Binding:
        """Return what is known of a client's own id of a conversation."""
        known = self._bound_to(user_id, client_id)
        if known is None:
            return Binding(asked=self._as_bound)
        return Binding(known.id) if known.stored and known.loaded and known.copy_of is None else Binding()

    def _bound_to(self, user_id: str, client_id: str) -> Conversation | None:
        """Find the conversation in memory that was last bound to a client's own id, even if that is not stored yet."""
        known = self._bound.get((user_id, client_id))
        return known if known is not None and self.holds(known) else None

    def holds(self, conversation: Conversation) -> bool:
        """Return whether a conversation is still in use; nothing of one that was dropped may be stored."""
        return self._by_key.get(conversation.key) is conversation

    def drop(self, conversation: Conversation) -> list[Chat]:
        """Drop a conversation, and return the chats that were under way in it."""
        self.discard(conversation)
        return conversation.under_way()

    def discard(self, conversation: Conversation) -> None:
        """Drop a conversation in which no chat is under way."""
        self._by_key.pop(conversation.key, None)

    def erase(self, number: int, key: str | int, ended: AsyncFuture[None]) -> Conversation | None:
        """Drop a conversation that is being erased, and return it; nothing that was read of it counts any more.

        `ended` resolves when its unit is settled.
        """
        self._erased.add(number)
        self._erasing += 1
        ended.then(self._erasure_ended)
        self._as_bound = next(_states)
        conversation = self._by_key.get(key)
        if conversation is None or ((conversation.loaded or conversation.id) and conversation.id != number):
            return None
        return self._by_key.pop(key)

    def _erasure_ended(self, _: object) -> None:
        """Forget the numbers of erased conversations, unless one is being loaded, which may have been read before."""
        self._erasing -= 1
        if not self._erasing and all(known.loaded for known in self._by_key.values()):
            self._erased.clear()

    def that_may_be(self, numbers: Collection[int]) -> list[Conversation]:
        """Return the conversations in memory that have these numbers, or may turn out to have them."""
        return [
            known
            for known in self._by_key.values()
            if (known.key if known.id is None else known.id) in numbers or (known.id is None and not known.loaded)
        ]

    def reload(self, conversation: Conversation) -> None:
        """Drop a conversation, which is read anew once its units are stored; chats that wait for their turn stay."""
        stored = self._stored = AsyncFuture[None]()
        all_stored: AsyncFuture[None] = AsyncFuture()
        self._host.defer(all_stored, None)
        all_stored.then(lambda _: stored.set())
        del self._by_key[conversation.key]
        if conversation.waiting:
            user_id, key = conversation.user_id, conversation.key
            anew = Conversation(
                user_id, self._host.key, key, copy_of=conversation.copy_of, waiting=conversation.waiting
            )
            self._by_key[key] = anew
            self._engine.in_background(self._load(anew))

    def copies_of(self, number: int) -> list[Conversation]:
        """Return the copies of a conversation that nobody sees yet, and which are erased with it."""
        return [known for known in self._by_key.values() if known.copy_of == number]

    def still_stored(self, message: ConversationLoaded) -> tuple[int, int] | None:
        """Return number and last seq of a conversation that was read, unless it was erased meanwhile."""
        stored = message.stored
        return None if stored is None or stored[0] in self._erased else stored

    def found(self, key: str | int) -> Conversation | None:
        """Return a conversation that is in memory."""
        return self._by_key.get(key)

    def all_of(self, user_id: str) -> list[Conversation]:
        """List a user's conversations that are in memory."""
        return [known for known in self._by_key.values() if known.user_id == user_id]

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._by_key.values())

    def under_way(self, message_id: str) -> tuple[Conversation, Chat] | None:
        """Find the chat that is under way for a user's message."""
        for conversation in self._by_key.values():
            for chat in conversation.under_way():
                if chat.message_id == message_id:
                    return conversation, chat
        return None

    def _drop_resting(self) -> None:
        """Drop idle conversations for which there is no room, and a few more, those unused for longest first."""
        excess = len(self._by_key) - WARM_CONVERSATIONS
        resting = (key for key, known in self._by_key.items() if known.at_rest)
        for key in list(islice(resting, excess + _AT_ONCE)):  # which ends at the first that rest
            del self._by_key[key]

    async def _load(self, conversation: Conversation) -> None:
        if self._stored is not None:
            await self._stored
        found = await read_or_error("conversation", self._read(conversation), self._host.actor_urn, log)
        if isinstance(found, ServiceError):
            self._host.tell_self(ConversationLoaded(conversation, error=found))
        else:
            self._host.tell_self(ConversationLoaded(conversation, *found))

    async def _read(self, conversation: Conversation) -> tuple[tuple[int, int] | None, Newest | None]:
        for stored in await self._host.store.fetch(_stored(conversation)):
            return stored, await read_window(self._host.store, CONVERSATION, *stored)
        return None, None

    def snapshot(self) -> list[dict[str, Any]]:
        """Show the conversations in memory, without their texts."""
        return [conversation.snapshot() for conversation in self._by_key.values()]


def _stored(conversation: Conversation) -> Any:
    """Return the query for a conversation's number and last seq."""
    if isinstance(conversation.key, str):
        return conversations.between(conversation.agent_id, conversation.user_id)
    key, copy_of = conversation.key, conversation.copy_of
    return conversations.numbered(key, conversation.agent_id, conversation.user_id, copy_of)
