"""A minimal receiver of webhooks: `python -m bench.bare_receiver`, or `receiver()` for its process.

POST /hook/<n> is answered 204 and recorded with the number in the event's data and the time. POST /hang is never
answered. GET /report answers the records since the last report, as `[[endpoint, number, monotonic ns], ...]`.
"""

import asyncio
import re
import signal
import socket
import time
from typing import Any

import orjson
import uvloop

_HEAD = re.compile(rb"(GET|POST) /(\w+)(?:/(\d+))? ")
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.IGNORECASE)
_NUMBER = re.compile(rb'"n":(\d+)')
_THANKS = b"HTTP/1.1 204 No Content\r\n\r\n"

_noted: list[tuple[int, int, int]] = []


class Receiver(asyncio.Protocol):
    """One connection with one request after the other."""

    def __init__(self) -> None:
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n") + 4
            if end < 4:
                return
            head = self._buffer[:end]
            length = _LENGTH.search(head)
            whole = end + (int(length[1]) if length else 0)
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end:whole], self._buffer[whole:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        asked = _HEAD.match(head)
        assert asked is not None
        match asked[2]:
            case b"hook":
                number = _NUMBER.search(body)
                _noted.append((int(asked[3] or 0), int(number[1]) if number else -1, time.monotonic_ns()))
                self._transport.write(_THANKS)
            case b"report":
                report = orjson.dumps(_noted)
                _noted.clear()
                self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(report), report))
            case _:
                pass  # hangs


async def serve() -> None:
    """Serve on a free port of loopback until SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await loop.create_server(Receiver, sock=listener)
    print(f"bare receiver listens on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await stopping.wait()
    server.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
