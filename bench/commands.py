"""What the benches send to set a gateway up; each command must succeed."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from bench.bare_echo import PATH
from bench.report import BenchError

PASSWORD = "correct horse battery"


class Commands:
    """Sends commands to one gateway."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http = http
        self._base = base
        self._few = asyncio.Semaphore(4)  # a log-on counts as a failed one until its password is verified

    async def send(self, service: str, token: str | None = None, **body: Any) -> Any:
        """Send a command and return its answer.

        Raises:
            BenchError: it was refused.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.post(self._base + PATH, json={"service": service, **body}, headers=headers) as response:
            answer = await response.json()
        if response.status != 200:
            raise BenchError(f"{service} was answered {answer['status']}")
        return answer

    async def sessions(self, user: str, agents: Sequence[str]) -> list[str]:
        """Register a user and log it on once per agent, which is then made, online and selected; return the tokens."""

        async def session(agent: str) -> str:
            async with self._few:
                answer = await self.send("US_LogOn", target={"user": user}, vx={"secret": PASSWORD})
            token: str = answer["content"][0]["token"]
            described = f"Keeps the notes of its owner's week, number {agent[-2:]} of many."
            await self.send("AP_Create", token, vx={"name": agent, "description": described})
            await self.send("AP_LogOn", token, target={"agent": agent})
            await self.send("AP_Select", token, target={"agent": agent})
            return token

        await self.send("US_Create", vx={"name": user, "secret": PASSWORD})
        return await asyncio.gather(*map(session, agents))


@asynccontextmanager
async def commands_to(base: str) -> AsyncGenerator[Commands]:
    """Open a connection pool to a gateway."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
        yield Commands(http, base)
