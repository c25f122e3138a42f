"""Answers as server-sent events: their head, positions to go on from, and a comment after each silence."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from sanic import Request

from actors.calls.admission import count_stored
from actors.calls.call import Call
from routes.http.answers import quota_headers

EVENT_STREAM = "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers of event streams: no cache stores them, and nginx passes each event on at once."""

STILL_HERE = b": still here\n\n"
"""The comment that is sent on a silent stream, so that neither end takes the connection for dead."""

SILENT_S = 15.0
"""Seconds of silence after which a stream gets a comment, because proxies cut off idle connections."""

SLOW_S = 60.0
"""Seconds after which a stream is cut off if its reader takes nothing."""

ZONE_POSITION = re.compile(r"[0-9]{1,18}")
"""The form of the ids in a zone's stream."""

EVENT_POSITION = re.compile(r"[0-9]{1,18}\.[0-9]{1,15}")
"""The form of the ids in a stream of own events."""


async def begin_events(
    request: Request, call: Call, more: dict[str, str] | None = None, *, endless: bool = True
) -> Any:
    """Send the head of an event stream; return Sanic's untyped response, which takes the events."""
    await count_stored(call)
    if endless:
        call.begins_stream()
    untyped: Any = request
    headers = {"X-Request-Id": call.request_id} | STREAM_HEADERS | quota_headers(call) | (more or {})
    return await untyped.respond(content_type=EVENT_STREAM, headers=headers)


def is_taken_up_again(last_event_id: str | None, position: re.Pattern[str]) -> bool:
    """Return whether a stream goes on where another ended, so that the request for it isn't counted.

    One from the very beginning is counted, because that can be named without having had a stream.
    """
    return last_event_id is not None and bool(position.fullmatch(last_event_id) and last_event_id.strip("0."))


class Silence:
    """Calls `broken` after each `seconds` in which nothing was `heard`, from `begin` until `end`.

    Args:
        broken: sends a sign of life.
        seconds: the time of silence; `SILENT_S` if absent.
    """

    __slots__ = ("_broken", "_heard_at", "_seconds", "_timer")

    def __init__(self, broken: Callable[[], None], seconds: float | None = None) -> None:
        self._broken = broken
        self._seconds = SILENT_S if seconds is None else seconds
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin to listen, unless it has begun."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._heard_at = loop.time()
            self._timer = loop.call_later(self._seconds, self._look)

    def heard(self) -> None:
        """Note that something was sent."""
        self._heard_at = asyncio.get_running_loop().time()

    def end(self) -> None:
        """Stop listening."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._heard_at + self._seconds:
            self._heard_at = loop.time()
            self._broken()
        self._timer = loop.call_at(self._heard_at + self._seconds, self._look)
