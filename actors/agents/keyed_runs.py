"""The chats of one agent by the keys under which clients may ask for them again."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from msgspec import structs

from actors.agents.messages import RanBefore, UnstoredAnswer
from actors.agents.remembered import Remembered
from actors.conversations.conversation import Chat, ChatSent
from actors.conversations.place import RunKey
from actors.ids import Clock
from actors.runtime.future import AsyncFuture

MAX_ENDED = 4_096
"""Keys of ended chats that are remembered, for repeats that looked in the store just before the end."""

JUST_ENDED_MS = 600_000
"""How long an ended chat is remembered; more than a repeat takes from its look in the store to here."""


class _Ended(NamedTuple):
    """A chat that was answered: the user's message, the request's digest, the time in ms since the epoch."""

    message_id: str
    fingerprint: str
    at: int


class KeyedRuns:
    """Lets a repeat join the chat of its key while that is under way, and tells it of one that has just ended."""

    __slots__ = ("_clock", "_ended", "_under_way", "_unstored")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: dict[str, Chat] = {}
        self._ended: OrderedDict[str, _Ended] = OrderedDict()
        # the answers of ended chats without a conversation, because the store has none of them
        self._unstored = Remembered[UnstoredAnswer](clock, JUST_ENDED_MS)

    def join(self, user_id: str, key: RunKey) -> Chat | RanBefore | None:
        """Return the chat under way that has this key, or where to find it; None if none has it."""
        if key.latest:
            return None
        chat = self._under_way.get(key.digest)
        if chat is not None and chat.key is not None:
            if chat.key.fingerprint == key.fingerprint:
                return chat
            return RanBefore(chat.message_id, other_request=True)
        ended = self._ended.get(key.digest)
        if ended is None or ended.at < self._clock() - JUST_ENDED_MS:
            return None
        other_request = ended.fingerprint != key.fingerprint
        return RanBefore(
            ended.message_id, other_request, None if other_request else self._unstored.get(user_id, key.digest)
        )

    def begin(self, user_id: str, key: RunKey, chat: Chat) -> None:
        """Note a chat under its key until it is answered, and for a while after a success."""
        digest = key.digest
        self._under_way[digest] = chat
        self._ended.pop(digest, None)
        self._unstored.forget(user_id, digest)
        self._forget_old()

        def ended(answer: AsyncFuture[ChatSent]) -> None:
            if self._under_way.get(digest) is not chat:
                return
            del self._under_way[digest]
            if answer.error is None:
                self._ended[digest] = _Ended(chat.message_id, key.fingerprint, self._clock())
                if chat.place is not None and not chat.place.kept:
                    self._unstored.add(user_id, digest, _unstored(chat, answer.get()))
                self._forget_old()

        chat.answer.then(ended)

    def _forget_old(self) -> None:
        """Forget the oldest chat beyond the limit."""
        if len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)


def _unstored(chat: Chat, sent: ChatSent) -> UnstoredAnswer:
    """Return an answer, without what was said, and the memories whose words it may repeat."""
    read = () if sent.outcome is None else sent.outcome.positions
    positions = {*[memory.position for memory in chat.memories], *read}
    return UnstoredAnswer(structs.replace(sent, message=structs.replace(sent.message, content="")), tuple(positions))
