"""Actions of a gateway's operator: set plans, inspect live actors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.gateway import INTERNAL_SECRET, PASSWORD, Answer, Client, GatewayProcess, running

SECRET = {"X-Internal-Secret": INTERNAL_SECRET}

LISTED = "Chief-Operator"
"""A user of gateways with these settings."""

SETTINGS: dict[str, Any] = {"PARLEY_OPERATORS": f"{LISTED.lower()}, second.op", "PARLEY_DEFAULT_PLAN": "enterprise"}


@asynccontextmanager
async def operated(data: Path, **settings: Any) -> AsyncIterator[GatewayProcess]:
    """Run a gateway with SETTINGS and these, whose listed operator is registered."""
    async with running(data, **SETTINGS, **settings) as gateway:
        async with gateway.client() as client:
            vx = {"name": LISTED, "secret": PASSWORD}
            (await client.command("US_Create", vx=vx, headers=SECRET)).ok()
        yield gateway


async def set_plan(client: Client, user: str, plan: str, **more: Any) -> Answer:
    """Put a user on a plan, through the billing hook."""
    path = f"/api/admin/users/{user}/plan"
    return await client.request("PUT", path, json={"plan": plan, **more}, headers=SECRET)


async def on_plan(user: Client, plan: str) -> Client:
    """Put a user on a plan and assert success; tests of many requests need a plan beyond free."""
    assert (await set_plan(user, user.name, plan)).http == 200
    return user


async def live_actor(client: Client, kind: str, key: str) -> Answer:
    """Return the state of one live actor."""
    return await client.request("GET", f"/debug/actors/{kind}/{key}", headers=SECRET)


@dataclass(slots=True)
class Cast:
    """Users of each role, and one that acts are about, with an agent."""

    operator: Client
    auditor: Client
    user: Client
    target: Client
    agent: str


async def made_cast(operator: Client, unique: str) -> Cast:
    """Register users of each role."""
    made = {role: await operator.register(f"{unique}-{role}") for role in ("operator", "auditor", "user", "target")}
    for role in ("operator", "auditor"):
        path = f"/api/admin/users/{made[role].name}/role"
        assert (await operator.request("PUT", path, json={"role": role})).body["role"] == role
    await made["target"].agent(f"{unique}-agent", access="public")
    return Cast(**made, agent=f"{unique}-agent")
