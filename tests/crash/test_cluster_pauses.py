"""What clients notice when nodes are killed, join and leave: a pause of seconds after a kill, else nothing."""

import asyncio
import random
from functools import partial
from pathlib import Path
from time import monotonic

import pytest

from tests.gateways.gate import ENGINES
from tests.support.cluster import Nodes, nodes
from tests.support.faults import settled
from tests.support.gateway import Client
from tests.support.histories import PAUSE_S, insisted
from tests.support.idempotent import keyed
from tests.support.load import UNKNOWN
from tests.support.stores import postgres_only

pytestmark = [postgres_only, pytest.mark.timeout(240)]

USERS = 12
KILLS = 50
P95_S = 4.0
LONGEST_S = 8.0
"""Of the longest time that any client waits for an answer around a kill."""

AT_WORK_S = 9.0
"""How long engines work on from when nodes begin to change."""


async def talkers(all: Nodes, anyone: Client) -> list[Client]:
    """Register users with an agent each, once all nodes have their share."""
    await settled(all)
    users = [await anyone.register(f"user-{number}") for number in range(USERS)]
    for user in users:
        await user.agent(f"{user.name}-scout", access="public")
    return users


async def longest_wait(user: Client, round: int, over: asyncio.Event) -> float:
    """Chat, each time until it is answered; return the longest time in s that an answer took."""
    longest, sent = 0.0, 0
    while not over.is_set():
        sent += 1
        began = monotonic()
        key = keyed(f"{user.name}-{round}-{sent}")
        (await insisted(partial(user.command, "AP_Chat", headers=key, content=f"Note {sent}."))).ok()
        longest = max(longest, monotonic() - began)
        await asyncio.sleep(PAUSE_S)
    return longest


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_a_client_that_retries_sees_a_pause_of_seconds_when_a_node_is_killed(tmp_path: Path):
    """The marks are for a machine that does nothing else."""
    rng = random.Random(20_261_123)
    pauses: list[float] = []
    async with nodes(tmp_path, 3, PARLEY_DEFAULT_PLAN="enterprise") as all, all.client() as anyone:
        users = await talkers(all, anyone)
        for kill in range(KILLS):
            over = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                waits = [group.create_task(longest_wait(user, kill, over)) for user in users]
                await asyncio.sleep(0.3 + rng.random())  # at any place between two renewals of its lease
                await all.one().kill()
                await asyncio.sleep(1)
                over.set()
            pauses.append(max(wait.result() for wait in waits))
            print(f"kill {kill + 1}: {pauses[-1]:.2f} s", flush=True)  # noqa: T201
            await all.join()
            await settled(all)
    pauses.sort()
    p50, p95 = pauses[len(pauses) // 2], pauses[int(len(pauses) * 0.95)]
    print(f"{KILLS} kills: p50 {p50:.2f} s, p95 {p95:.2f} s, longest {pauses[-1]:.2f} s")  # noqa: T201
    assert p95 <= P95_S
    assert pauses[-1] <= LONGEST_S


async def test_nodes_that_join_and_leave_under_load_fail_no_request(tmp_path: Path):
    async with nodes(tmp_path, 3, PARLEY_DEFAULT_PLAN="enterprise") as all, all.by_proxy() as anyone:
        users = await talkers(all, anyone)
        over, failed = asyncio.Event(), list[str]()

        async def talk(user: Client) -> int:
            sent = 0
            while not over.is_set():
                sent += 1
                try:
                    answer = await user.command("AP_Chat", content=f"Note {sent}.")
                except UNKNOWN as error:
                    failed.append(repr(error))
                else:
                    if answer.code != 0:
                        failed.append(str(answer.body["status"]))
                await asyncio.sleep(PAUSE_S)
            return sent

        async with asyncio.TaskGroup() as group:
            talking = [group.create_task(talk(user)) for user in users]
            await all.join()
            await settled(all)
            leaving = all.one()
            assert await leaving.term() == 0
            await settled(all)
            over.set()
        assert failed == []
        for user, talk_of in zip(users, talking, strict=True):
            assert (await user.command("AP_Read")).ok().content[0]["messages"] == 2 * talk_of.result()


@pytest.mark.parametrize("change", ["join", "stop"])
async def test_a_join_and_a_stop_cut_no_engine_off_that_works_for_seconds(tmp_path: Path, change: str):
    gate = tmp_path / "gate"
    starting = nodes(tmp_path, 2, script=ENGINES / "scripted.py", PARLEY_DEFAULT_PLAN="enterprise")
    async with starting as all, all.by_proxy() as anyone:
        users = await talkers(all, anyone)
        agents = [f"{(users[at - 1] if at % 2 else user).name}-scout" for at, user in enumerate(users)]
        chats = [
            asyncio.create_task(
                user.command("AP_Chat", target={"agent": agent}, content=f"wait:{gate} say:{user.name}")
            )
            for user, agent in zip(users, agents, strict=True)
        ]
        await asyncio.sleep(0.5)
        changing = asyncio.create_task(all.join() if change == "join" else all.one().term())
        await asyncio.sleep(AT_WORK_S)
        gate.touch()
        for user, chat in zip(users, chats, strict=True):
            assert (await chat).ok().content[1]["content"] == user.name
        await changing
        await settled(all)
        for user, agent in zip(users, agents, strict=True):
            assert len((await user.command("AP_History", target={"agent": agent})).ok().content) == 2


async def test_a_node_that_takes_long_to_import_its_engine_joins(tmp_path: Path):
    engine = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "PARLEY_OPENAI_MODEL": "none",
    }
    settings = {"PARLEY_CLUSTER_LEASE_S": "1", "TEST_IMPORT_S": "3", **engine}
    async with nodes(tmp_path, 1, seed=0, script=ENGINES / "slow_import.py", **settings) as all:
        await all.join()  # the first one declares it dead if it is silent for a second
        await settled(all)
