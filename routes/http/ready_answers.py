"""Answers that are ready, sent in a row: a send takes four times as long if it has to wake the client's process."""

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable
from time import monotonic

from routes.http.answers import HttpAnswer

Send = Callable[[HttpAnswer], None]

MOST = 16
"""The number of answers that are sent in a row."""

LONGEST_S = 0.002
"""The time after which the first of them waits for no further one."""

log = logging.getLogger("parley.fastpath")


class ReadyAnswers:
    """The answers to requests that were served as they arrived, while others of the same turn of the loop are served.

    In a turn with one request, its answer is sent at the beginning of the next turn, before the loop waits.
    """

    __slots__ = ("_since", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[Send, HttpAnswer]] = []
        self._since = 0.0

    def add(self, loop: AbstractEventLoop, send: Send, answer: HttpAnswer) -> None:
        """Send an answer soon; `send` writes it to its connection."""
        waiting = self._waiting
        waiting.append((send, answer))
        if len(waiting) == 1:
            self._since = monotonic()
            loop.call_soon(self._send_all)
        elif len(waiting) >= MOST or monotonic() - self._since > LONGEST_S:
            self._send_all()

    def _send_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for send, answer in waiting:
            try:
                send(answer)
            except Exception:
                log.exception("an answer could not be sent")
