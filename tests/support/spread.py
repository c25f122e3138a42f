"""Connections of a client that spreads its requests over several gateways."""

import random
import socket
from collections.abc import Callable, Sequence

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult


class OneOf(AbstractResolver):
    """Resolves every host name to gateways of this machine, in random order; a client tries one after another."""

    def __init__(self, ports: Callable[[], Sequence[int]], rng: random.Random) -> None:
        self._ports = ports
        self._rng = rng

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        ports = self._rng.sample(self._ports(), len(self._ports()))
        return [
            ResolveResult(hostname=host, host="127.0.0.1", port=at, family=socket.AF_INET, proto=0, flags=0)
            for at in ports
        ]

    async def close(self) -> None:
        pass


class SpreadConnector(aiohttp.TCPConnector):
    """A connector with a new connection for each request to a host name: to one of the ports, or the next."""

    def __init__(self, ports: Callable[[], Sequence[int]], rng: random.Random) -> None:
        super().__init__(limit=0, force_close=True, use_dns_cache=False, resolver=OneOf(ports, rng))
        self.ports = ports


def connector_over(ports: Callable[[], Sequence[int]], rng: random.Random) -> aiohttp.TCPConnector:
    """Return a connector over several gateways."""
    return SpreadConnector(ports, rng)
