"""The HTTP client of the model's server, which may send anything: it bounds what it takes.

Its bytes are bounded and handled in small steps, redirects are not followed, and nothing is unpacked. Proxies and
certificates of the environment count, as httpx2 takes them.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

import httpx2

from actors.egress.bounded_stream import BoundedBackend
from actors.egress.flow import EVENT_END, Flooded, TokenBucket, ValueCount

MAX_ANSWER_BYTES = 134_217_728
"""The largest answer; a hundred thousand tokens are about 40 MB."""

MAX_EVENT_BYTES = 1_048_576
MAX_EVENT_VALUES = 2_000
"""The largest number of values of one event: of objects, lists, their members and elements."""

MAX_ERROR_BYTES = 65_536
"""The number of bytes read of an answer with an error."""

_LINES = (6_000.0, 12_000.0, float("inf"))
"""The lines of an answer: per second, at once, and in all. An event has two; `_VALUES_OF_LINE` values count as one."""
_VALUES_OF_LINE = 10
_STEP_BYTES = 1_024
"""The number of bytes that are handled in a step of the event loop."""


class OutOfBounds(httpx2.TransportError):
    """The server sends more than the bounds allow, or in a form that was not asked for."""


def open_client(timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """Open a client whose answers are bounded."""
    client = httpx2.AsyncClient(
        headers={"accept-encoding": "identity"},
        timeout=timeout,
        limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
        event_hooks={"response": [_bound]},
    )
    # No public option leaves the environment's proxies as they are.
    transports: list[Any] = [client._transport, *client._mounts.values()]  # pyright: ignore[reportPrivateUsage]
    for transport in transports:
        if transport is not None:
            transport._pool._network_backend = BoundedBackend(transport._pool._network_backend)
    return client


async def _bound(response: httpx2.Response) -> None:
    """Bound the body of an answer, which is not read yet.

    Raises:
        OutOfBounds: it is compressed.
    """
    packed = response.headers.pop("content-encoding", "identity") != "identity"  # so nothing unpacks an error
    if packed and response.is_success:
        raise OutOfBounds("it compressed its answer, against the request")
    response.stream = _Bounded(response.stream, is_error=not response.is_success)


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, in small pieces at the allowed pace; of an error, only the beginning."""

    def __init__(self, stream: Any, *, is_error: bool) -> None:
        self._stream = stream
        self._is_error = is_error
        self._count = ValueCount(MAX_EVENT_VALUES, EVENT_END, MAX_EVENT_BYTES)
        self._lines = TokenBucket(*_LINES)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ERROR_BYTES if self._is_error else MAX_ANSWER_BYTES
        async for piece in self._stream:
            for start in range(0, len(piece), _STEP_BYTES):
                step = piece[start : start + _STEP_BYTES]
                await asyncio.sleep(self._wait(step))
                yield step
            left -= len(piece)
            if left < 0 and self._is_error:
                return
            if left < 0:
                raise OutOfBounds(f"it sent more than {MAX_ANSWER_BYTES:,} bytes")

    def _wait(self, step: bytes) -> float:
        """Return the seconds to wait before a step.

        Raises:
            OutOfBounds: an event is too large.
        """
        weight = max(step.count(b"\n"), step.count(b"\r"), 1)  # both end a line
        if not self._is_error:
            try:
                weight += self._count.took(step) / _VALUES_OF_LINE
            except Flooded as flood:
                raise OutOfBounds(str(flood)) from None
        return self._lines.took(weight, monotonic())

    async def aclose(self) -> None:
        await self._stream.aclose()
