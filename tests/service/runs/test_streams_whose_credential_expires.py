"""Open streams of chats are a use of their session, and end when their credential expires (docs/contract.md, Chat)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.clock import DAY_MS, ClockFile
from tests.support.gateway import Client, running
from tests.support.operator import on_plan
from tests.support.runs import DOORS, FOLLOWING, chatting

TTL_S = 6
"""The idle life of sessions, which is short so that uses are noted often."""


@pytest.fixture
def clock(tmp_path: Path) -> ClockFile:
    return ClockFile(tmp_path / "clock")


@pytest.fixture
async def user(tmp_path: Path, clock: ClockFile) -> AsyncIterator[Client]:
    """A user who may make API keys."""
    settings = {"TEST_CLOCK": str(clock.path), "TEST_SCRIPTED": "1", "PARLEY_SESSION_TTL_S": str(TTL_S)}
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as nobody,
    ):
        yield await on_plan(await nobody.register("lovelace"), "builder")


async def heard(response: aiohttp.ClientResponse) -> aiohttp.ClientResponse:
    """Wait for the first piece of a reply."""
    assert response.status == 200, await response.text()
    text = b""
    while b"one" not in text.replace(b"say:one", b""):
        text += await response.content.readany()
    return response


async def test_streams_end_when_the_api_key_of_their_reader_expires(user: Client, clock: ClockFile, gate: Gate):
    made = (await user.request("POST", "/api/api-keys", json={"name": "a key", "expires_in_days": 1})).body
    key = user.as_user(made["key"], user.name)
    async with asyncio.timeout(60), AsyncExitStack() as streams:
        answers: list[aiohttp.ClientResponse] = []
        for number, door in enumerate(DOORS.values()):
            await user.agent(f"scout-{number}", select=False)
            path, body, headers = door(f"scout-{number}", f"say:one wait:{gate} say:two")
            asked = key.http.post(key.base + path, json=body, headers=key.headers(headers))
            answers.append(await heard(await streams.enter_async_context(asked)))
        run = answers[0].headers["X-Run-Id"]
        followers: list[aiohttp.ClientResponse] = []
        for following in FOLLOWING:
            method, path, body, headers = following(run, "scout-0")
            asked = key.http.request(method, key.base + path, json=body, headers=key.headers(headers))
            followers.append(await heard(await streams.enter_async_context(asked)))
        clock.move(DAY_MS)
        for answer in answers:
            assert b"This session or API key has ended" in await answer.content.read()
        for follower in followers:
            await follower.content.read()  # to the end, which does not wait for the engine
        gate.open()


async def test_a_chat_that_streams_keeps_its_session(user: Client, clock: ClockFile, gate: Gate):
    async def last_used() -> str:
        watcher = await user.log_on(user.name)
        listed = (await watcher.command("US_Sessions")).ok().profile
        (await watcher.command("US_LogOff")).ok()
        return next((one["last_used_at"] for one in listed if not one["current"]), "expired")

    await user.agent("scout")
    async with chatting(user, f"say:one wait:{gate} say:two") as chat, asyncio.timeout(60):
        await chat.next()
        for _ in range(4):
            before = await last_used()
            clock.move(TTL_S * 200)  # with two moves between two uses it is not too late either
            while await last_used() == before:
                await asyncio.sleep(0.1)
        gate.open()
        assert [event.name for event in await chat.rest()] == ["delta", "delta", "response"]
    (await user.command("US_Read")).ok()
