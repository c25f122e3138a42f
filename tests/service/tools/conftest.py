"""Users of the gateway as an MCP server."""

import pytest

from tests.support.gateway import Client
from tests.support.memories import load
from tests.support.operator import on_plan


@pytest.fixture
async def owner(user: Client, unique: str) -> Client:
    """A user with an agent that everybody sees, a bank of one memory and a domain."""
    await on_plan(user, "enterprise")
    await user.agent(f"{unique}-agent", access="public")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank", "description": "Field notes"})).ok()
    (await load(user, f"{unique}-bank", "moon", "The Moon is 384,400 km away.")).ok()
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "A workspace"})).ok()
    return user


@pytest.fixture
async def guest(owner: Client, unique: str) -> Client:
    """Another user with an agent that everybody sees."""
    other = await owner.as_user().register(f"{unique}-guest")
    await on_plan(other, "enterprise")
    await other.agent(f"{unique}-visitor", access="public")
    return other
