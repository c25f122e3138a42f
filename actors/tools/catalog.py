"""The common part of all tool servers: the operator's catalog, the limits, and the transport to each."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakValueDictionary

import orjson

from actors.egress.flow import TokenBucket
from actors.egress.outbound import Outbound
from actors.errors import EngineFailed, NotFound
from actors.sealing import Sealer, WrongMasterKey
from actors.tools.connection import Connection
from actors.tools.http import HttpTransport, stream_pace
from actors.tools.limits import ProcessSlots, ToolLimits
from actors.tools.stdio import ProcessTransport, StdioServer
from persistence.tool_servers import ToolServerRow

BUILT_IN = "parley"
"""The catalog entry of every gateway."""


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """The operator's settings for tool servers.

    Args:
        catalog: the stdio servers that users may install, by name.
        limits: their limits.
    """

    catalog: Mapping[str, StdioServer] = field(default_factory=dict[str, StdioServer])
    limits: ToolLimits = field(default_factory=ToolLimits)


class ToolServers:
    """Makes the transports to tool servers, within the operator's limits."""

    def __init__(self, options: ToolOptions, sealer: Sealer, outbound: Outbound) -> None:
        self.options = options
        self.outbound = outbound
        self.limits = options.limits
        self.slots = ProcessSlots(options.limits)
        self.links: set[Connection] = set()
        """All connections."""
        self._streams: WeakValueDictionary[str, TokenBucket] = (
            WeakValueDictionary()
        )  # the pace of each user with a server by URL
        self._sealer = sealer

    def close(self) -> None:
        """Begin to close every connection when the gateway stops; calls under way fail."""
        for link in list(self.links):
            link.give_way("it was closed because the gateway is stopping")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self.outbound.tls()

    def seal(self, server_id: str, headers: Mapping[str, str]) -> bytes | None:
        """Seal the headers of a tool server, if it has any."""
        return self._sealer.seal(orjson.dumps(dict(headers)), _purpose(server_id)) if headers else None

    def transport_to(self, server: ToolServerRow) -> ProcessTransport | HttpTransport:
        """Make the transport to a tool server, without opening it.

        Raises:
            NotFound: the operator has removed its entry from the catalog.
            EngineFailed: its headers can't be unsealed.
        """
        if server.url is None:
            entry = self.options.catalog.get(server.entry or "")
            if entry is None:
                raise NotFound(f"The gateway's catalog no longer has the server {server.entry}; remove {server.name}.")
            return ProcessTransport(entry)
        headers: dict[str, str] = {}
        if server.headers is not None:
            try:
                headers = orjson.loads(self._sealer.open(server.headers, _purpose(server.id)))
            except WrongMasterKey:
                raise EngineFailed(f"The headers of {server.name} can't be read; install it again.") from None
        lines = self._streams.setdefault(server.user_id, stream_pace())
        return HttpTransport(server.url, headers, self.limits, lines, self._tls, self.outbound, server.user_id)


def _purpose(server_id: str) -> str:
    return f"mcp {server_id}"
