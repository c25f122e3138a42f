"""The limit of open connections per address, so that one attacker can't take all of them."""

import logging
from collections.abc import Sequence
from ipaddress import ip_address
from time import monotonic

from actors.addresses import network_of, plain_address
from routes.http.addresses import Network

TOLD_EVERY_S = 60.0

log = logging.getLogger("parley.connections")


class Connections:
    """Counts open connections per caller and refuses those beyond the limit.

    A caller is an IPv4 address or an IPv6 /64. A trusted proxy speaks for many callers, so its connections have no
    limit.
    """

    def __init__(self, limit: int, trusted: Sequence[Network] = ()) -> None:
        """Start with no connections; a limit of 0 means no limit."""
        self._limit = limit
        self._trusted = trusted
        self._open: dict[str, int] = {}
        self._told = -TOLD_EVERY_S
        self.refused = 0
        """Connections refused since the start."""
        self.ending = False
        """Whether the gateway stops, so that each connection's next answer is its last."""

    def admit(self, peer: str) -> str | None:
        """Count a new connection; return its caller for `release`, or None if it is refused."""
        if not self._limit:
            return ""
        caller = self._caller(peer)
        if caller:
            count = self._open.get(caller, 0)
            if count >= self._limit:
                self.refused += 1
                self._tell(caller)
                return None
            self._open[caller] = count + 1
        return caller

    def release(self, caller: str) -> None:
        """Record that an admitted connection is closed."""
        if not caller:
            return
        left = self._open[caller] - 1
        if left:
            self._open[caller] = left
        else:
            del self._open[caller]

    def _caller(self, peer: str) -> str:
        """Return the caller at an address; empty if it has no limit."""
        try:
            address = plain_address(ip_address(peer))
        except ValueError:
            return peer
        if any(address in network for network in self._trusted):
            return ""
        return network_of(peer)

    def _tell(self, caller: str) -> None:
        """Log a refusal, up to one per minute, because a flood of connections must not flood the log."""
        now = monotonic()
        if now - self._told >= TOLD_EVERY_S:
            self._told = now
            log.warning(
                "a connection from %s was refused: it has %d open, as many as PARLEY_CONNECTIONS_PER_ADDRESS allows"
                " (%d refused since the start, from all addresses)",
                caller,
                self._limit,
                self.refused,
            )
