"""Messages in zones as stored: whose they are, and what nodes of 0.2.0 store beside today's."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from persistence import agents, domains, users, zones
from persistence.agents import AgentRow
from persistence.domains import DomainRow, ZoneRow
from persistence.store import Unit, Write
from persistence.users import UserRow
from tests.support.disk import open_store

INTO = "INSERT INTO zone_messages (zone_id, number, seq, id, role, name, content, sources, at)"
OF_0_2_0 = (
    f"{INTO} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    f"{INTO} SELECT * FROM @rows(?, zone_id text, number bigint, seq bigint, id text, role text, name text,"
    " content text, sources text, at bigint) AS made",
)
"""The statements for one message and for many."""


@pytest.mark.parametrize("units", [1, 5])
async def test_messages_of_an_older_node_stay_unmarked_beside_those_that_name_their_agent(tmp_path: Path, units: int):
    async with open_store(tmp_path) as store:
        lone, many = OF_0_2_0
        agent = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
        domain = DomainRow("dom_1", "usr_1", "ada", "agt_1", "scout", "home", "d", None, "agent", 0, 0)
        await store.commit(Unit((users.insert(UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)),)))
        await store.commit(Unit((agents.insert(agent), domains.insert(domain))))
        await store.commit(Unit((domains.insert_zone("dom_1", ZoneRow("zon_1", "lobby", 0)),)))
        commits: list[Awaitable[None]] = []
        for seq in range(1, 2 * units + 1, 2):
            said = ("zon_1", seq, seq, f"msg_{seq}", "agent", "scout", "Hello", None, 0)
            next_one = zones.append("zon_1", seq + 1, seq + 1, f"msg_{seq + 1}", *said[4:], "agt_1")
            commits.append(store.commit(Unit((Write(lone, said, None, many), next_one))))
        await asyncio.gather(*commits)
        found = await store.fetch(zones.page_after("zon_1", 0, 20))
        assert [row.of_destroyed for row in found] == [False, False] * units
        await store.commit(Unit(agents.destroy("agt_1", 1)))
        found = await store.fetch(zones.page_after("zon_1", 0, 20))
        assert [row.of_destroyed for row in found] == [False, True] * units
        assert await store.fetch(zones.page_before("zon_1", 99, 20)) == found[::-1]
