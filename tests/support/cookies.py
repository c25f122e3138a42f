"""The console's session as a browser has it: a token in a cookie, and the proof that a change needs beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any

from tests.support.gateway import BUS, PASSWORD, Answer, Client

SESSION = "/console/session"
NAME = "parley_console"
PROOF = "X-CSRF-Token"


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
