"""Webhooks on several nodes: each shard's deliveries are sent by its owner, also after the owners have changed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from actors.agents.messages import AGENT, UpdateAgent
from actors.core import Core, CoreOptions, WebhookOptions
from actors.egress.outbound import Outbound
from actors.ids import new_id
from actors.jobs.delivering import ShardsDue, keep_delivering
from actors.runtime.cluster.shards import shard_of
from actors.runtime.local_directory import LocalDirectory
from actors.webhooks import attempts
from actors.webhooks.messages import (
    DISPATCHER,
    WEBHOOKS,
    CreateEndpoint,
    Recover,
    SendTest,
    Wake,
    dispatcher_of_shard,
)
from actors.webhooks.schedule import FIRST_IN_FLIGHT
from persistence import agents, deliveries, endpoints, users
from persistence.agents import AgentChanges, AgentRow
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.nodes import Nodes, running
from tests.support.receiver import Answer, Received, Receiver, receiving, status, thanks
from tests.support.stores import postgres_only

pytestmark = postgres_only

OPTIONS = CoreOptions(
    idle_s=0.2, webhooks=WebhookOptions(outbound=Outbound(allow_insecure=True), retry_delays_s=(0.5, 0.5, 3600))
)


@asynccontextmanager
async def nodes_of(folder: Path, count: int = 2) -> AsyncIterator[Nodes]:
    async with running(folder, count, options=OPTIONS) as nodes:
        yield nodes


async def user_on(nodes: Nodes, index: int) -> str:
    id = nodes.key_on(index)
    row = UserRow(id, id, None, None, "hash", "enterprise", None, 0)
    await nodes[index].core.store.commit(Unit((users.insert(row),)))
    return id


async def with_endpoint(nodes: Nodes, index: int, receiver: Receiver, event_type: str = "webhook.test") -> str:
    user_id = await user_on(nodes, index)
    message = CreateEndpoint(receiver.url, (event_type,), True, None)
    await nodes[index].core.directory.ask(WEBHOOKS, user_id, message)
    return user_id


async def send(core: Core, user_id: str, *numbers: int) -> None:
    for number in numbers:
        await core.directory.ask(WEBHOOKS, user_id, SendTest("webhook.test", {"n": number}))


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not reached():
            await asyncio.sleep(0.005)


def live(core: Core) -> set[str]:
    return {found.key for found in core.directory.statuses(DISPATCHER)}


async def passivated(core: Core, user_id: str) -> None:
    """Passivate idle actors until the dispatcher of a user has ended."""
    assert isinstance(core.directory, LocalDirectory)
    async with asyncio.timeout(30):
        while dispatcher_of_shard(user_id) in live(core):
            await core.directory.passivate_idle()
            await asyncio.sleep(0.01)


def hanging(released: asyncio.Event) -> Answer:
    """Answer no request before an event."""

    async def answer(_: Received) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    return answer


def numbers(receiver: Receiver) -> list[int]:
    return [received.event["data"]["n"] for received in receiver.received]


async def test_a_users_deliveries_are_sent_at_once_by_the_owner_of_its_shard_alone(tmp_path: Path):
    async with receiving() as receiver, nodes_of(tmp_path) as nodes:
        one, other = await with_endpoint(nodes, 0, receiver), await with_endpoint(nodes, 1, receiver)
        await send(nodes[0].core, one, 1)
        await send(nodes[1].core, other, 2)
        assert len(await receiver.got(2)) == 2  # without keep_delivering: the notice starts the dispatcher
        assert sorted(numbers(receiver)) == [1, 2]
        assert live(nodes[0].core) == {dispatcher_of_shard(one)}
        assert live(nodes[1].core) == {dispatcher_of_shard(other)}


async def test_an_event_whose_unit_concerns_all_nodes_is_sent_by_the_owner_alone(tmp_path: Path):
    released = asyncio.Event()
    async with receiving(hanging(released)) as receiver, nodes_of(tmp_path, 3) as nodes:
        core = nodes[1].core
        user_id = await with_endpoint(nodes, 1, receiver, "agent.deployment.updated")
        agent = AgentRow(new_id("agt", near=user_id), user_id, user_id, "scout", "", None, "agent", True, 0, 0)
        await core.store.commit(Unit((agents.insert(agent),)))
        renamed = UpdateAgent(user_id, AgentChanges("ranger", None, None, None))  # others load the agent's name anew
        await core.directory.ask(AGENT, agent.id, renamed)
        await receiver.got(1)
        await asyncio.sleep(0.3)  # other nodes would find the delivery still due
        assert len(receiver.received) == 1
        assert [live(node.core) for node in nodes] == [set(), {dispatcher_of_shard(user_id)}, set()]
        released.set()


async def test_a_shard_that_is_handed_over_leaves_after_the_attempts_under_way_and_none_is_made_twice(tmp_path: Path):
    released = asyncio.Event()
    async with receiving(hanging(released)) as receiver, nodes_of(tmp_path) as nodes:
        nodes[0].ownership.drained = partial(nodes[0].directory.drained, grace_s=30)
        user_id = await with_endpoint(nodes, 0, receiver)
        await send(nodes[0].core, user_id, *range(FIRST_IN_FLIGHT + 10))
        await receiver.got(FIRST_IN_FLIGHT)
        leaving = asyncio.create_task(nodes.placed.hand_over([shard_of(user_id)], "node1"))
        await asyncio.sleep(0.2)
        assert not leaving.done()
        released.set()
        await leaving
        assert sorted(numbers(receiver)) == list(range(FIRST_IN_FLIGHT))
        task = asyncio.create_task(keep_delivering(nodes[1].core))
        await receiver.got(FIRST_IN_FLIGHT + 10)
        await until(lambda: nodes[1].core.deliveries.states == {"succeeded": 10})
        task.cancel()
        assert sorted(numbers(receiver)) == list(range(FIRST_IN_FLIGHT + 10))


async def test_a_dispatcher_ends_when_nothing_waits_and_stays_while_something_does(tmp_path: Path):
    async with receiving() as receiver, nodes_of(tmp_path) as nodes:
        core = nodes[0].core
        at_rest, waiting = await with_endpoint(nodes, 0, receiver), await with_endpoint(nodes, 0, receiver)
        while dispatcher_of_shard(at_rest) == dispatcher_of_shard(waiting):
            waiting = await with_endpoint(nodes, 0, receiver)
        await send(core, at_rest, 1)
        await receiver.got(1)
        receiver.answer = status(500)
        await send(core, waiting, 2)
        await receiver.got(3)  # tried again
        await asyncio.sleep(0.3)
        await passivated(core, at_rest)
        assert live(core) == {dispatcher_of_shard(waiting)}


async def test_after_a_take_over_the_new_owner_delivers_what_is_due_however_much_of_it_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("actors.jobs.delivering.PAGE", 2)
    async with receiving(status(500)) as receiver, nodes_of(tmp_path) as nodes:
        owners = [await with_endpoint(nodes, 0, receiver) for _ in range(7)]
        look = ShardsDue(nodes[1].core)
        assert await look.next() == {}
        for number, user_id in enumerate(owners):
            await send(nodes[0].core, user_id, number)
        await receiver.got(7)
        await nodes[0].core.stop(5)
        nodes.placed.take_over("node0", "node1")
        await asyncio.sleep(0.6)  # their next attempts are due
        receiver.answer = thanks
        receiver.received.clear()
        found = await look.next()
        assert set(found) == {dispatcher_of_shard(user_id) for user_id in owners}
        assert sum(map(len, found.values())) == 7
        task = asyncio.create_task(keep_delivering(nodes[1].core))
        await receiver.got(7)
        task.cancel()
        assert sorted(set(numbers(receiver))) == list(range(7))


async def test_only_dispatchers_with_something_due_are_woken(tmp_path: Path):
    async with receiving() as receiver, nodes_of(tmp_path) as nodes:
        core = nodes[0].core
        user_id = await with_endpoint(nodes, 0, receiver)
        await passivated(core, user_id)
        task = asyncio.create_task(keep_delivering(core))
        await asyncio.sleep(0.2)
        assert live(core) == set()
        await core.store.commit(Unit(core.outbox.emit(user_id, "webhook.test", {"n": 5})))  # a lost wake-up
        await receiver.got(1)
        task.cancel()
        assert live(core) == {dispatcher_of_shard(user_id)}


async def test_a_recovery_is_continued_by_the_dispatcher_of_its_shard(tmp_path: Path):
    async with receiving() as receiver, nodes_of(tmp_path) as nodes:
        core = nodes[0].core
        first, second = await with_endpoint(nodes, 0, receiver), await with_endpoint(nodes, 1, receiver)
        for node, user_id in ((nodes[0], first), (nodes[1], second)):
            await send(node.core, user_id, 1)
        await receiver.got(2)
        rows = {user_id: (await core.store.fetch(endpoints.of_user(user_id)))[0] for user_id in (first, second)}
        for row in rows.values():
            await core.store.commit(Unit((deliveries.begin_recovery(row.number, 0, 0),)))
        assert set(await ShardsDue(core).next()) == {dispatcher_of_shard(first)}
        await core.directory.ask(DISPATCHER, dispatcher_of_shard(first), Wake())
        await core.directory.ask(WEBHOOKS, first, Recover(rows[first].id, 0, 0, 1))

        async def left() -> list[str]:
            return await core.store.fetch(deliveries.RECOVERING)

        async with asyncio.timeout(30):
            while await left() != [second]:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert await left() == [second]


async def test_the_bound_of_attempts_under_way_is_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attempts, "IN_FLIGHT", 3)
    released = asyncio.Event()
    async with receiving(hanging(released)) as receiver, nodes_of(tmp_path) as nodes:
        core = nodes[0].core
        owners = [await with_endpoint(nodes, 0, receiver) for _ in range(3)]
        await send(core, owners[0], *range(10))
        await receiver.got(3)
        await send(core, owners[1], 10, 11)
        await send(core, owners[2], 12, 13)
        await receiver.got(5)  # beyond the bound each endpoint has one
        await asyncio.sleep(0.2)
        assert len(receiver.received) == core.deliveries.in_flight == 5
        released.set()
        await receiver.got(14)
        await until(lambda: core.deliveries.in_flight == 0)
        assert core.deliveries.states == {"succeeded": 14}
