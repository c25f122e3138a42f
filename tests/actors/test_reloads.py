"""Reloads: a unit that changes the rows of other actors makes them load anew, and leaves the rest alone."""

import asyncio

from actors.agents.messages import AGENT, DestroyAgent, ReadAgent
from actors.core import Core
from actors.quotas.messages import QUOTA, ReadQuota
from actors.users.messages import USER, CreateAgent
from tests.support.core import make_user


async def test_destroying_agents_does_not_hold_up_what_other_users_load(core: Core):
    owner = await make_user(core)
    agents = [
        await core.directory.ask(USER, owner.id, CreateAgent(f"agent-{number}", "", None, "agent"))
        for number in range(20)
    ]
    for agent in agents:
        await core.directory.ask(AGENT, agent.id, ReadAgent(owner.id))
    others = await asyncio.gather(*(make_user(core) for _ in range(300)))
    before = core.directory.activations
    await asyncio.gather(
        *(core.directory.ask(AGENT, agent.id, DestroyAgent(owner.id)) for agent in agents),
        *(core.directory.ask(QUOTA, other.id, ReadQuota()) for other in others),
    )
    assert core.directory.activations - before == len(others)
