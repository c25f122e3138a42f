"""Ended actors are freed at once, because the garbage collector runs too seldom."""

import asyncio
import gc
from pathlib import Path
from typing import cast

from actors.agents.actor import AgentActor
from actors.agents.messages import SendChat, SetOnline
from actors.agents.private_chats import PrivateChats
from actors.core import Core, CoreOptions
from actors.domains.actor import DomainActor
from actors.domains.messages import DomainViewer, ReadDomain, SayInZone
from actors.domains.zone_talk import ZoneTalk
from actors.engines.recall import RecallEngine
from actors.ids import new_id
from actors.runtime.local_directory import LocalDirectory
from actors.sealing import Sealer
from actors.users.messages import CreateAgent, CreateDomain
from persistence import users
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.stores import opened


def alive() -> list[str]:
    kinds = (AgentActor, DomainActor, PrivateChats, ZoneTalk)
    return sorted(type(item).__name__ for item in gc.get_objects() if isinstance(item, kinds))


async def test_an_agent_and_a_domain_that_were_spoken_to_leave_nothing_for_the_garbage_collector(tmp_path: Path):
    store = await opened(tmp_path / "test.db")
    core = Core(store, RecallEngine(), Sealer(bytes(32)), CoreOptions(idle_s=0))
    user = UserRow(new_id("usr"), "owner", None, None, "hash", "enterprise", None, 0)
    await store.commit(Unit((users.insert(user),)))
    gc.collect()
    gc.disable()
    try:
        before = alive()
        agent = await core.directory.ask("user", user.id, CreateAgent("scout", "", None, "public"))
        founding = CreateDomain(agent.id, agent.name, "team", "", None, "agent")
        domain = await core.directory.ask("user", user.id, founding)
        await core.directory.ask("agent", agent.id, SetOnline(user.id, True))
        await core.directory.ask("agent", agent.id, SendChat(user.id, user.name, "hello"))
        viewer = DomainViewer(user.id)
        lobby = (await core.directory.ask("domain", domain.id, ReadDomain(viewer))).lobby
        await core.directory.ask("domain", domain.id, SayInZone(viewer, lobby.id, user.name, "hello"))
        assert alive() == sorted([*before, "AgentActor", "DomainActor", "PrivateChats", "ZoneTalk"])
        await cast(LocalDirectory, core.directory).passivate_idle()
        await asyncio.sleep(0)
        assert alive() == before
    finally:
        gc.enable()
        await core.close(5)
