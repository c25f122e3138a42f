"""Streams over nodes: every event once and in order, whatever the post loses, and whichever node owns the domain."""

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from actors.calls.call import Call
from actors.calls.request import Target, TPSRequest
from actors.commands.zones import follow
from actors.domains.membership import Move
from actors.domains.messages import DOMAIN, DestroyZone, DomainViewer, MoveMember, SayInZone
from actors.domains.streams import TICK_S
from actors.errors import Overloaded
from actors.ids import new_id
from actors.runtime.cluster.shards import shard_of
from actors.sessions.messages import Caller
from persistence import agents, credentials, domains, zones
from persistence.agents import AgentRow
from persistence.credentials import SessionRow
from persistence.domains import DomainRow, ZoneRow
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.core import make_user
from tests.support.loopback_post import Network
from tests.support.nodes import Nodes, running


@dataclass
class Talk:
    """A domain with two zones, whose owner and whose guest have a member in it."""

    nodes: Nodes
    owner: UserRow
    guest: UserRow
    guests_agent: str
    id: str
    name: str
    zones: list[str]

    async def move(self, made: Move) -> None:
        """Move the guest's agent, for the domain's owner."""
        move = MoveMember(DomainViewer(self.owner.id), made, self.guests_agent, "guest", self.guest.id)
        await self.nodes[0].core.directory.ask(DOMAIN, self.id, move)

    async def say(self, text: str, zone: int = 0) -> None:
        """Post to a zone on the node that owns the domain, as a command does that moves there."""
        said = SayInZone(DomainViewer(self.owner.id), self.zones[zone], self.owner.name, text)
        for _ in range(1_000):
            owner = self.nodes.placed.map.owner(self.id)
            try:
                await self.nodes.by_name[owner or ""].core.directory.ask(DOMAIN, self.id, said)
            except Overloaded:
                await asyncio.sleep(0.02)
            else:
                return
        raise AssertionError("no node takes the message")


async def talk_on(nodes: Nodes, index: int) -> Talk:
    """Store a domain whose actor is on a node."""
    store = nodes[0].core.store
    owner, guest = await make_user(nodes[0].core), await make_user(nodes[0].core)
    members = [
        AgentRow(new_id("agt", near=user.id), user.id, user.name, new_id("name"), "", "", "public", True, 0, 0)
        for user in (owner, guest)
    ]
    domain = DomainRow(
        nodes.key_on(index, "dom"),
        owner.id,
        owner.name,
        members[0].id,
        members[0].name,
        new_id("n"),
        "",
        "",
        "public",
        0,
        0,
    )
    rooms = [ZoneRow(new_id("zon", near=domain.id), name, 0) for name in ("lobby", "other")]
    writes = [
        *(agents.insert(agent) for agent in members),
        domains.insert(domain),
        *(domains.put_membership(domain.id, agent.id, "member", 0) for agent in members),
        *(domains.insert_zone(domain.id, zone) for zone in rooms),
    ]
    await store.commit(Unit(tuple(writes)))
    return Talk(nodes, owner, guest, members[1].id, domain.id, domain.name, [zone.id for zone in rooms])


@dataclass
class Reading:
    """What a reader has got: the numbers and texts of its events, and the reason of its end."""

    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    reason: str = ""

    def take(self, data: bytes) -> bool:
        self.numbers += [int(number) for number in re.findall(rb"^id: (\d+)$", data, re.MULTILINE)]
        self.texts += [text.decode() for text in re.findall(rb'"content":"([^"]*)"', data)]
        self.reason += "".join(reason.decode() for reason in re.findall(rb'"reason":"([^"]*)"', data))
        return True

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.texts) < count:
                await asyncio.sleep(0.01)


async def logged_on(talk: Talk, user: UserRow) -> Caller:
    """Store a session of a user."""
    session = SessionRow(new_id("ses", near=user.id), user.id, user.name, os.urandom(32), 0, 2**50)
    await talk.nodes[0].core.store.commit(Unit((credentials.insert(session),)))
    return Caller(session.id, user.id, user.name)


@asynccontextmanager
async def reading(
    talk: Talk, index: int, user: UserRow | None = None, *, straight: bool = True
) -> AsyncIterator[Reading]:
    """Read the lobby on a node, as ZN_Stream does."""
    user = user or talk.owner
    call = Call(talk.nodes[index].core, "r", "192.0.2.1", service="ZN_Stream")
    call.sent_by(await logged_on(talk, user))
    call.says(TPSRequest(target=Target(domain=talk.name)))  # pyright: ignore[reportCallIssue]
    stream, got = await follow(call), Reading()

    async def read() -> None:
        if straight:
            stream.reader.passes_to(got.take)
        while (block := await stream.reader.next(0.2)) is not None:
            got.take(block)

    task = asyncio.create_task(read())
    try:
        yield got
    finally:
        task.cancel()
        stream.reader.close()


async def test_readers_of_all_nodes_get_every_event_of_their_zone(tmp_path: Path):
    async with running(tmp_path, 3) as nodes:
        talk = await talk_on(nodes, 0)
        async with reading(talk, 0) as first, reading(talk, 1) as second, reading(talk, 2, straight=False) as third:
            for number in range(20):
                await talk.say(str(number))
                await talk.say("elsewhere", zone=1)
            for got in (first, second, third):
                await got.until(20)
                assert got.texts == [str(number) for number in range(20)]
                assert got.numbers == list(range(1, 40, 2))
        await asyncio.sleep(0)
        assert not any(node.feed.follows(talk.id) for node in nodes)


async def test_an_event_that_is_lost_with_none_behind_it_is_read_from_the_store(tmp_path: Path):
    async with running(tmp_path, 2, network=Network(dropped=1.0)) as nodes:
        talk = await talk_on(nodes, 0)
        async with reading(talk, 1) as got:
            await talk.say("the only one")
            await got.until(1)
            assert got.texts == ["the only one"]


async def test_a_reader_who_is_put_out_gets_the_event_of_that_and_nothing_after_it(tmp_path: Path):
    async with running(tmp_path, 2, network=Network(dropped=0.5)) as nodes:
        talk = await talk_on(nodes, 0)
        async with reading(talk, 1, talk.guest) as put_out, reading(talk, 1) as stays:
            await talk.say("before")
            await talk.move(Move.BAN)
            await talk.say("after")
            await stays.until(2)
            async with asyncio.timeout(30):
                while not put_out.reason:
                    await asyncio.sleep(0.01)
            assert put_out.texts == ["before"]
            assert put_out.numbers == [1, 2]
            assert put_out.reason == "banned"
            assert stays.numbers == [1, 2, 3]


async def test_the_end_of_a_zone_ends_its_streams_on_every_node(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        talk = await talk_on(nodes, 0)
        reader = nodes[1].core.streams.subscribe(talk.id, talk.zones[1], talk.guest.id, "ses_1")
        await nodes[1].core.directory.ask(DOMAIN, talk.id, DestroyZone(DomainViewer(talk.owner.id), talk.zones[1]))
        assert b"zone destroyed" in (await reader.next(0) or b"")


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20))])
async def test_no_event_is_missed_or_doubled_while_messages_are_lost_and_the_domain_moves(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    network = Network(seed, delay_s=0.05, doubled=0.2, dropped=0.3)
    async with running(tmp_path, 3, network=network) as nodes:
        talk = await talk_on(nodes, seed % 3)

        async def says() -> None:
            for number in range(60):
                await talk.say(str(number), zone=0 if rng.random() < 0.8 else 1)
                await asyncio.sleep(rng.random() * TICK_S)

        async def moves() -> None:
            for _ in range(6):
                await asyncio.sleep(rng.random() / 4)
                await nodes.placed.hand_over({shard_of(talk.id)}, f"node{rng.randrange(3)}")

        async def cuts() -> None:
            for _ in range(4):
                await asyncio.sleep(rng.random() / 3)
                a, b = rng.sample(["node0", "node1", "node2"], 2)
                network.cut(a, b)
                await asyncio.sleep(rng.random() / 3)
                network.heal(a, b)

        async with reading(talk, 0) as first, reading(talk, 1) as second, reading(talk, 2, straight=False) as third:
            await asyncio.gather(says(), moves(), cuts())
            rows = await stored(talk)
            for got in (first, second, third):
                await got.until(len(rows))
                assert got.texts == [text for _, text in rows]
                assert got.numbers == [number for number, _ in rows]


async def stored(talk: Talk) -> list[tuple[int, str]]:
    """Read the lobby's messages with their numbers."""
    found = await talk.nodes[0].core.store.fetch(zones.events_after(talk.id, talk.zones[0], 0, 1000))
    return [(row.number, row.message.content) for row in found if row.message is not None]
