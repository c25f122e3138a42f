"""Notices over nodes: none is missed, whatever is lost, and the answer waits until every node has acted on them."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from actors.agents.actor import AgentActor
from actors.agents.messages import AGENT, AgentsSilenced, ReadAgent, SetStopped
from actors.engines.turn import Piece, Recalled, Turn
from actors.errors import InternalError, InvalidCredential
from actors.ids import new_id
from actors.runtime.cluster.shards import SHARDS, shard_of
from actors.runtime.mailbox import Tell
from actors.runtime.notices import Announced, Reload
from actors.sessions.messages import KEY, SESSION, Authorize, EndSession
from actors.sessions.tokens import token_hash
from actors.users.messages import USER, RevokeKey
from persistence import agents, credentials
from persistence.agents import AgentRow
from persistence.credentials import SessionRow
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.core import make_user
from tests.support.gateway import Client
from tests.support.loopback_post import Network
from tests.support.nodes import BEAT_S, Nodes, running
from tests.support.sharing import with_a_bank


class Rung(Tell, frozen=True):
    """Announced by a test."""

    number: int


async def key_of(nodes: Nodes, user_id: str, on: int) -> SessionRow:
    """Store an API key of a user whose actor is on another node than the user's: an id from before 0.3.0."""
    token = token_hash(user_id)
    row = SessionRow(nodes.key_on(on, "key"), user_id, "name", token, 0, 0, kind="key", name="k", prefix="p")
    await nodes[0].core.store.commit(Unit((credentials.insert(row),)))
    return row


async def user_on(nodes: Nodes, index: int) -> UserRow:
    """Store a user whose actor is on a node."""
    while nodes.placed.map.owner((user := await make_user(nodes[0].core)).id) != f"node{index}":
        pass
    return user


async def test_a_revoked_key_is_refused_and_its_stream_has_ended_on_every_node_from_the_answer_on(tmp_path: Path):
    async with running(tmp_path, 3) as nodes:
        user = await user_on(nodes, 0)
        key = await key_of(nodes, user.id, 1)
        caller = await nodes[2].core.directory.ask(KEY, key.id, Authorize(key.token_hash))
        reader = nodes[2].core.streams.subscribe("dom_1", "zon_1", user.id, caller.credential_id)
        await nodes[0].core.directory.ask(USER, user.id, RevokeKey(key.id))
        assert await reader.next(0) == b'event: end\ndata: {"reason":"revoked"}\n\n'
        for node in nodes:
            with pytest.raises(InvalidCredential):
                await node.core.directory.ask(KEY, key.id, Authorize(key.token_hash))


async def test_without_a_post_the_answer_waits_for_the_heartbeats(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        user = await make_user(nodes[0].core)
        session = SessionRow(nodes.key_on(0, "ses"), user.id, user.name, b"1", 0, 2**50)
        await nodes[0].core.store.commit(Unit((credentials.insert(session),)))
        reader = nodes[1].core.streams.subscribe("dom_1", "zon_1", user.id, session.id)
        nodes.network.cut("node0")
        nodes[1].ownership.beats = False
        ending = asyncio.create_task(nodes[0].core.directory.ask(SESSION, session.id, EndSession()))
        await asyncio.sleep(0.5)
        assert not ending.done()
        nodes[1].ownership.beats = True
        await ending
        assert await reader.next(0) == b'event: end\ndata: {"reason":"revoked"}\n\n'


async def test_the_answer_does_not_wait_for_a_dead_node(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        nodes[1].ownership.beats = False
        nodes.network.cut("node1")
        announcing = asyncio.create_task(nodes[0].core.directory.announce([Reload(AGENT, (nodes.key_on(1),))]))
        await asyncio.sleep(0.5)
        assert not announcing.done()
        nodes.placed.take_over("node1", "node0")
        await announcing


async def test_a_unit_in_doubt_is_acted_on_where_it_was_stored(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        rung: list[int] = []
        for node in nodes:
            node.directory.listen(Rung, lambda message: rung.append(message.number))
        posting = nodes[0].directory.prepare([Announced(Rung(1))])
        await nodes[0].core.store.commit(Unit(tuple(posting.writes)))
        posting.drop()  # as after an error whose end the store does not know
        while len(rung) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert rung == [1, 1]


async def test_the_answer_waits_for_what_another_node_is_still_acting_on(tmp_path: Path):
    """Also where the push is sent again meanwhile, and the heartbeat shows the notice."""
    async with running(tmp_path, 2, network=Network(0)) as nodes:
        acted = asyncio.Event()
        begun: list[int] = []

        def slowly(message: Rung) -> Awaitable[None]:
            begun.append(message.number)
            return _until(acted)

        nodes[1].directory.listen(Rung, slowly)
        announcing = asyncio.create_task(nodes[0].core.directory.announce([Announced(Rung(1))]))
        while not begun:
            await asyncio.sleep(0.01)
        nodes[0].post.lose("node1")  # the push is sent again
        await asyncio.sleep(0.2)
        nodes[0].post.lose("node1")
        await asyncio.sleep(3 * BEAT_S)
        assert not announcing.done()
        acted.set()
        await announcing
        assert begun == [1]


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def test_a_shard_that_leaves_takes_along_what_open_units_change_under_its_actors(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        agent = await agent_on(nodes, 0)
        await nodes[0].core.directory.ask(AGENT, agent.id, ReadAgent(agent.owner_id))
        posting = nodes[0].directory.prepare([Reload(AGENT, (agent.id,))])  # of a unit that is not stored yet
        assert posting.writes == ()
        moving = asyncio.create_task(nodes.placed.hand_over({int(agent.id[-2:], 16)}, "node1"))
        await asyncio.sleep(0.3)
        assert not moving.done()
        posting.deliver()
        await moving


async def agent_on(nodes: Nodes, index: int) -> AgentRow:
    """Store an agent whose actor is on a node."""
    user = await make_user(nodes[0].core)
    agent = AgentRow(nodes.key_on(index, "agt"), user.id, user.name, new_id("name"), "", "", "public", True, 0, 0)
    await nodes[0].core.store.commit(Unit((agents.insert(agent),)))
    return agent


async def test_a_shard_leaves_when_several_open_units_are_settled_at_once(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        directory = nodes[0].directory
        postings = [directory.prepare([Announced(Rung(number))]) for number in range(3)]
        leaving = asyncio.create_task(directory.drained({0}))
        await asyncio.sleep(0.1)
        assert not leaving.done()
        for posting in postings:
            posting.drop()
        await asyncio.wait_for(leaving, 30)


async def test_a_fault_behind_a_commit_keeps_no_notice_back_and_no_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    async with running(tmp_path, 2) as nodes:
        agent = await agent_on(nodes, 0)
        await nodes[0].core.directory.ask(AGENT, agent.id, ReadAgent(agent.owner_id))
        heard: list[AgentsSilenced] = []
        nodes[1].directory.listen(AgentsSilenced, heard.append)
        monkeypatch.setattr(AgentActor, "_hold_agent", fails)
        with pytest.raises(InternalError, match="was saved"):
            await nodes[0].core.directory.ask(AGENT, agent.id, SetStopped(True))
        assert heard == [AgentsSilenced(agent.id)]
        await asyncio.wait_for(nodes[0].directory.drained({shard_of(agent.id)}), 30)


async def test_a_crash_between_commit_and_push_loses_no_notice(tmp_path: Path):
    async with running(tmp_path, 3) as nodes:
        user = await user_on(nodes, 0)
        key = await key_of(nodes, user.id, 1)
        authorize = Authorize(key.token_hash)
        await nodes[1].core.directory.ask(KEY, key.id, authorize)
        nodes.network.cut("node0")
        nodes[1].ownership.beats = False
        revoking = asyncio.create_task(nodes[0].core.directory.ask(USER, user.id, RevokeKey(key.id)))
        while await nodes[1].core.store.fetch(credentials.by_id(key.id)):
            await asyncio.sleep(0.01)
        revoking.cancel()
        nodes[0].ownership.valid = nodes[0].ownership.beats = False
        nodes.placed.take_over("node0", "node2")
        await nodes[1].core.directory.ask(KEY, key.id, authorize)  # nothing has told it yet
        before = nodes.placed.nodes["node1"].seen
        nodes[1].ownership.beats = True
        while (seen := nodes.placed.nodes["node1"].seen) == before:
            await asyncio.sleep(BEAT_S)
        assert seen > before
        with pytest.raises(InvalidCredential):
            await nodes[1].core.directory.ask(KEY, key.id, authorize)


class Repeating:
    """An engine that repeats what it was given: memories, and the conversation so far, which agents hold in memory."""

    name = "repeating"

    async def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        yield " ".join([*(memory.text for memory in turn.memories), *(said.content for said in turn.window)])
        for memory in turn.memories:
            yield Recalled(memory.position)


async def test_a_censored_word_is_in_no_answer_of_another_node_from_the_answer_on(tmp_path: Path, unique: str):
    async with (
        running(tmp_path, 2, http=True, engine=Repeating) as nodes,
        nodes.client(0) as one,
        nodes.client(1) as other,
    ):
        nodes.placed.assign(range(SHARDS), "node0")
        two = await with_a_bank(await one.register(f"{unique}-owner"), await one.register(f"{unique}-guest"), unique)
        await two.share("read")
        if await shard(nodes, two.guest) == await shard(nodes, two.owner):
            pytest.skip("both users are in one shard, which happens once in 256 times")
        await nodes.placed.hand_over({await shard(nodes, two.guest)}, "node1")
        guest = other.as_user(two.guest.token)
        chat = {"target": {"agent": two.visitor}, "content": "How far is the Moon?"}
        assert "384,400" in str((await guest.command("AP_Chat", **chat)).ok().body)
        assert "384,400" in str((await guest.command("AP_History", target=chat["target"])).ok().body)
        (await two.owner.command("MB_Censor", target={"bank": two.bank}, vx={"name": "moon"})).ok()
        for service in ("AP_History", "AP_Chat"):
            answer = await guest.command(service, **(chat if service == "AP_Chat" else {"target": chat["target"]}))
            assert "384,400" not in str(answer.ok().body)


async def shard(nodes: Nodes, user: Client) -> int:
    """Return the shard of a user's credential, and so of all that is the user's."""
    return shard_of(await nodes[0].core.credentials.home_of(user.token))


@pytest.mark.parametrize("seed", range(3))
async def test_every_node_acts_on_every_announcement_under_faults(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    network = Network(seed, failed=0.4, delay_s=0.01)
    async with running(tmp_path, 3, network=network) as nodes:
        heard: dict[str, set[int]] = {node.name: set() for node in nodes}
        for node in nodes:
            node.directory.listen(Rung, lambda message, name=node.name: heard[name].add(message.number))

        async def announce(number: int) -> None:
            await asyncio.sleep(rng.random())
            await nodes[rng.randrange(3)].directory.announce([Announced(Rung(number))])
            assert all(number in numbers for numbers in heard.values())  # from the answer on

        async def faults() -> None:
            for _ in range(6):
                name = f"node{rng.randrange(3)}"
                network.cut(name)
                await asyncio.sleep(rng.random() / 5)
                network.heal(name)

        await asyncio.gather(faults(), *[announce(number) for number in range(40)])
        assert all(numbers == set(range(40)) for numbers in heard.values())
