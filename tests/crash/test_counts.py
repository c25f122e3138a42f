"""Counts that are kept in memory: they equal their rows, whoever comes and goes meanwhile."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.agents.messages import ReadAgent, SendChat, SetOnline
from actors.core import Core, CoreOptions
from actors.engines.recall import RecallEngine
from actors.ids import new_id
from actors.sealing import Sealer
from actors.users.messages import CreateAgent, DestroyUser
from persistence import conversations, users
from persistence.sqlite.store import SqliteStore
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.disk import spin

AGENTS = 60


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    store = await SqliteStore.open(tmp_path / "test.db")
    core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions(idle_s=0))
    yield core
    await core.close(5)


async def make_user(core: Core, name: str) -> UserRow:
    user = UserRow(new_id("usr"), name, None, None, "hash", "enterprise", None, 0)
    await core.store.commit(Unit((users.insert(user),)))
    return user


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
    await core.directory.passivate_idle()
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
    stored = [(await core.store.fetch(conversations.standing(agent)))[0][0] for agent in agents]
    assert counted == stored == [2] * AGENTS
