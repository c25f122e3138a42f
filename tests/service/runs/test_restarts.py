"""Runs after a restart and after a crash, and on the way through an instant engine and a streaming one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.runs import all_events, cancelled, chatting, run_of, text_of

ADVICE = {
    "/api/runs/run_{}": "Your message is kept; send it again with the same Idempotency-Key",
    "/a2a/scout-agent/tasks/run_{}": "Your message is kept; send it again with the same messageId",
    "/a2a/scout-agent/tasks": "Your message is kept; send it again with the same messageId",
    "/v1/responses/resp_{}": "Send the request again",
}
"""What a door's record of a run that was cut off advises."""


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    async with running(tmp_path / "data", script=ENGINES / "scripted.py", TEST_GRACE_S="1") as gateway:
        yield gateway


async def with_agent(gateway: GatewayProcess, client: Client) -> Client:
    user = await client.register("lovelace")
    await user.agent("scout-agent")
    return user


async def test_an_ended_run_is_resumed_after_a_restart(gateway: GatewayProcess):
    async with gateway.client() as client:
        user = await with_agent(gateway, client)
        async with chatting(user, "say:Grüße say:🦜 say:end") as chat:
            *_, last = await chat.rest()
        failed = await user.command("AP_Chat", content="say:one fail")
        assert failed.code == 5001
        unanswered = (await user.command("AP_History")).ok().content[-1]["id"].replace("msg_", "run_")
        as_it_failed = await run_of(user, unanswered)
    assert await gateway.stop() == 0
    await gateway.start()
    async with gateway.client() as client:
        user = await client.log_on("lovelace")
        run = await run_of(user, chat.run)
        assert (run["state"], run["reply"]) == ("completed", last.data["content"][1])
        for at in range(10):
            events = await all_events(user, chat.run, str(at))
            assert text_of(events) == "Grüße🦜end"[at:]
            assert (events[-1].id, events[-1].data["content"]) == (last.id, last.data["content"])
        assert await run_of(user, unanswered) == as_it_failed
        assert (as_it_failed["state"], as_it_failed["error"]["internal_code"]) == ("failed", 5001)
        assert [event.name for event in await all_events(user, unanswered)] == ["error"]


async def test_a_run_that_a_crash_cut_off_is_failed_and_its_message_is_kept(gateway: GatewayProcess, tmp_path: Path):
    gate = Gate(tmp_path / "gate")
    content = f"say:one wait:{gate} say:two"
    headers = {"Idempotency-Key": "once"}
    async with gateway.client() as client:
        user = await with_agent(gateway, client)
        chat = asyncio.create_task(user.command("AP_Chat", content=content, headers=headers))
        await gate.reached()
        message = (await user.command("AP_History")).ok().content[0]
        await gateway.kill()
        await asyncio.gather(chat, return_exceptions=True)
    run_id = message["id"].replace("msg_", "run_")
    await gateway.start()
    async with gateway.client() as client:
        user = client.as_user(user.token, user.name)
        run = await run_of(user, run_id)
        assert (run["state"], run["message"], run["reply"]) == ("failed", message, None)
        assert run["error"].keys() == {"success", "internal_code", "http_code", "note"}
        (last,) = await all_events(user, run_id, "3")
        assert (last.name, last.data, last.id) == ("error", run["error"], "3.end")
        assert (await cancelled(user, run_id)).body == run
        for path, advice in ADVICE.items():
            unique_part = run_id.removeprefix("run_")
            told = await user.request("GET", path.format(unique_part), headers={"A2A-Version": "1.0"})
            assert f"The run was cut off before the agent answered. {advice}" in str(told.body), told.body
        gate.open()
        again = (await user.command("AP_Chat", content=content, headers=headers)).ok()
        assert again.headers["X-Run-Id"] == run_id, "a repeat goes on with the same message, and so with the same run"
        run = await run_of(user, run_id)
        assert (run["state"], run["reply"]["content"]) == ("completed", "onetwo")
        assert len((await user.command("AP_History")).ok().content) == 2


async def test_a_failed_run_keeps_its_error_over_crashes_until_it_has_its_reply(
    gateway: GatewayProcess, tmp_path: Path
):
    content, headers = f"failonce:{tmp_path / 'once'} say:two", {"Idempotency-Key": "once"}
    async with gateway.client() as client:
        user = await with_agent(gateway, client)
        (await user.command("AP_Chat", content=content, headers=headers)).refused(5001, 502)
        run_id = (await user.command("AP_History")).ok().content[0]["id"].replace("msg_", "run_")
        failed = await run_of(user, run_id)
    for _ in range(2):
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            user = client.as_user(user.token, user.name)
            assert await run_of(user, run_id) == failed
    async with gateway.client() as client:
        user = client.as_user(user.token, user.name)
        (await user.command("AP_Chat", content=content, headers=headers)).ok()
        run = await run_of(user, run_id)
        assert (run["state"], run["error"], run["reply"]["content"]) == ("completed", None, "two")


async def test_a_cancelled_run_stays_so_after_a_crash(gateway: GatewayProcess, tmp_path: Path):
    gate = Gate(tmp_path / "gate")
    async with gateway.client() as client:
        user = await with_agent(gateway, client)
        async with chatting(user, f"say:one wait:{gate}") as chat:
            await chat.next()
            run = (await cancelled(user, chat.run)).body
            await gateway.kill()
    await gateway.start()
    async with gateway.client() as client:
        user = client.as_user(user.token, user.name)
        assert await run_of(user, chat.run) == run
        assert text_of(await all_events(user, chat.run)) == "one"
