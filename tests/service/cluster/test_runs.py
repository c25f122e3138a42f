"""Runs on three nodes: chatting, reading, following and cancelling, each through any node."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from actors.agents.messages import RunHeard
from actors.agents.runs_under_way import RunUnderWay
from actors.core import CoreOptions
from actors.runtime.cluster.shards import shard_of
from actors.runtime.future import AsyncFuture
from parley_client import AsyncParley, ChatDelta, ChatDone
from tests.gateways.gate import Gate
from tests.gateways.scripted import ScriptedEngine
from tests.support.nodes import Nodes, running
from tests.support.roaming import Entries, UserEverywhere
from tests.support.runs import all_events, cancelled, chatting, followed, run_of, text_of

OPTIONS = CoreOptions(registrations_per_hour=0, default_plan="scale")


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Nodes]:
    async with running(tmp_path, 3, http=True, options=OPTIONS, engine=ScriptedEngine) as nodes:
        yield nodes


@pytest.fixture
async def entries(nodes: Nodes) -> AsyncIterator[Entries]:
    async with AsyncExitStack() as stack:
        yield Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])


async def guest_of_an_agent(entries: Entries) -> UserEverywhere:
    """Return a user at home on node 1 who has selected an agent of node 0."""
    owner, guest = await entries.user_on(0, "owner"), await entries.user_on(1, "guest")
    await owner.through[2].agent("scout-agent", access="public")
    (await guest.through[2].command("AP_Add", target={"agent": "scout-agent"})).ok()
    (await guest.through[2].command("AP_Select", target={"agent": "scout-agent"})).ok()
    return guest


async def test_a_run_is_read_and_followed_through_each_node(entries: Entries, tmp_path: Path):
    guest = await guest_of_an_agent(entries)
    for number, client in enumerate(guest.through):
        gate = Gate(tmp_path / f"gate{number}")
        async with chatting(client, f"say:Grüße wait:{gate} say:🦜") as chat:
            assert (await chat.next()).id == "5"
            assert [(await run_of(other, chat.run))["state"] for other in guest.through] == ["working"] * 3
            async with AsyncExitStack() as stack:
                streams = [await stack.enter_async_context(followed(other, chat.run, "2")) for other in guest.through]
                assert [(await anext(stream)).data["text"] for stream in streams] == ["üße"] * 3
                gate.open()
                rests = [[event async for event in stream] for stream in streams]
            await chat.rest()
        assert [(text_of(events), events[-1].id) for events in rests] == [("🦜", "6.end")] * 3
        assert {events[-1].data["header"]["context"]["agent"] for events in rests} == {"scout-agent"}
        for other in guest.through:
            assert text_of(await all_events(other, chat.run, "4")) == "e🦜"
            assert (await run_of(other, chat.run))["reply"] == chat.events[-1].data["content"][1]
            plain = (await other.command("AP_Chat", content="say:plain")).ok()
            assert (await run_of(client, plain.headers["X-Run-Id"]))["message"] == plain.content[0]


async def test_a_run_is_cancelled_through_each_node(entries: Entries, tmp_path: Path):
    guest = await guest_of_an_agent(entries)
    for number, client in enumerate(guest.through):
        gate = Gate(tmp_path / f"gate{number}")
        async with chatting(guest.through[0], f"say:one wait:{gate}") as chat:
            await chat.next()
            run = (await cancelled(client, chat.run)).body
            assert (await chat.rest())[-1].data["content"][1] == run["reply"]
        assert (run["state"], run["reply"]["content"]) == ("cancelled", "one")
        assert [(await cancelled(other, chat.run)).body for other in guest.through] == [run] * 3
    log = (await guest.through[2].request("GET", "/api/audit?service=cancelRun")).body["entries"]
    assert len(log) == 3, "one row for each run, none for repeats"


async def test_a_run_that_waits_for_its_turn_is_told_read_and_cancelled_through_each_node(
    entries: Entries, tmp_path: Path
):
    guest = await guest_of_an_agent(entries)
    for number, client in enumerate(guest.through):
        gate = Gate(tmp_path / f"gate{number}")
        async with chatting(guest.through[0], f"say:one wait:{gate} say:two") as first:
            await gate.reached()
            async with chatting(client, "say:three") as second:
                assert [(await run_of(other, second.run))["state"] for other in guest.through] == ["working"] * 3
                async with AsyncExitStack() as stack:
                    streams = [await stack.enter_async_context(followed(other, second.run)) for other in guest.through]
                    other = guest.through[(number + 1) % 3]
                    run = (await cancelled(other, second.run)).body
                    assert (run["state"], run["message"]["content"]) == ("cancelled", "say:three")
                    gate.open()
                    assert [[event.data async for event in stream] for stream in streams] == [[run["error"]]] * 3
                assert [event.data for event in await second.rest()] == [run["error"]]
            await first.rest()
        unknown = f"/api/runs/{second.run[:-8]}000000{second.run[-2:]}"
        assert [(await other.request("GET", unknown)).http for other in guest.through] == [404] * 3


async def test_followers_see_the_end_of_a_run_whose_node_died(nodes: Nodes, entries: Entries, tmp_path: Path):
    guest = await guest_of_an_agent(entries)
    client = guest.through[1]
    gate = Gate(tmp_path / "gate")
    async with chatting(guest.through[2], f"say:one wait:{gate}") as chat:
        await chat.next()
        async with followed(client, chat.run) as events:
            assert (await anext(events)).data == {"text": "one"}
            for other in (1, 2):
                nodes[other].post.lose("node0")
            nodes[0].ownership.valid = False
            nodes.placed.take_over("node0", "node1")
            rest = [event async for event in events]
        if not rest:  # the stream ended with its node, so the client goes on
            rest = await all_events(client, chat.run, "3")
    assert ([event.name for event in rest], rest[-1].id) == (["error"], "3.end")
    run = await run_of(client, chat.run)
    assert (run["state"], run["error"]) == ("failed", rest[-1].data)
    gate.open()  # else node0 would wait for the agent when it stops


FOLLOWED = [("GET", 0), ("GET", 1), ("GET", 2), ("A2A", 2), ("JSON-RPC", 1)]
"""Ways to follow a run, and the node of the connection: the agent's, the reader's home, or neither."""


@pytest.mark.parametrize(("way", "entry"), FOLLOWED)
async def test_readers_that_went_away_listen_no_more(
    entries: Entries, tmp_path: Path, way: str, entry: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("actors.agents.runs_under_way.LONGEST_WAIT_S", 0.2)
    listening: list[int] = []

    def listen(run: RunUnderWay, after: int, wait_s: float) -> RunHeard | AsyncFuture[RunHeard]:
        listening.append(after)
        return heard(run, after, wait_s)

    heard = RunUnderWay.listen
    monkeypatch.setattr(RunUnderWay, "listen", listen)
    guest, gate = await guest_of_an_agent(entries), Gate(tmp_path / "gate")
    client = guest.through[entry]
    async with chatting(client, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        asked = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": chat.run}}
        method, path, body = {
            "GET": ("GET", f"/api/runs/{chat.run}/events", None),
            "A2A": ("GET", f"/a2a/scout-agent/tasks/{chat.run}:subscribe", None),
            "JSON-RPC": ("POST", "/a2a/scout-agent", asked),
        }[way]
        headers = client.headers({"A2A-Version": "1.0"})
        for _ in range(3):
            response = await client.http.request(method, client.base + path, json=body, headers=headers)
            assert response.status == 200
            response.close()
        async with asyncio.timeout(30):
            while not listening:
                await asyncio.sleep(0.01)
            while listening:
                listening.clear()
                await asyncio.sleep(1)  # five times the longest wait
        gate.open()
        await chat.rest()


async def test_a_run_whose_stream_was_lost_on_the_way_is_followed_to_its_end(
    nodes: Nodes, entries: Entries, tmp_path: Path
):
    guest, gate = await guest_of_an_agent(entries), Gate(tmp_path / "gate")
    async with chatting(guest.through[2], f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        nodes[2].post.lose("node0")  # the way to the agent, which works on
        *_, last = await chat.rest()
    assert (last.name, last.data["internal_code"], last.id) == ("error", 5003, "3")
    gate.open()
    events = await all_events(guest.through[2], chat.run, last.id)
    assert (text_of(events), events[-1].name, events[-1].id) == ("two", "response", "6.end")


async def test_the_python_client_follows_a_run_whose_stream_was_lost_on_the_way(
    nodes: Nodes, entries: Entries, tmp_path: Path
):
    guest, gate = await guest_of_an_agent(entries), Gate(tmp_path / "gate")
    entry = guest.through[2]
    async with AsyncParley(entry.base, entry.token) as client:
        source = aiter(client.agents.stream_chat(f"say:one wait:{gate} say:two"))
        pieces = [await anext(source)]
        nodes[2].post.lose("node0")
        gate.open()
        pieces += [piece async for piece in source]
    *deltas, done = pieces
    assert "".join(delta.text for delta in deltas if isinstance(delta, ChatDelta)) == "onetwo"
    assert isinstance(done, ChatDone)
    assert done.reply.content == "onetwo"


async def test_a_handed_over_agent_s_ended_runs_stay(nodes: Nodes, entries: Entries):
    guest = await guest_of_an_agent(entries)
    client = guest.through[2]
    run = (await client.command("AP_Chat", content="say:one")).ok().headers["X-Run-Id"]
    await nodes.placed.hand_over({shard_of(run)}, "node2")
    assert text_of(await all_events(client, run, "1")) == "ne"
    assert (await cancelled(client, run)).body["state"] == "completed"
