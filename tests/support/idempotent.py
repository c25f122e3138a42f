"""Commands with an Idempotency-Key, and a scene that every command can act on."""

from dataclasses import dataclass
from typing import Any

from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan

REPLAYED = "Idempotency-Replayed"


@dataclass
class Scene:
    """An owner and a guest, each with an agent, and the owner's domain and bank, as targets of every command."""

    owner: Client
    guest: Client
    name: str

    @property
    def agent(self) -> str:
        return f"{self.name}-host"

    @property
    def guest_agent(self) -> str:
        return f"{self.name}-guest"

    @property
    def domain(self) -> str:
        return f"{self.name}-domain"

    @property
    def bank(self) -> str:
        return f"{self.name}-bank"

    async def set_up(self) -> None:
        await self.owner.agent(self.agent, access="public", profile="The dome is oiled on Monday.")
        await self.guest.agent(self.guest_agent, access="public")
        vx = {"name": self.domain, "description": "d", "access": "public"}
        await self.do("DM_Create", vx=vx)
        await self.do("ZN_Create", target={"domain": self.domain}, vx={"name": "attic"})
        await self.do("MB_Create", vx={"name": self.bank, "description": "d"})
        await self.load("a fact")

    async def load(self, name: str) -> None:
        await self.do("MB_Load", target={"bank": self.bank}, vx={"name": name}, content="The dome is oiled.")

    async def offer(self) -> None:
        await self.do("MB_Permissions", target=self.attachment, vx={"permission": "read"})

    @property
    def attachment(self) -> dict[str, str]:
        return {"bank": self.bank, "agent": self.guest_agent}

    async def do(self, service: str, user: Client | None = None, **body: Any) -> Answer:
        return (await (user or self.owner).command(service, **body)).ok()

    async def move(self, service: str, user: Client | None = None) -> Answer:
        return await self.do(service, user, target={"domain": self.domain, "agent": self.guest_agent})

    async def other_session(self) -> str:
        other = await self.owner.log_on(self.owner.name)
        (record,) = [s for s in (await other.command("US_Sessions")).ok().profile if s["current"]]
        return record["id"]


async def set_scene(client: Client, name: str) -> Scene:
    """Register the owner and the guest, and make all that they have."""
    owner = await on_plan(await client.register(f"{name}-owner"), "builder")
    guest = await on_plan(await client.register(f"{name}-visitor"), "builder")
    made = Scene(owner, guest, name)
    await made.set_up()
    return made


def keyed(key: str) -> dict[str, str]:
    """Return the header of a key."""
    return {"Idempotency-Key": key}


async def once(client: Client, key: str, service: str, **body: Any) -> Answer:
    """Send a command with a key."""
    return await client.command(service, headers=keyed(key), **body)
