"""Receivers of webhooks: real servers on real sockets, with TLS from a test certificate authority."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import trustme
from aiohttp import web

GOT_S = 30.0


@dataclass(frozen=True)
class Received:
    """A received request."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        return orjson.loads(self.body)

    @property
    def type(self) -> str:
        return self.event["type"]

    @property
    def delivery_id(self) -> str:
        return self.headers["X-Service-Delivery"]


Answer = Callable[[Received], Awaitable[web.StreamResponse]]


async def thanks(_: Received) -> web.StreamResponse:
    return web.Response(text="thanks")


def status(code: int, **headers: str) -> Answer:
    """Answer every request with one status; `Retry_After` stands for the header Retry-After."""

    async def answer(_: Received) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, headers=named, text=f"status {code}")

    return answer


@dataclass
class Receiver:
    """A receiver that records its requests.

    `answer` may be replaced at any time; if it raises ConnectionAbortedError, the connection is dropped.
    """

    url: str = ""
    answer: Answer = thanks
    received: list[Received] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        received = Received(dict(request.headers), await request.read())
        self.received.append(received)
        self._changed.set()
        try:
            return await self.answer(received)
        except ConnectionAbortedError:
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError from None

    async def got(self, count: int, type: str | None = None) -> list[Received]:
        """Wait for this number of requests (of a type) and return them."""
        async with asyncio.timeout(GOT_S):
            while True:
                found = [received for received in self.received if type is None or received.type == type]
                if len(found) >= count:
                    return found
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def receiving(answer: Answer = thanks, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Run a receiver."""
    receiver = Receiver(answer=answer)
    app = web.Application(client_max_size=2**20)
    app.router.add_post("/hook", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    receiver.url = f"https://localhost:{port}/hook" if tls else f"http://127.0.0.1:{port}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(serve: Connection, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run a server with a misbehaving handler of connections; yield its port."""
    tasks: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


class Authority:
    """A test certificate authority."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.file = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(str(self.file))

    def context(self, *names: str) -> ssl.SSLContext:
        """Return the TLS context of a server with these names."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        return context
