"""Counts in memory equal their rows, also under concurrent changes."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from actors.agents.messages import ReadAgent, SendChat, SetOnline
from actors.core import Core, CoreOptions
from actors.runtime.local_directory import LocalDirectory
from actors.users.messages import CreateAgent, DestroyUser
from persistence import conversations
from tests.support.core import make_user, open_core
from tests.support.disk import spin

AGENTS = 60


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with open_core(tmp_path, options=CoreOptions(idle_s=0)) as core:
        yield core


@pytest.mark.parametrize("seed", range(6))
async def test_agents_that_load_while_a_user_of_theirs_is_destroyed_count_what_is_left(core: Core, seed: int):
    rng = random.Random(seed)
    owner, guest = await make_user(core, "owner"), await make_user(core, "guest")
    agents: list[str] = []
    for number in range(AGENTS):
        agent = await core.directory.ask("user", owner.id, CreateAgent(f"agent-{number}", "", None, "public"))
        agents.append(agent.id)
        await core.directory.ask("agent", agent.id, SetOnline(owner.id, True))
        for user in (owner, guest):
            await core.directory.ask("agent", agent.id, SendChat(user.id, user.name, "hello"))
    await cast(LocalDirectory, core.directory).passivate_idle()
    met = tuple(await core.store.fetch(conversations.agents_met_by(guest.id)))
    assert len(met) == AGENTS

    async def read(agent: str) -> None:
        await spin(rng.randrange(150))
        await core.directory.ask("agent", agent, ReadAgent(owner.id))

    reads = [asyncio.create_task(read(agent)) for agent in agents]
    await spin(rng.randrange(40))
    await core.directory.ask("user", guest.id, DestroyUser(guest.secret_hash, met))
    await asyncio.gather(*reads)

    counted = [(await core.directory.ask("agent", agent, ReadAgent(owner.id))).messages for agent in agents]
    stored = [(await core.store.fetch(conversations.agent_summary(agent)))[0][0] for agent in agents]
    assert counted == stored == [2] * AGENTS
