"""The frames of one answer as messages of NATS."""

import asyncio
from collections.abc import Callable

from actors.runtime.cluster.parts import HEADER, split
from actors.runtime.cluster.post import NotReached

# Kinds of messages: a whole body of a request or topic; and of an answer.
WHOLE, FRAME, LAST_FRAME, END, NOT_REACHED, LOST = range(1, 7)

ONLY_FRAME = HEADER.pack(LAST_FRAME, 0)
"""How the only message of an answer begins."""


class Answer:
    """Sends the frames of one answer. A frame waits for the end of the loop's turn, so that its end may go with it."""

    __slots__ = ("_held", "_number", "_send")

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._number = 0
        self._held: bytes | None = None

    def send(self, frame: bytes) -> None:
        """Send a frame."""
        self._flush()
        self._held = frame
        asyncio.get_running_loop().call_soon(self._flush)

    def end(self, error: Exception | None) -> None:
        """End the answer, with NotReached or Lost if it failed."""
        if error is None and self._held is not None:
            held, self._held = self._held, None
            self._emit(LAST_FRAME, held)
            return
        self._flush()
        if error is None:
            self._emit(END, b"")
        else:
            self._emit(NOT_REACHED if isinstance(error, NotReached) else LOST, str(error).encode())

    def _flush(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._emit(FRAME, held)

    def _emit(self, kind: int, body: bytes) -> None:
        for message in split(kind, body, self._number):
            self._number += 1
            self._send(message)
