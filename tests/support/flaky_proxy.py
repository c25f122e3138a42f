"""A proxy in front of a gateway that loses answers, delays or holds them, answers 503 by itself, and cuts streams."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from aiohttp import ClientSession, web


class FlakyProxy:
    """Passes requests on to a gateway, and does a fault to each with a chance.

    Args:
        base: the gateway's address.
        chance: the chance of each kind of fault, from 0 to 1.
        seed: of the faults' random numbers.
    """

    def __init__(self, base: str, *, chance: float = 0.0, seed: int = 1) -> None:
        self._base = base
        self._random = random.Random(seed)
        self._open: dict[int, web.Request] = {}
        self.chance = chance
        self.cuts = 0
        """How many of the next answers are cut off after their first piece."""
        self.passes: int | None = None
        """How many of the next requests pass; those after them are held to the end. None: all pass."""
        self.held = asyncio.Event()
        """Is set once a request is held."""
        self._ended = asyncio.Event()
        self.faults: Counter[str] = Counter()
        self.base = ""

    def cut(self) -> None:
        """Cut every open answer off."""
        for request in self._open.values():
            self._abort(request)

    def end(self) -> None:
        """Cut every answer off, also those of requests that are held."""
        self._ended.set()
        self.cut()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on."""
        if self.passes is not None:
            if self.passes == 0:
                self.held.set()
                await self._ended.wait()
                self._abort(request)
                return web.Response()
            self.passes -= 1
        fault = self._fault()
        if fault == "503":
            return web.Response(status=503, text="no upstream", headers={"Retry-After": "0"})
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        body = await request.read()
        async with (
            ClientSession(auto_decompress=False) as http,
            http.request(request.method, self._base + request.path_qs, data=body, headers=headers) as answer,
        ):
            if fault == "dropped":  # the gateway has done it, and nobody learns of it
                await answer.read()
                self._abort(request)
                return web.Response()
            if fault == "delayed":
                await asyncio.sleep(self._random.uniform(0.0, 0.2))
            head = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in ("transfer-encoding", "connection")
            }
            response = web.StreamResponse(status=answer.status, headers=head)
            await response.prepare(request)
            self._open[id(request)] = request
            try:
                async for piece in answer.content.iter_any():
                    await response.write(piece)
                    if self.cuts > 0:
                        self.cuts -= 1
                        self.faults["cut"] += 1
                        self._abort(request)
                        return response
                with suppress(ConnectionError):
                    await response.write_eof()
            except ConnectionError:
                pass  # cut, or the client has gone
            finally:
                self._open.pop(id(request), None)
            return response

    def _fault(self) -> str:
        kind = self._random.choice(["503", "dropped", "delayed"]) if self._random.random() < self.chance else ""
        if kind:
            self.faults[kind] += 1
        return kind

    @staticmethod
    def _abort(request: web.Request) -> None:
        if request.transport is not None:
            request.transport.abort()


@asynccontextmanager
async def flaky(base: str, *, chance: float = 0.0) -> AsyncIterator[FlakyProxy]:
    """Run a proxy in front of a gateway."""
    assert urlsplit(base).scheme == "http"
    proxy = FlakyProxy(base, chance=chance)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy.serve)
    # A handler whose client has gone ends at once, not at the next heartbeat of the gateway.
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    proxy.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield proxy
    finally:
        await site.stop()
        proxy.end()
        await runner.cleanup()
