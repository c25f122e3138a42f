"""Outgoing HTTP on users' behalf: the URLs and addresses that may be called.

The check is made when the socket is opened, on the very address of the connection. So it holds for IP literals, which
skip resolvers, and for names that resolve to another address each time (DNS rebinding).
"""

import asyncio
import errno
import logging
import socket
import ssl
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from actors.egress.lookups import Found, Lookups
from actors.egress.policy import NOT_PUBLIC, address_refusal, url_refusal

log = logging.getLogger("parley.egress")

LOOKUP_S = 5.0
"""Seconds that the check of a new URL waits for its name to resolve."""


AddrInfo = tuple[Any, Any, int, str, Any]


class EgressRefused(OSError):
    """The policy refuses the address of a new connection."""

    def __init__(self) -> None:
        # One text for all addresses of a name, because aiohappyeyeballs keeps the type only of errors with equal texts.
        super().__init__(errno.EACCES, "the address is not a globally routable unicast address")


class NoPublicAddress(OSError):
    """A name has no address that may be called.

    One error for names that do not resolve and names with refused addresses, because the difference would reveal the
    answers of internal name servers. The log has the difference.
    """

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} has no address that may be called")


looked_up_for: ContextVar[str] = ContextVar("looked_up_for", default="")
"""The id of the user whose request a task sends; aiohttp has no other way to pass it to its resolver."""


class Outbound:
    """Decides which URLs and addresses may be called.

    Args:
        allow_insecure: allow `http` and private addresses, for development.
        ca_file: a PEM file of certificate authorities to trust beside the system's.
        lookups: looks names up, shared by everything that calls out.
    """

    def __init__(
        self,
        *,
        allow_insecure: bool = False,
        ca_file: Path | None = None,
        lookups: Lookups | None = None,
    ) -> None:
        self.allow_insecure = allow_insecure
        self._ca_file = ca_file
        self.lookups = lookups or Lookups()

    def tls(self) -> ssl.SSLContext:
        """Make the context that verifies receivers' certificates."""
        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(cafile=self._ca_file)
        return context

    def url_refusal(self, url: str) -> str | None:
        """Return why a URL must not be called, judged by its text alone, or None."""
        return url_refusal(url, allow_insecure=self.allow_insecure)

    async def refusal(self, user_id: str, url: str) -> str | None:
        """Return why a URL must not be called, judged by its text and its name's present addresses, or None.

        A name that does not resolve is allowed, because each connection is checked again. The reason does not reveal
        the address; the log does.
        """
        refused = await self._refusal(user_id, url)
        if refused is None or url_refusal(url, allow_insecure=True) is not None:
            return refused
        return f"{refused}; for development, the operator may allow it with PARLEY_WEBHOOKS_ALLOW_INSECURE=true"

    async def _refusal(self, user_id: str, url: str) -> str | None:
        refused = self.url_refusal(url)
        if refused is not None or self.allow_insecure:
            return refused
        host = urlsplit(url).hostname or ""
        if host.rpartition(".")[2].isdigit() or ":" in host:
            return None
        try:
            async with asyncio.timeout(LOOKUP_S):
                found = await self.lookups.addresses(user_id, host)
        except (OSError, TimeoutError, UnicodeError):
            return None
        return NOT_PUBLIC if len(self._allowed(user_id, host, found)) < len(found) else None

    async def addresses(self, user_id: str, host: str, family: int = socket.AF_UNSPEC) -> list[Found]:
        """Return the addresses of a name that may be called; the caller sets the time-out.

        Raises:
            NoPublicAddress: there are none.
        """
        try:
            found = await self.lookups.addresses(user_id, host, family)
        except (OSError, UnicodeError) as error:
            log.debug("%s does not resolve for user %s: %s", host, user_id, error)
            raise NoPublicAddress(host) from None
        allowed = self._allowed(user_id, host, found)
        if not allowed:
            raise NoPublicAddress(host)
        return allowed

    def _allowed(self, user_id: str, host: str, found: list[Found]) -> list[Found]:
        """Return the addresses that the policy allows, and log the reasons for refusals."""
        allowed: list[Found] = []
        for entry in found:
            reason = address_refusal(entry.address, allow_insecure=self.allow_insecure)
            if reason is None:
                allowed.append(entry)
            else:
                log.warning("%s is refused for user %s: %s", host, user_id, reason)
        return allowed

    def open_socket(self, found: AddrInfo) -> socket.socket:
        """Make the socket for a connection to an allowed address.

        Raises:
            EgressRefused: it may not.
        """
        family, kind, protocol, _, address = found
        if address_refusal(str(address[0]), allow_insecure=self.allow_insecure) is not None:
            raise EgressRefused
        return socket.socket(family, kind, protocol)
