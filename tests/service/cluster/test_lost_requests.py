"""Requests whose node is lost, cut off or not known: what clients are told is what happened."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from actors.core import CoreOptions
from actors.runtime.cluster.directory import WORK_S, ClusterDirectory
from actors.runtime.cluster.shards import shard_of
from routes.forwarding import entry
from tests.support.gateway import Client
from tests.support.loopback_post import Network
from tests.support.nodes import Nodes, running
from tests.support.roaming import UserEverywhere, user_of_two

OPTIONS = CoreOptions(registrations_per_hour=0, default_plan="enterprise")


@pytest.fixture
async def network() -> Network:
    return Network(7)


@pytest.fixture
async def nodes(tmp_path: Path, network: Network) -> AsyncIterator[Nodes]:
    async with running(tmp_path, 2, http=True, options=OPTIONS, network=network) as two:
        yield two


@pytest.fixture
async def user(nodes: Nodes) -> AsyncIterator[UserEverywhere]:
    """A user at home on the first node, with an agent."""
    async with user_of_two(nodes) as user:
        yield user


async def stored(user: Client) -> list[str]:
    answer = (await user.command("AP_History", target={"agent": "scout"}, page={"limit": 100})).ok()
    return [message["content"] for message in answer.content if message["role"] == "user"]


async def test_a_keyed_change_is_sent_again_until_it_is_answered_and_stored_once(
    user: UserEverywhere, network: Network
):
    network.failed = 0.4
    through = user.through[1]
    for number in range(30):
        key = {"Idempotency-Key": f"chat-{number}"}
        (await through.command("AP_Chat", content=f"message {number}", headers=key)).ok()
        (await through.command("AP_Read", target={"agent": "scout"})).ok()
    network.failed = 0.0
    assert await stored(user.through[0]) == [f"message {number}" for number in range(30)]


async def test_a_change_without_a_key_is_never_sent_again_once_it_may_have_begun(
    user: UserEverywhere, network: Network
):
    network.failed = 0.5
    acknowledged: list[str] = []
    unknown: list[str] = []
    for number in range(40):
        answer = await user.through[1].command("AP_Chat", content=f"message {number}")
        if answer.code == 0:
            acknowledged.append(f"message {number}")
        else:
            unknown.append(f"message {number}")
            assert answer.refused(5003, 503).headers["Retry-After"]
            assert "may have been carried out" in answer.note
    network.failed = 0.0
    assert len(acknowledged) > 10
    assert len(unknown) > 3
    found = await stored(user.through[0])
    assert len(found) == len(set(found)), "nothing is stored twice"
    assert [text for text in found if text not in unknown] == acknowledged


async def test_a_node_that_is_cut_off_is_answered_for_as_not_reached(user: UserEverywhere, network: Network):
    network.cut("node0")
    began = monotonic()
    answer = await user.through[1].command("AP_Chat", content="Anybody?")
    assert "nothing was done" in answer.refused(5003, 503).note
    assert answer.headers["Retry-After"]
    assert monotonic() - began > 3, "it was tried for a while"
    network.heal("node0")
    assert await stored(user.through[1]) == []


async def test_a_request_waits_for_an_owner(user: UserEverywhere, nodes: Nodes):
    shard = shard_of((await user.through[0].command("US_Read")).ok().profile[0]["id"])
    await nodes.placed.of["node0"].drained({shard})
    nodes.placed.assign({shard}, None)
    asking = [
        asyncio.create_task(user.through[number % 2].command("AP_Chat", content=f"message {number}"))
        for number in range(6)
    ]
    await asyncio.sleep(0.5)
    assert not any(task.done() for task in asking)
    nodes.placed.assign({shard}, "node1")
    for task in asking:
        (await task).ok()
    assert sorted(await stored(user.through[0])) == [f"message {number}" for number in range(6)]


async def test_a_request_waits_while_its_shard_is_handed_over(
    user: UserEverywhere, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
):
    assert WORK_S < entry.FAIL_OVER_S
    monkeypatch.setattr(entry, "NOT_REACHED_S", 0.0)
    shard = shard_of((await user.through[0].command("US_Read")).ok().profile[0]["id"])
    leaves = nodes.placed.of["node0"]
    leaves.leaving.wait("actors", {shard})
    asking = [asyncio.create_task(client.command("AP_Chat", content="Hello")) for client in user.through]
    for task, node in zip(asking, nodes, strict=True):
        assert isinstance(node.traffic, entry.Forwarding)
        while not (task.done() or node.traffic._map_changes._waiting):
            await asyncio.sleep(0.01)
    await leaves.drained({shard})
    nodes.placed.assign({shard}, "node1")
    leaves.leaving.end({shard})
    for task in asking:
        (await task).ok()


async def test_without_an_owner_for_8_s_a_request_is_refused_as_not_begun(user: UserEverywhere, nodes: Nodes):
    shard = shard_of((await user.through[0].command("US_Read")).ok().profile[0]["id"])
    nodes.placed.assign({shard}, None)
    began = monotonic()
    answers: list[Any] = await asyncio.gather(*(client.command("AP_Chat", content="Hi") for client in user.through))
    assert monotonic() - began > 7
    for answer in answers:
        assert "nothing was done" in answer.refused(5003, 503).note
        assert answer.headers["Retry-After"]
    nodes.placed.assign({shard}, "node0")
    assert await stored(user.through[1]) == []


async def test_the_death_of_a_node_fails_what_waits_for_it_at_once(
    user: UserEverywhere, nodes: Nodes, network: Network
):
    network.delay_s = 3.0
    chat = asyncio.create_task(user.through[1].command("AP_Chat", content="Lost?"))
    read = asyncio.create_task(user.through[1].command("AP_List"))
    while len(nodes[1].post._replies) < 2:  # both are under way
        await asyncio.sleep(0.01)
    network.delay_s = 0.001
    nodes[1].post.lose("node0")
    nodes.placed.take_over("node0", "node1")
    async with asyncio.timeout(30):  # much less than the time that an answer may take
        assert "may have been carried out" in (await chat).refused(5003, 503).note
        (await read).ok()  # sent again to the new owner


async def test_a_request_that_every_node_sends_on_is_refused_as_not_begun(
    user: UserEverywhere, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as nobody:
        nobody.setattr(ClusterDirectory, "serves", lambda _, key: False)
        for client in user.through:
            answer = await client.command("AP_Chat", content="Anybody?")
            assert "too often; nothing was done" in answer.refused(5003, 503).note
            assert answer.headers["Retry-After"]
    assert await stored(user.through[0]) == []
