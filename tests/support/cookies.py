"""The console's session as a browser has it: a token in a cookie, and the proof that a change needs beside it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any

from tests.support.gateway import BUS, PASSWORD, Answer, Client
from tests.support.wire import events_of

SESSION = "/console/session"
WATCH = "/console/watch"
NAME = "parley_console"
PROOF = "X-CSRF-Token"
QUIET_S = 0.4
"""Longer than a watch waits before it tells of a change."""


@dataclass(slots=True)
class CookieSession:
    """A session of the console; `client` has no credential of its own."""

    client: Client
    token: str
    csrf: str
    record: dict[str, Any]

    @property
    def cookie(self) -> dict[str, str]:
        """The header that a browser sends by itself."""
        return {"Cookie": f"{NAME}={self.token}"}

    @property
    def proven(self) -> dict[str, str]:
        """The headers of the console's own requests."""
        return self.cookie | {PROOF: self.csrf}

    def through(self, client: Client) -> "CookieSession":
        """Return the same session on another node."""
        return CookieSession(client, self.token, self.csrf, self.record)

    async def request(
        self, method: str, path: str, *, json: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request with the cookie and the proof."""
        return await self.client.request(method, path, json=json, headers=self.proven | dict(headers or {}))

    async def command(self, service: str, **body: Any) -> Answer:
        """Send a command to the bus."""
        return await self.request("POST", BUS, json={"service": service, **body})


async def try_log_on(client: Client, name: str, password: str = PASSWORD, **headers: str) -> Answer:
    """Send a log-on as the console does."""
    body = {"name": name, "password": password}
    return await client.as_user().request("POST", SESSION, json=body, headers=headers)


async def logged_on(client: Client, name: str, password: str = PASSWORD, **headers: str) -> CookieSession:
    """Log on to the console."""
    answer = await try_log_on(client, name, password, **headers)
    assert answer.http == 200, answer.body
    token = SimpleCookie(answer.headers["Set-Cookie"])[NAME].value
    return CookieSession(client.as_user(), token, answer.body["csrf"], answer.body)


class Hints:
    """The events of one watch, as they come."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def next(self) -> tuple[str, Any]:
        async with asyncio.timeout(30):
            return await self.events.get()

    async def changed(self, kind: str, name: str, **more: bool) -> None:
        assert await self.next() == ("changed", {"kind": kind, "name": name, **more})

    async def all_of(self, *changes: tuple[str, str]) -> None:
        """Wait until all of these have changed, in any order; others may come between them."""
        missing = set(changes)
        while missing:
            name, data = await self.next()
            assert name == "changed"
            missing.discard((data["kind"], data["name"]))

    async def nothing(self) -> bool:
        await asyncio.sleep(QUIET_S)
        return self.events.empty()


@asynccontextmanager
async def watching(page: CookieSession, query: str) -> AsyncIterator[Hints]:
    """Open a watch with the cookie alone; later changes come."""
    client, hints = page.client, Hints()

    async def read() -> None:
        async for event in events_of(response):
            hints.events.put_nowait((event.name, event.data))

    async with client.http.get(f"{client.base}{WATCH}?{query}", headers=page.cookie) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        reading = asyncio.create_task(read())
        try:
            yield hints
        finally:
            reading.cancel()
