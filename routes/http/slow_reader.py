"""Cuts off clients that don't read their answers, because each would hold megabytes for as long as it likes."""

import asyncio

WAIT_S = 60.0
"""Seconds in which a client has to take something, while more waits for it than the socket holds."""
LEAST_BYTES = 65_536
"""Bytes that it has to take in this time, if as many wait."""


class SlowReader:
    """Looks from `begin` until `end` at what waits to be sent on a connection; aborts it if the client takes little.

    Args:
        loop: the loop of the connection.
        transport: the connection's.
    """

    __slots__ = ("_loop", "_timer", "_transport", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.WriteTransport) -> None:
        self._loop = loop
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = 0

    def begin(self) -> None:
        """Begin to look: more waits than the transport wants to hold."""
        self._waiting = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(WAIT_S, self._look)

    def end(self) -> None:
        """Stop looking: the client has taken nearly all, or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        if self._waiting - LEAST_BYTES < waiting <= self._waiting:
            self._timer = None
            self._transport.abort()
        else:  # it has taken enough, or an event stream has more for it
            self.begin()
