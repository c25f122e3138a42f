# Made by `make client` from parley_client/_async: don't edit.
"""Streams that go on by themselves where a connection is lost."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2

from parley_client._decoding import decode
from parley_client._events import EventReader, ServerSentEvent
from parley_client._repeating import Call
from parley_client._sync.transport import Transport
from parley_client.answers import ChatDelta, ChatDone, ZoneMembership, ZoneMessage, answer_of
from parley_client.errors import UnexpectedAnswer, refused
from parley_client.records import Membership, Message

SILENCE_S = 45.0
"""Seconds after which a stream with heartbeats counts as lost; the gateway sends one every 15."""

RESUMABLE_ENDS = frozenset({"too slow", "gateway stops"})
"""Reasons of an end after which the stream goes on in another connection."""


class ChatStream:
    """A chat whose reply is yielded while it is written.

    It is sent when it is iterated: `ChatDelta` pieces, then one `ChatDone`. Where the connection is lost it goes on
    after the last piece; nothing is missed and nothing comes twice. `run` is the chat's run once it is known; None in
    zones.
    """

    def __init__(self, transport: Transport, call: Call, events_of: Callable[[str], Call]) -> None:
        self._transport = transport
        self._call = call
        self._events_of = events_of
        self._length = 0
        self.run: str | None = None

    def text(self) -> Iterator[str]:
        """Yield only the text of the pieces."""
        for event in self:
            if isinstance(event, ChatDelta):
                yield event.text

    def __iter__(self) -> Iterator[ChatDelta | ChatDone]:
        tries = 0
        while True:
            before = self._length
            try:
                with self._transport.open(self._next_call()) as response:
                    self.run = response.headers.get("X-Run-Id") or self.run
                    for event in _events(response):
                        made = self._made(event, response)
                        if made is not None:
                            yield made
                        if isinstance(made, ChatDone):
                            return
                lost: httpx2.HTTPError = httpx2.RemoteProtocolError("the stream ended before the reply did")
            except httpx2.HTTPError as raised:
                lost = raised
            tries = 1 if self._length > before else tries + 1
            self._transport.wait_after_loss(self._call, tries, lost)

    def _next_call(self) -> Call:
        """Return the run's events after the last piece, or the chat itself under the same key."""
        if self.run is None:
            return self._call
        call = self._events_of(self.run)
        headers = {**call.headers, "Last-Event-ID": str(self._length)}
        return replace(call, headers=headers, timeout=SILENCE_S)

    def _made(self, event: ServerSentEvent, response: httpx2.Response) -> ChatDelta | ChatDone | None:
        data: Any = json.loads(event.data)
        if event.type == "error":
            raise refused(data, response.headers.get("X-Request-Id"))
        if event.type == "response":
            answer = answer_of(data, response.headers)
            return ChatDone(answer.item(Message), answer.item(Message, 1))
        if event.type != "delta":  # of a later gateway
            return None
        text = str(data["text"])
        if not event.id:  # a chat in a zone, whose kept reply comes as a whole
            text = text[self._length :] if "Idempotency-Replayed" in response.headers else text
            self._length += len(text)
            return ChatDelta(text, "") if text else None
        new = int(event.id) - self._length
        self._length = max(self._length, int(event.id))
        return ChatDelta(text[-new:], event.id) if new > 0 else None


class ZoneStream:
    """A followed zone: its messages and its domain's changes of membership, as they happen.

    It begins when it is iterated, now or after the event `after`, and goes on by itself after each cut: nothing is
    missed and nothing comes twice. It ends where the gateway ends it for good; `reason` tells why. `position` is the
    id of the last event, from which a later stream goes on.
    """

    def __init__(self, transport: Transport, call: Call, after: str | None) -> None:
        self._transport = transport
        self._call = replace(call, timeout=SILENCE_S)
        self.position = after
        self.reason: str | None = None

    def __iter__(self) -> Iterator[ZoneMessage | ZoneMembership]:
        tries = 0
        while True:
            tries += 1
            begun = {} if self.position is None else {"Last-Event-ID": self.position}
            call = replace(self._call, headers={**self._call.headers, **begun})
            try:
                with self._transport.open(call) as response:
                    reader = EventReader(self.position or "")
                    for piece in response.iter_bytes():
                        events = reader.feed(piece)
                        tries = 0
                        for event in events:
                            if self._is_end(event):
                                break
                            self.position = event.id
                            yield _of_zone(event)
                        self.position = reader.last_id or self.position
                        if self.reason is not None:
                            break
                if self.reason is not None:
                    return
                lost: httpx2.HTTPError = httpx2.RemoteProtocolError("the stream ended")
            except httpx2.HTTPError as raised:
                lost = raised
            self._transport.wait_after_loss(self._call, max(tries, 1), lost)

    def _is_end(self, event: ServerSentEvent) -> bool:
        if event.type != "end":
            return False
        reason = str(json.loads(event.data)["reason"])
        self.reason = None if reason in RESUMABLE_ENDS else reason
        return True


def _of_zone(event: ServerSentEvent) -> ZoneMessage | ZoneMembership:
    data: Any = json.loads(event.data)
    if data["type"] == "message":
        return ZoneMessage(decode(Message, data["message"]), event.id)
    if data["type"] == "membership":
        return ZoneMembership(decode(Membership, data["membership"]), event.id)
    raise UnexpectedAnswer(f"the zone's stream has an event of an unknown type: {data['type']}")


def _events(response: httpx2.Response) -> Iterator[ServerSentEvent]:
    reader = EventReader()
    for piece in response.iter_bytes():
        for event in reader.feed(piece):
            yield event
