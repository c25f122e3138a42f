"""Clients that send their requests through several nodes."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.nodes import Nodes


@dataclass(slots=True)
class Entries:
    """A client of each node, without a user."""

    nodes: Nodes
    clients: list[Client]

    async def user_on(self, home: int, name: str) -> "UserEverywhere":
        """Register users until one is at home on a node, and log it on; its name begins with `name`."""
        number = 0
        while True:
            number += 1
            vx = {"name": f"{name}-{number}", "secret": PASSWORD}
            made = (await self.clients[number % len(self.clients)].command("US_Create", vx=vx)).ok()
            if self.nodes.placed.map.owner(made.profile[0]["id"]) == f"node{home}":
                user = await self.clients[number % len(self.clients)].log_on(vx["name"])
                return UserEverywhere(vx["name"], [client.as_user(user.token, user.name) for client in self.clients])


@dataclass(slots=True)
class UserEverywhere:
    """A user, as a client of each node."""

    name: str
    through: list[Client]

    async def with_key(self, **made: Any) -> list[Client]:
        """Make an API key; return a client of each node with it."""
        answer = await self.through[0].request("POST", "/api/api-keys", json={"name": "key", **made})
        assert answer.http == 201, answer.body
        return [client.as_user(answer.body["key"], self.name) for client in self.through]


@asynccontextmanager
async def user_of_two(nodes: Nodes) -> AsyncIterator[UserEverywhere]:
    """A user with an agent, at home on the first of two nodes."""
    async with AsyncExitStack() as stack:
        entries = Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(2)])
        user = await entries.user_on(0, "lovelace")
        await user.through[0].agent("scout")
        yield user


class Roaming(Client):
    """A client that sends each request through a node drawn by a seed."""

    def __init__(self, entries: list[Client], draw: random.Random, token: str | None = None, name: str = "") -> None:
        super().__init__(entries[0].http, entries[0].base, token, name)
        self._entries = entries
        self._draw = draw

    def as_user(self, token: str | None = None, name: str = "") -> "Roaming":
        return Roaming(self._entries, self._draw, token, name)

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        entry = self._draw.choice(self._entries).as_user(self.token, self.name)
        return await entry.request(method, path, json=json, data=data, headers=headers)
