# Made by `make client` from parley_client/_async: don't edit.
"""Streams that go on by themselves where a connection is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx2

from parley_client._decoding import decode
from parley_client._events import EventReader, ServerSentEvent
from parley_client._repeating import Call
from parley_client._sync.closing import Closable
from parley_client._sync.following import SILENCE_S, Followed
from parley_client._sync.transport import Passing, Transport, Trouble, may_be_done
from parley_client.answers import ChatDelta, ChatDone, ZoneMembership, ZoneMessage, answer_of
from parley_client.errors import UnexpectedAnswer, is_status, refused
from parley_client.records import Membership, Message

CUT_OFF = 5003
"""The code of a run that was lost with its gateway before its reply was stored."""


class ChatStream(Closable):
    """A chat whose reply is yielded while it is written.

    It is sent when it is iterated: `ChatDelta` pieces, then one `ChatDone`. Where the connection is lost it goes on
    after the last piece; nothing is missed and nothing comes twice. Only where its gateway dies, a reply may be lost
    before it is stored; the chat is sent again under its key, and the first piece of a reply that differs from what has
    come is `anew`. `run` is the chat's run once it is known; None in zones.
    """

    def __init__(self, transport: Transport, call: Call, events_of: Callable[[str], Call]) -> None:
        super().__init__()
        self._transport = transport
        self._call = call
        self._events_of = events_of
        self._length = 0
        self._said = ""
        self._place = 0
        self._is_followed = False
        self.run: str | None = None

    def text(self) -> Iterator[str]:
        """Yield only the text of the pieces.

        Where a reply was lost with its gateway and begins anew, the text of the first one is followed by the whole of
        the second; the stream itself tells them apart, because `ChatDelta.anew` is true where the second begins.
        """
        for event in self:
            if isinstance(event, ChatDelta):
                yield event.text

    def __iter__(self) -> Iterator[ChatDelta | ChatDone]:
        tries, reached = 0, False
        while not self._line.is_closed:
            before = self._length
            call = self._next_call()
            self._place = 0
            trouble: Trouble = httpx2.RemoteProtocolError("the stream ended before the reply did")
            try:
                with self._transport.open(call, self._line) as response:
                    self._is_followed = True
                    self.run = response.headers.get("X-Run-Id") or self.run
                    for event in _events(response):
                        made = self._made(event, response)
                        if made is not None:
                            yield made
                        if isinstance(made, ChatDone) or self._line.is_closed:
                            return
            except (httpx2.HTTPError, Passing) as raised:
                trouble = raised
                if isinstance(raised, Passing):  # a refusal, of a message that is kept
                    self.run = raised.response.headers.get("X-Run-Id") or self.run
            if self._line.is_closed:
                return
            tries = 1 if self._length > before else tries + 1
            reached |= may_be_done(trouble)
            self._transport.pause(call, tries, trouble, line=self._line, reached=reached)

    def _next_call(self) -> Call:
        """Return the run's events after the last piece, or the chat itself under the same key."""
        if self.run is None or not self._is_followed:
            return self._call
        call = self._events_of(self.run)
        headers = {**call.headers, "Last-Event-ID": str(self._length)}
        return replace(call, headers=headers, timeout=SILENCE_S)

    def _made(self, event: ServerSentEvent, response: httpx2.Response) -> ChatDelta | ChatDone | None:
        if event.type not in ("delta", "response", "error"):  # of a later gateway
            return None
        data = event.members()
        if event.type == "error":
            if not is_status(data):
                raise UnexpectedAnswer("an error of the stream has no code: is this a gateway's address?")
            error = refused(data, response.headers.get("X-Request-Id"))
            may_go_on = event.id.isdigit()  # it is no last event
            if self.run is not None and not may_go_on:  # the chat, sent again, goes on with the message of its run
                self._is_followed, self._length = False, 0
            if self.run is not None and (may_go_on or error.code == CUT_OFF):
                raise Passing(error, response)
            raise error
        if event.type == "response":
            answer = answer_of(data, response.headers)
            return ChatDone(answer.item(Message), answer.item(Message, 1))
        text = str(data["text"])
        if event.id:
            self._place = _number_of(event) - len(text)
        made = self._new_of(text, event.id)
        self._length = _number_of(event) if event.id else len(self._said)
        return made

    def _new_of(self, text: str, event_id: str) -> ChatDelta | None:
        """Return what is new in a piece: a chat in a zone, or one sent again, begins from its start."""
        known = self._said[self._place : self._place + len(text)]
        if text.startswith(known):
            text, anew = text[len(known) :], False
            self._place += len(known)
        else:  # the first reply was lost with its gateway, and this is another one
            text, anew = self._said[: self._place] + text, True
            self._said, self._place = "", 0
        self._said += text
        self._place += len(text)
        return ChatDelta(text, event_id, anew) if text else None


def _number_of(event: ServerSentEvent) -> int:
    """Return the number of characters up to the end of a piece, which is its id."""
    try:
        return int(event.id)
    except ValueError:
        raise UnexpectedAnswer(
            "a piece of the reply has an id that is no number: is this a gateway's address?"
        ) from None


class ZoneStream(Followed):
    """A followed zone: its messages and its domain's changes of membership, as they happen.

    It begins when it is iterated, now or after the event `after`, and goes on by itself after each cut: nothing is
    missed and nothing comes twice. It ends where the gateway ends it for good; `reason` tells why. `position` is the
    id of the last event, from which a later stream goes on. `on_loss` is called before each pause after a cut, with
    the error and the seconds until the next try.
    """

    def __iter__(self) -> Iterator[ZoneMessage | ZoneMembership]:
        for event in self._follow():
            made = _of_zone(event)
            if made is not None:
                yield made


def _of_zone(event: ServerSentEvent) -> ZoneMessage | ZoneMembership | None:
    if event.type != "message":  # of a later gateway
        return None
    data = event.members()
    if data["type"] == "message":
        return ZoneMessage(decode(Message, data["message"]), event.id)
    if data["type"] == "membership":
        return ZoneMembership(decode(Membership, data["membership"]), event.id)
    return None


def _events(response: httpx2.Response) -> Iterator[ServerSentEvent]:
    reader = EventReader()
    for piece in response.iter_bytes():
        for event in reader.feed(piece):
            yield event
