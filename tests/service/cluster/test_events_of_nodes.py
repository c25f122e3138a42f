"""GET /api/webhooks/stream through any node: the node of the connection reads it, the user's home counts it."""

import asyncio
import uuid
from pathlib import Path

import asyncpg
import pytest

from actors.ids import system_clock
from tests.support.event_stream import emitted, own_events
from tests.support.nodes import running
from tests.support.roaming import Entries
from tests.support.stores import database_for


@pytest.mark.parametrize("entry", range(3))
async def test_a_stream_runs_at_each_node_and_is_counted_once(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(1, unique)
    here = user.through[entry]
    before = (await here.command("US_Read")).ok().profile[0]["quota"]["used"]
    async with own_events(here) as stream:
        for number in range(6):
            await emitted(user.through[number % 3], number)
            async with asyncio.timeout(3):  # sooner than a look without a hint
                assert await stream.numbers(1) == [number]
    after = (await here.command("US_Read")).ok().profile[0]["quota"]["used"]
    assert after == before + 8


async def test_a_stream_goes_on_through_another_node(entries: Entries, unique: str):
    user = await entries.user_on(0, unique)
    seen: list[int] = []
    async with own_events(user.through[0]) as stream:
        last_id, secret = stream.last_id, stream.secret
    for number in range(12):
        await emitted(user.through[number % 3], number)
    for entry in (1, 2, 0):
        async with own_events(user.through[entry], last_id) as stream:
            assert stream.secret == secret
            seen += await stream.numbers(4)
            last_id = stream.last_id
    assert seen == list(range(12))


@pytest.mark.parametrize("entry", range(3))
async def test_a_stream_of_another_node_ends_with_its_session(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(2, unique)
    async with own_events(user.through[entry]) as stream:
        (await user.through[(entry + 1) % 3].command("US_LogOff")).ok()
        assert await stream.end() == "logged off"
    refused = await user.through[entry].request("GET", "/api/webhooks/stream", headers={"Last-Event-ID": "0.0"})
    refused.refused(2001, 401)


async def test_a_reader_that_takes_nothing_is_cut_off_and_resumes(
    entries: Entries, unique: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("routes.gateway.own_events.SLOW_S", 0.5)
    user = await entries.user_on(0, unique)
    here, streams = user.through[0], entries.nodes[0].core.open_streams
    async with own_events(here) as stream:
        last_id = stream.last_id
        credential = next(iter(streams._open)).credential_id
        for number in range(80):
            await emitted(here, number, text="x" * 200_000)
        async with asyncio.timeout(30):
            while streams.of(credential):
                await asyncio.sleep(0.1)
    async with own_events(here, last_id) as stream:
        assert await stream.numbers(80) == list(range(80))


async def test_an_event_that_another_node_commits_late_is_not_missed(tmp_path: Path):
    async with running(tmp_path, 1, http=True) as nodes, nodes.client(0) as client:
        user = await client.register("lovelace")
        user_id = (await user.command("US_Read")).ok().profile[0]["id"]
        connection = await asyncpg.connect(await database_for(tmp_path / "nodes.db"))
        async with own_events(user) as stream:
            late = connection.transaction()
            await late.start()
            await connection.execute(
                "INSERT INTO events (id, user_id, type, data, created_at) VALUES ($1, $2, 'webhook.test', $3, $4)",
                str(uuid.uuid4()),
                user_id,
                '{"number":1}',
                system_clock(),
            )
            await emitted(user, 2)
            await asyncio.sleep(0.3)
            await late.commit()
            await connection.close()
            assert await stream.numbers(2) == [1, 2]
