"""Set-up commands of the benchmarks; each must succeed."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from bench.bare_echo import PATH
from bench.report import BenchError
from bench.servers import INTERNAL_SECRET

PASSWORD = "correct horse battery"


class Commands:
    """Sends commands to one gateway."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http = http
        self._base = base
        self._few = asyncio.Semaphore(4)  # a log-on counts as a failed one until its password is verified

    async def send(self, service: str, token: str | None = None, **body: Any) -> Any:
        """Send a command; return its answer.

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
        """Register a user with a session per agent, each agent online and selected; return the tokens."""
        await self.send("US_Create", vx={"name": user, "secret": PASSWORD})
        return await asyncio.gather(*(self._session(user, agent) for agent in agents))

    async def crowd(self, agents: Sequence[str], plan: str) -> list[str]:
        """Register a user per agent, on a plan, with the agent public, online and selected; return the tokens.

        Raises:
            BenchError: a command was refused.
        """

        async def member(agent: str) -> str:
            user = f"{agent}-owner"
            async with self._few:
                await self.send("US_Create", vx={"name": user, "secret": PASSWORD})
            path = f"/api/admin/users/{user}/plan"
            headers = {"X-Internal-Secret": INTERNAL_SECRET}
            async with self.http.put(self._base + path, json={"plan": plan}, headers=headers) as changed:
                if changed.status != 200:
                    raise BenchError(f"{user} could not be put on {plan}: {changed.status}")
            return await self._session(user, agent)

        return await asyncio.gather(*map(member, agents))

    async def _session(self, user: str, agent: str) -> str:
        async with self._few:
            answer = await self.send("US_LogOn", target={"user": user}, vx={"secret": PASSWORD})
        token: str = answer["content"][0]["token"]
        described = f"Keeps the notes of its owner's week, number {agent[-2:]} of many."
        await self.send("AP_Create", token, vx={"name": agent, "description": described, "access": "public"})
        await self.send("AP_LogOn", token, target={"agent": agent})
        await self.send("AP_Select", token, target={"agent": agent})
        return token


@asynccontextmanager
async def commands_to(base: str) -> AsyncGenerator[Commands]:
    """Open a connection pool to a gateway."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
        yield Commands(http, base)
