"""Runs of an instant engine whose work takes long, in process."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.agents.messages import AGENT, CancelRun, HearRun
from actors.agents.runs_under_way import MAX_LISTENERS
from actors.core import CoreOptions
from actors.engines.turn import Reply, Turn
from actors.errors import Overloaded
from actors.slices import Steps
from tests.support.disk import rows
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway, commanded

OPTIONS = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
"""Users ask for a run again and again until it is as it should be, on a slow machine more than a hundred times."""


class Slow:
    """An instant engine that answers in one step, or works on while it is told to."""

    name = "slow"

    def __init__(self) -> None:
        self.held = False

    def replying(self, turn: Turn) -> Steps[Reply]:
        while self.held and turn.message == "long":
            yield
        return Reply(f"answer to {turn.message}")


@pytest.fixture
def engine() -> Slow:
    return Slow()


@pytest.fixture
async def gateway(tmp_path: Path, engine: Slow) -> AsyncIterator[CoreGateway]:
    async with commanded(tmp_path, engine=engine, options=OPTIONS) as gateway:
        yield gateway


@pytest.fixture
async def user(gateway: CoreGateway, unique: str) -> Client:
    user = await CommandClient(gateway).register(f"{unique}-user")
    await user.agent(f"{unique}-agent")
    return user


async def messages(user: Client) -> list[tuple[str, str | None]]:
    return [(message["content"], message["mark"]) for message in (await user.command("AP_History")).ok().content]


async def turns() -> None:
    """Let the loop turn a number of times, in which actors take in what they were sent, also after a pause."""
    for _ in range(50):
        await asyncio.sleep(0.001)


async def begun(user: Client, number: int) -> str:
    """Return the run of the message with a seq, once it can be read."""
    async with asyncio.timeout(30):
        while len(said := (await user.command("AP_History")).ok().content) < number:
            await asyncio.sleep(0.01)
    return said[number - 1]["id"].replace("msg_", "run_")


async def failed_once(user: Client, engine: Slow, content: str) -> dict[str, str]:
    """Leave a message without a reply, and return the headers that go on with it."""
    headers = {"Idempotency-Key": content}
    replying, engine.replying = engine.replying, broken
    (await user.command("AP_Chat", content=content, headers=headers)).refused(5001, 502)
    engine.replying = replying
    return headers


def broken(turn: Turn) -> Steps[Reply]:
    raise RuntimeError("out of order")
    yield


async def test_the_last_error_of_a_run_is_stored_until_it_has_its_reply(tmp_path: Path, engine: Slow):
    async with commanded(tmp_path, engine=engine, options=OPTIONS) as gateway:
        user = await CommandClient(gateway).register("lovelace")
        await user.agent("scout-agent")
        (await user.command("AP_Chat", content="short")).ok()
        headers = await failed_once(user, engine, "short")
        run = await begun(user, 3)
        await failed_once(user, engine, "short")  # an unfinished run goes on with its message
        assert await begun(user, 3) == run
        error = (await user.request("GET", f"/api/runs/{run}")).body["error"]
        assert await stored_errors(gateway) == [(run.replace("run_", "msg_"), 5001, error["note"])]
    async with commanded(tmp_path, engine=engine, options=OPTIONS) as gateway:
        user = CommandClient(gateway).as_user(user.token, user.name)
        failed = (await user.request("GET", f"/api/runs/{run}")).body
        assert (failed["state"], failed["error"]) == ("failed", error)
        (await user.command("AP_Chat", content="short", headers=headers)).ok()
        assert (await user.request("GET", f"/api/runs/{run}")).body["state"] == "completed"
        assert await stored_errors(gateway) == []


async def test_the_copy_of_a_failed_run_in_a_fork_has_its_error(user: Client, engine: Slow, gateway: CoreGateway):
    (await user.command("AP_Chat", content="short")).ok()
    await failed_once(user, engine, "short")
    (await user.command("AP_Chat", content="afterwards")).ok()
    said = (await user.command("AP_History")).ok().content
    fork = {"target": {"conversation": said[0]["conversation"]}, "vx": {"seq": 4}}
    fork = (await user.command("CV_Fork", **fork)).ok().profile[0]["id"]
    copied = (await user.command("AP_History", target={"conversation": fork})).ok().content
    runs = [message["id"].replace("msg_", "run_") for message in (said[2], copied[2])]
    failed, copy = [(await user.request("GET", f"/api/runs/{run}")).body for run in runs]
    assert (failed["state"], failed["error"]["internal_code"]) == ("failed", 5001)
    assert (copy["state"], copy["error"], copy["conversation"]) == ("failed", failed["error"], fork)
    assert len(await stored_errors(gateway)) == 2


async def stored_errors(gateway: CoreGateway) -> list[tuple[object, ...]]:
    return await rows(gateway.core.store, "SELECT message_id, internal_code, note FROM failed_runs")


async def test_no_more_than_64_clients_follow_a_run(user: Client, engine: Slow, gateway: CoreGateway):
    headers = await failed_once(user, engine, "long")
    run = await begun(user, 1)
    engine.held = True
    chat = asyncio.create_task(user.command("AP_Chat", content="long", headers=headers))
    while (await user.request("GET", f"/api/runs/{run}")).body["state"] != "working":
        await asyncio.sleep(0.01)
    user_id = (await user.command("US_Read")).ok().profile[0]["id"]
    agent_id = (await user.command("AP_Read")).ok().profile[0]["id"]
    hearing = HearRun(user_id, run.replace("run_", "msg_"), 0, wait_s=60)
    asks = [asyncio.create_task(gateway.core.directory.ask(AGENT, agent_id, hearing)) for _ in range(MAX_LISTENERS)]
    await turns()
    with pytest.raises(Overloaded):
        await gateway.core.directory.ask(AGENT, agent_id, hearing)
    engine.held = False
    assert {heard.state for heard in await asyncio.gather(*asks)} == {"ended"}
    (await chat).ok()


async def test_long_work_of_an_instant_engine_is_cancelled(user: Client, engine: Slow, gateway: CoreGateway):
    headers = await failed_once(user, engine, "long")
    run = await begun(user, 1)
    engine.held = True
    chat = asyncio.create_task(user.command("AP_Chat", content="long", headers=headers))
    while (await user.request("GET", f"/api/runs/{run}")).body["state"] != "working":
        await asyncio.sleep(0.01)
    following = asyncio.create_task(user.command("AP_Chat", content="short"))
    answer = await user.request("POST", f"/api/runs/{run}/cancel")
    assert (answer.body["state"], answer.body["reply"]) == ("cancelled", None)
    assert [(id, code) for id, code, _ in await stored_errors(gateway)] == [(run.replace("run_", "msg_"), 3002)]
    (await chat).refused(3002, 409)
    assert (await following).ok().content[1]["content"] == "answer to short"
    assert await messages(user) == [("long", "cancelled"), ("short", None), ("answer to short", None)]
    engine.held = False
    (await user.command("AP_Chat", content="long")).ok()
    assert [content for content, _ in await messages(user)][3:] == ["long", "answer to long"]


async def test_a_chat_that_waits_behind_an_instant_engine_is_cancelled_at_once(user: Client, engine: Slow):
    headers = await failed_once(user, engine, "short")
    run = await begun(user, 1)
    engine.held = True
    chat = asyncio.create_task(user.command("AP_Chat", content="long"))
    await turns()
    waiting = asyncio.create_task(user.command("AP_Chat", content="short", headers=headers))
    while (await user.request("GET", f"/api/runs/{run}")).body["state"] != "working":
        await asyncio.sleep(0.01)
    assert (await user.request("POST", f"/api/runs/{run}/cancel")).body["state"] == "cancelled"
    (await waiting).refused(3002, 409)
    assert not chat.done()
    engine.held = False
    assert (await chat).ok().content[1]["content"] == "answer to long"
    assert await messages(user) == [("short", "cancelled"), ("long", None), ("answer to long", None)]


async def test_a_chat_that_was_never_stored_is_cancelled_at_its_turn(user: Client, engine: Slow, gateway: CoreGateway):
    """No client can know its run, but the agent's actor takes the message all the same."""
    engine.held = True
    chat = asyncio.create_task(user.command("AP_Chat", content="long"))
    await turns()
    waiting = asyncio.create_task(user.command("AP_Chat", content="short"))
    user_id = (await user.command("US_Read")).ok().profile[0]["id"]
    agent_id = (await user.command("AP_Read")).ok().profile[0]["id"]
    directory: Any = gateway.core.directory
    under_way = directory._actors[AGENT, agent_id]._chats.runs._runs
    while len(under_way) < 2 or len(waits := [id for id, run in under_way.items() if run.said is None]) != 1:
        await asyncio.sleep(0.01)
    (message_id,) = waits
    cancelling = asyncio.create_task(
        gateway.core.directory.ask(AGENT, agent_id, CancelRun(user_id, message_id), timeout=60)
    )
    await turns()
    assert not waiting.done()
    engine.held = False
    await cancelling
    (await waiting).refused(3002, 409)
    (await chat).ok()
    assert await messages(user) == [("long", None), ("answer to long", None), ("short", "cancelled")]
