"""A bank that one user offers to another user's agent, for tests of offers."""

from dataclasses import dataclass
from typing import Any

from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan


@dataclass(frozen=True, slots=True)
class Two:
    """An owner with a bank, and a guest with an agent to which the bank is offered."""

    owner: Client
    guest: Client
    name: str

    @property
    def bank(self) -> str:
        return f"{self.name}-bank"

    @property
    def keeper(self) -> str:
        return f"{self.name}-keeper"

    @property
    def visitor(self) -> str:
        return f"{self.name}-visitor"

    @property
    def target(self) -> dict[str, str]:
        return {"bank": self.bank, "agent": self.visitor}

    async def give(self, permission: str, by: Client | None = None) -> Answer:
        return await (by or self.owner).command("MB_Permissions", target=self.target, vx={"permission": permission})

    async def accept(self, by: Client | None = None) -> Answer:
        return await (by or self.guest).command("MB_Accept", target=self.target)

    async def unload(self, by: Client | None = None) -> Answer:
        return await (by or self.guest).command("MB_Unload", target=self.target)

    async def share(self, permission: str) -> None:
        """Attach the guest's agent."""
        (await self.give(permission)).ok()
        (await self.accept()).ok()

    async def standing(self) -> dict[str, str]:
        """Return the permission of the guest's agent in each state, in the order of the list."""
        content = (await self.owner.command("MB_AgentList", target={"bank": self.bank})).ok().content
        return {row["state"]: row["permission"] for row in content if row["agent"] == self.visitor}

    async def offers(self, by: Client | None = None) -> list[dict[str, Any]]:
        """Return the offers in AP_Read of the guest's agent."""
        answer = await (by or self.guest).command("AP_Read", target={"agent": self.visitor})
        return answer.ok().content[0]["offers"]


async def with_a_bank(owner: Client, guest: Client, name: str) -> Two:
    """Create the agents of both, and the owner's bank with a memory."""
    two = Two(await on_plan(owner, "enterprise"), await on_plan(guest, "enterprise"), name)
    await owner.agent(two.keeper)
    await guest.agent(two.visitor, access="public")
    (await owner.command("MB_Create", vx={"name": two.bank, "description": "Notes"})).ok()
    load = {"target": {"bank": two.bank}, "vx": {"name": "moon"}, "content": "The Moon is 384,400 km away."}
    (await owner.command("MB_Load", **load)).ok()
    return two
