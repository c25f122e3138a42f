"""The base of streams without end, which go on by themselves where a connection is lost."""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import httpx2

from parley_client._async.closing import AsyncClosable
from parley_client._async.transport import AsyncTransport, Passing, Trouble, may_be_done
from parley_client._events import EventReader, ServerSentEvent
from parley_client._repeating import FOREVER, Call
from parley_client.errors import ParleyError

SILENCE_S = 45.0
"""Seconds after which a stream with heartbeats counts as lost; the gateway sends one every 15."""

STEADY_S = 5.0
"""Seconds after which a connection counts as sound, also without an event; the pause after it is short again."""

RESUMABLE_ENDS = frozenset({"too slow", "gateway stops"})
"""Reasons of an end after which the stream goes on in another connection."""


class AsyncFollowed(AsyncClosable):
    """A stream that has no end of its own.

    It begins when it is iterated, now or after the event `after`. Up to its beginning it is tried as any call. Once it
    has begun, it goes on after each cut until the gateway ends it for good, with pauses that grow to 30 seconds; where
    events have ids, nothing is missed and nothing comes twice.
    """

    def __init__(self, transport: AsyncTransport, call: Call, after: str | None = None) -> None:
        super().__init__()
        self._transport = transport
        self._call = replace(call, timeout=SILENCE_S)
        self._has_begun = False
        self._tries = 0
        self.position = after
        """The id of the last event, after which a later stream goes on."""
        self.reason: str | None = None
        """Why the gateway has ended the stream for good."""
        self.on_loss: Callable[[ParleyError, float], None] | None = None
        """Is called before each pause, with the error and the seconds until the next try."""

    async def _follow(self) -> AsyncIterator[ServerSentEvent]:
        """Yield the events; `position` is that of the one that was yielded last."""
        self._has_begun, self._tries, self.reason = False, 0, None
        while not self._line.is_closed:
            self._tries += 1
            call = self._next_call()
            trouble: Trouble = httpx2.RemoteProtocolError("the stream ended")
            try:
                async with self._transport.open(call, self._line) as response:
                    self._has_begun = True
                    async for event in self._read(response):
                        if event.type == "end":
                            self.reason = _final(str(event.members()["reason"]))
                            break
                        yield event
                        if self._line.is_closed:
                            return
            except (httpx2.HTTPError, Passing) as raised:
                trouble = raised
            if self.reason is not None or self._line.is_closed:
                return
            repeats, reached = FOREVER if self._has_begun else None, may_be_done(trouble)
            await self._transport.pause(call, self._tries, trouble, repeats, self.on_loss, self._line, reached=reached)

    async def _read(self, response: httpx2.Response) -> AsyncIterator[ServerSentEvent]:
        reader, began = EventReader(self.position or ""), time.monotonic()
        async for piece in response.aiter_bytes():
            if time.monotonic() - began > STEADY_S:
                self._tries = 1
            for event in reader.feed(piece):
                if event.type == "message":  # others come with each connection
                    self._tries = 1
                self.position = event.id or None
                yield event
            self.position = reader.last_id or self.position

    def _next_call(self) -> Call:
        """Return the call that goes on after the last event."""
        if self.position is None:
            return self._call
        return replace(self._call, headers={**self._call.headers, "Last-Event-ID": self.position})


def _final(reason: str) -> str | None:
    """Return the reason of an end, None for one after which another connection goes on."""
    return None if reason in RESUMABLE_ENDS else reason
