"""Domains with members, and followers of the events in their zones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from tests.support.gateway import BUS, Answer, Client


@dataclass(frozen=True, slots=True)
class Workspace:
    """A domain with its owner and a member's owner; each has an online agent there."""

    domain: str
    owner: Client
    guest: Client

    @property
    def owner_agent(self) -> str:
        return f"{self.domain}-host"

    @property
    def guest_agent(self) -> str:
        return f"{self.domain}-guest"


async def opened(owner: Client, guest: Client, domain: str) -> Workspace:
    """Open a domain of the owner that an agent of the guest has joined."""
    workspace = Workspace(domain, owner, guest)
    await owner.agent(workspace.owner_agent, profile="The telescope is open on Friday.")
    await guest.agent(workspace.guest_agent, access="public", profile="The dome needs oil on Monday.")
    (await owner.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    target = {"domain": domain, "agent": workspace.guest_agent}
    (await owner.command("DM_Invite", target=target)).ok()
    (await guest.command("DM_Join", target=target)).ok()
    return workspace


async def opened_with_a_guest(owner: Client, unique: str) -> Workspace:
    """Open a domain of the owner that an agent of a new user has joined."""
    guest = await owner.as_user().register(f"{unique}-guest")
    return await opened(owner, guest, f"{unique}-domain")


async def post(user: Client, domain: str, content: str, **target: str) -> Answer:
    """Post to a zone of a domain: the lobby unless another is named."""
    return await user.command("ZN_Post", target={"domain": domain, **target}, content=content)


async def said_in(user: Client, domain: str, **target: str) -> list[tuple[int, str, str]]:
    """Read a zone: the seq, the name and the text of each message."""
    content = (await user.command("ZN_Read", target={"domain": domain, **target})).ok().content
    return [(message["seq"], message["name"], message["content"]) for message in content]


async def founded(owner: Client, name: str, **vx: str) -> dict[str, Any]:
    """Found a domain; return its record."""
    answer = await owner.command("DM_Create", vx={"name": name, "description": f"The domain {name}", **vx})
    return answer.ok().profile[0]


async def move(user: Client, service: str, domain: str, agent: str) -> Answer:
    """Move an agent into, within or out of a domain: `move(user, "DM_Kick", domain, agent)`."""
    return await user.command(service, target={"domain": domain, "agent": agent})


async def standings(user: Client, domain: str) -> dict[str, str]:
    """Tell the state of each agent of a domain."""
    content = (await user.command("DM_Read", target={"domain": domain})).ok().content
    return {membership["agent"]: membership["state"] for membership in content}


class Follower:
    """Reads the events of a stream with their ids."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.last_id = ""

    async def next(self) -> Any:
        """Return the next event's data; a dict with `end` for the last one, None after the end."""
        name = ""
        while line := await asyncio.wait_for(self.response.content.readline(), 60):
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "id":
                self.last_id = value
            elif field == "event":
                name = value
            elif field == "data":
                data = orjson.loads(value)
                return {"end": data["reason"]} if name == "end" else data
        return None

    async def texts(self, count: int) -> list[str]:
        """Wait for this number of messages."""
        return [(await self.next())["message"]["content"] for _ in range(count)]


@asynccontextmanager
async def following(user: Client, domain: str, last_id: str | None = None, **target: str) -> AsyncIterator[Follower]:
    """Follow a zone, after an event if one is named."""
    headers = user.headers({"Last-Event-ID": last_id} if last_id is not None else {})
    body = {"target": {"domain": domain, **target}}
    async with user.http.post(f"{user.base}{BUS}/zone/stream", json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Follower(response)
