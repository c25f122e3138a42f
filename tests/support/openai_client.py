"""The official client of OpenAI's API, unchanged, as a user of a gateway."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from tests.support.gateway import Client, GatewayProcess
from tests.support.relay import passed_on
from tests.support.spread import SpreadConnector


class RandomNode(httpx2.AsyncHTTPTransport):
    """Sends each request to a random one of several gateways."""

    def __init__(self, ports: Callable[[], Sequence[int]]) -> None:
        super().__init__(verify=False)  # no certificates are read, as in mcp_client.py
        self._ports = ports

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=random.choice(self._ports()))
        return await super().handle_async_request(request)


@asynccontextmanager
async def openai_client(user: Client, base: str = "", **options: Any) -> AsyncIterator[AsyncOpenAI]:
    """Open a client with a user's token; `base` is another address of the gateway, such as a proxy's."""
    if not base and isinstance(user.http.connector, SpreadConnector):
        options["http_client"] = httpx2.AsyncClient(transport=RandomNode(user.http.connector.ports))
    options.setdefault("http_client", DefaultAsyncHttpxClient(verify=False))
    async with AsyncOpenAI(base_url=f"{base or user.base}/v1", api_key=user.token or "", **options) as client:
        yield client


class LosingProxy:
    """A TCP proxy that loses answers: it cuts the connection when the server answers."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self.base = ""
        self.loses = 0
        """The number of answers to lose from now on."""
        self.lost = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection, through a node of its own, to its end."""
        server = await asyncio.open_connection("127.0.0.1", random.choice(self._ports))

        def passes(_: bytes) -> bool:
            if not self.loses:
                return True
            self.loses -= 1
            self.lost += 1
            return False

        await passed_on(reader, writer, server, passes)


@asynccontextmanager
async def losing_proxy(gateway: GatewayProcess) -> AsyncIterator[LosingProxy]:
    """Run a proxy in front of a gateway."""
    proxy = LosingProxy([urlsplit(node.base).port or 0 for node in gateway.nodes])
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()


async def count_of(user: Client, agent: str) -> int:
    """Return the number of messages in all of a user's conversations with an agent."""
    return (await user.command("AP_Read", target={"agent": agent})).ok().content[0]["messages"]


async def messages_of(user: Client, conversation: str) -> list[tuple[str, str]]:
    """Return role and text of each message of a conversation."""
    read = await user.command("AP_History", target={"conversation": conversation})
    return [(message["role"], message["content"]) for message in read.ok().content]
