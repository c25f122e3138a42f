"""The chats that wait behind others in their conversations; the store has nothing of them until their turn comes."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Callable
from typing import NamedTuple

from actors.agents.host import AgentHost
from actors.agents.messages import HistoryMoved, no_such_conversation
from actors.agents.runs_under_way import RunsUnderWay, RunUnderWay
from actors.conversations.conversation import Chat, Conversation, RunBegun, new_message
from actors.conversations.ids import run_of
from actors.conversations.place import ChatPlace
from actors.errors import ServiceError
from actors.ids import Clock


class WaitingRun(NamedTuple):
    """A run that waits for its turn, as clients were told; `shown` is the client's own id of the message, or empty."""

    user_id: str
    agent_id: str
    told: RunBegun
    shown: str
    run: RunUnderWay


RunsWaiting = dict[str, WaitingRun]
"""The runs of a node's agents that have waited for their turn and are not answered, by the ids of their messages."""


class WaitingChats:
    """Lets the chats of one agent wait, and tells their clients so, because the turn may come minutes later."""

    __slots__ = ("_clock", "_host", "_runs", "_waiting")

    def __init__(self, host: AgentHost, runs: RunsUnderWay, waiting: RunsWaiting, clock: Clock) -> None:
        self._host, self._runs, self._waiting, self._clock = host, runs, waiting, clock

    def add(self, conversation: Conversation, chat: Chat) -> None:
        """Let a chat wait in a conversation in which another one is at work, or which is being loaded."""
        conversation.waiting += (chat,)
        self._runs.of(conversation.user_id, chat)
        if conversation.loaded:
            self.tell(conversation)

    def tell(self, conversation: Conversation) -> None:
        """Tell the clients whose chats wait behind others; fail a chat that can't go on there any more."""
        for chat in conversation.waiting:
            refused = chat.place and refusal_at(conversation, chat.place)
            if refused is not None:
                conversation.waiting = tuple([other for other in conversation.waiting if other is not chat])
                self._host.defer(chat.answer, None, refused)
            elif chat.message_id not in self._waiting and (chat.place is None or chat.place.last_seq is None):
                self._note(conversation, chat)  # one that may only follow a certain message may yet go elsewhere

    def _note(self, conversation: Conversation, chat: Chat) -> None:
        id, user_id = chat.message_id, conversation.user_id
        said = chat.resumes or new_message(
            self._host.key, "user", chat.user_name, chat.content, 0, self._clock(), id=id
        )
        told = RunBegun(run_of(id), said, conversation.name, waits=True)
        shown = "" if chat.key is None else chat.key.shown
        self._waiting[id] = WaitingRun(user_id, self._host.key, told, shown, self._runs.of(user_id, chat))

        def answered(_: object) -> None:
            self._waiting.pop(id, None)

        chat.answer.then(answered)
        if chat.begun is not None:
            chat.begun(told)

    def join(self, chat: Chat, begun: Callable[[RunBegun], None] | None) -> None:
        """Tell a client whose request joins a chat that has waited."""
        waiting = self._waiting.get(chat.message_id)
        if waiting is not None and begun is not None:
            begun(waiting.told)


def refusal_at(conversation: Conversation, place: ChatPlace) -> ServiceError | None:
    """Return why a chat may not go on in a conversation as it is now; None if it may."""
    if place.is_default and conversation.id != place.number:  # another one is the default by now
        return no_such_conversation()
    if place.last_seq not in (None, conversation.last_seq):
        return HistoryMoved("The conversation has gone on meanwhile; read it again.")
    return None
