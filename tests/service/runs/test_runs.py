"""Runs: their state, and their events from any point on (docs/contract.md, "Runs")."""

import asyncio
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import BUS, Client, GatewayProcess
from tests.support.runs import all_events, chatting, followed, run_of, text_of


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"


# state


async def test_every_answer_in_private_names_its_run(user: Client, scripted_user: Client, name: str):
    for client, content in ((user, "Hello"), (scripted_user, "say:Hello")):
        await client.agent(name)
        answer = (await client.command("AP_Chat", content=content)).ok()
        run = answer.headers["X-Run-Id"]
        message, reply = answer.content
        assert run == message["id"].replace("msg_", "run_")
        assert await run_of(client, run) == {
            "id": run,
            "conversation": message["conversation"],
            "state": "completed",
            "message": message,
            "reply": reply,
            "error": None,
        }


async def test_a_repeat_with_an_idempotency_key_names_the_same_run(user: Client, name: str):
    await user.agent(name)
    headers = {"Idempotency-Key": "once"}
    first = (await user.command("AP_Chat", content="Hello", headers=headers)).ok()
    again = (await user.command("AP_Chat", content="Hello", headers=headers)).ok()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["X-Run-Id"] == first.headers["X-Run-Id"]
    accept = user.headers(headers | {"Accept": "text/event-stream"})
    async with user.http.post(f"{user.base}{BUS}/agent/chat", json={"content": "Hello"}, headers=accept) as response:
        assert response.headers["X-Run-Id"] == first.headers["X-Run-Id"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (BUS, {"service": "AP_Chat", "content": "fail"}),
        (f"{BUS}/agent/chat", {"content": "fail"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "fail"}]}),
        ("/v1/responses", {"input": "fail"}),
    ],
)
async def test_the_answer_to_a_failed_chat_names_its_run(scripted_user: Client, name: str, path: str, body: Any):
    await scripted_user.agent(name)
    keyed = {"Idempotency-Key": "once"}
    for accept, headers in (("application/json", {}), ("text/event-stream", {}), ("application/json", keyed)):
        sent = body | ({"model": name} if path.startswith("/v1") else {})
        answer = await scripted_user.request("POST", path, json=sent, headers={"Accept": accept} | headers)
        assert answer.http in (500, 502)
        run = await run_of(scripted_user, answer.headers["X-Run-Id"])
        assert (run["state"], run["error"]["internal_code"]) == ("failed", 5001)


async def test_a_refusal_without_a_run_names_none(scripted_user: Client, name: str):
    await scripted_user.agent(name, online=False)
    offline = (await scripted_user.command("AP_Chat", content="fail")).refused(3002, 409)
    (await scripted_user.command("AP_LogOn")).ok()
    once = {"model": f"{name}:once", "messages": [{"role": "user", "content": "fail"}]}
    unkept = await scripted_user.request("POST", "/v1/chat/completions", json=once)
    assert unkept.http == 502
    for answer in (offline, unkept):
        assert "X-Run-Id" not in answer.headers


async def test_a_run_at_work_is_working(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate}") as chat:
        await chat.next()
        run = await run_of(scripted_user, chat.run)
        assert (run["state"], run["reply"], run["error"]) == ("working", None, None)
        assert run["message"]["content"] == f"say:one wait:{gate}"
        gate.open()
        *_, last = await chat.rest()
    assert (await run_of(scripted_user, chat.run))["reply"] == last.data["content"][1]


async def test_a_failed_run_tells_its_error_and_keeps_its_message(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate} fail") as chat:
        await chat.next()
        gate.open()
        *_, last = await chat.rest()
    assert (last.name, last.data["internal_code"], last.id) == ("error", 5001, "3.end")
    run = await run_of(scripted_user, chat.run)
    assert (run["state"], run["reply"]) == ("failed", None)
    assert "said once more" in last.data["note"]
    assert "the same Idempotency-Key" in run["error"]["note"], "a run's note is for those who have one, too"
    last.data["note"] = run["error"]["note"]
    assert run["error"] == last.data
    assert [message["id"] for message in (await scripted_user.command("AP_History")).ok().content] == [
        run["message"]["id"]
    ]
    assert await all_events(scripted_user, chat.run) == chat.events
    assert await all_events(scripted_user, chat.run, "3") == [last]


async def test_reading_and_following_runs_is_not_counted(user: Client, name: str):
    await user.agent(name)
    run = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    used = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    await run_of(user, run)
    await all_events(user, run)
    assert (await user.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 1


@pytest.mark.parametrize("body", [{"x": 1}, {"reason": None}])
async def test_a_cancellation_has_no_members(user: Client, name: str, body: Any):
    await user.agent(name)
    run = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    answer = await user.request("POST", f"/api/runs/{run}/cancel", json=body)
    assert answer.refused(1003, 400).body["status"]["note"].startswith(f"Unknown member {next(iter(body))} ")
    (await user.request("POST", f"/api/runs/{run}/cancel", json=[])).refused(1000, 400)
    assert (await user.request("POST", f"/api/runs/{run}/cancel", json={})).http == 200


@pytest.mark.parametrize("path", ["", "/events", "/cancel"])
async def test_a_run_is_shown_to_nobody_else(user: Client, name: str, unique: str, path: str):
    method = "POST" if path == "/cancel" else "GET"
    await user.agent(name, access="public")
    guest = await user.as_user().register(f"{unique}-guest")
    run = (await guest.command("AP_Chat", target={"agent": name}, content="Hello")).ok().headers["X-Run-Id"]
    (await user.request(method, f"/api/runs/{run}{path}")).refused(3000, 404)  # though the agent is the user's
    (await user.as_user().request(method, f"/api/runs/{run}{path}")).refused(2000, 401)
    assert (await guest.request(method, f"/api/runs/{run}{path}")).http == 200


@pytest.mark.parametrize("run", ["run_", "run_" + "0" * 32, "msg_" + "0" * 32, "nothing", "run_" + "é" * 32])
async def test_a_run_that_never_was_is_not_found(user: Client, run: str):
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
        (await user.request(method, f"/api/runs/{run}{path}")).refused(3000, 404)


async def test_a_reply_is_no_run(user: Client, name: str):
    await user.agent(name)
    reply = (await user.command("AP_Chat", content="Hello")).ok().content[1]
    (await user.request("GET", f"/api/runs/{reply['id'].replace('msg_', 'run_')}")).refused(3000, 404)


async def test_chats_in_zones_have_no_run(user: Client, name: str, unique: str):
    await user.agent(name)
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    answer = (await user.command("AP_Chat", target={"domain": f"{unique}-domain"}, content="Hello")).ok()
    assert "X-Run-Id" not in answer.headers
    (await user.request("GET", f"/api/runs/{answer.content[0]['id'].replace('msg_', 'run_')}")).refused(3000, 404)


# events


async def test_events_tell_the_number_of_characters(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:Grüße say:🦜 wait:{gate} say:end") as chat:
        await chat.next()
        await chat.next()
        gate.open()
        await chat.rest()
    assert [event.id for event in chat.events] == ["5", "6", "9", "9.end"]


async def test_a_run_is_resumed_at_any_character_without_gap_or_repetition(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    whole = "Grüße🦜middle-end"
    async with chatting(scripted_user, f"say:Grüße say:🦜 wait:{gate} say:middle say:-end") as chat:
        await chat.next()
        await chat.next()
        async with followed(scripted_user, chat.run, "2") as events, followed(scripted_user, chat.run) as others:
            first = await anext(events)
            assert (first.name, first.data, first.id) == ("delta", {"text": whole[2:6]}, "6")
            resumed = [asyncio.create_task(all_events(scripted_user, chat.run, str(at))) for at in range(6, 9)]
            gate.open()
            rest = [first, *[event async for event in events]]
            assert text_of([event async for event in others]) == whole
        await chat.rest()
        assert text_of(rest) == whole[2:]
        for at, task in enumerate(resumed, 6):
            assert text_of(await task) == whole[at:]
    for at in range(len(whole) + 1):
        after = await all_events(scripted_user, chat.run, str(at))
        assert text_of(after) == whole[at:]
        assert after[-1].id == f"{len(whole)}.end"
        assert after[-1].data["content"] == chat.events[-1].data["content"]


async def test_the_last_event_is_the_whole_answer(user: Client, name: str):
    await user.agent(name)
    async with chatting(user, "My dog is called Rex.") as chat:
        *_, last = await chat.rest()
    events = await all_events(user, chat.run)
    assert [event.name for event in events] == ["delta", "response"]
    assert [event.id for event in events] == [event.id for event in chat.events]
    again = events[-1].data
    assert (again["content"], again["status"], again["profile"]) == (last.data["content"], last.data["status"], [])
    assert again["header"]["service"] == "AP_Chat"
    assert again["header"]["context"]["agent"] == name


async def test_after_the_last_event_there_is_nothing(user: Client, name: str):
    await user.agent(name)
    async with chatting(user, "Hello") as chat:
        *_, last = await chat.rest()
    answer = await user.request("GET", f"/api/runs/{chat.run}/events", headers={"Last-Event-ID": last.id})
    assert (answer.http, answer.body) == (204, "")


@pytest.mark.parametrize("id", ["-1", "x", "1.5", "9" * 40, "1.end.end"])
async def test_an_id_of_no_event_is_refused(user: Client, name: str, id: str):
    await user.agent(name)
    run = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    (await user.request("GET", f"/api/runs/{run}/events", headers={"Last-Event-ID": id})).refused(1003, 400)


async def test_a_follower_that_goes_away_leaves_nothing_behind(
    scripted_user: Client, scripted_server: GatewayProcess, name: str, gate: Gate
):
    await scripted_user.agent(name)
    errors = scripted_server.log.read_text().count("ERROR")
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        for _ in range(20):
            async with followed(scripted_user, chat.run) as events:
                assert (await anext(events)).data == {"text": "one"}
        gate.open()
        await chat.rest()
    assert text_of(chat.events) == "onetwo"
    assert scripted_server.log.read_text().count("ERROR") == errors


# the end of agents and conversations


async def test_runs_of_a_destroyed_agent_stay_readable(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    run = (await scripted_user.command("AP_Chat", content="say:one")).ok().headers["X-Run-Id"]
    failed = await scripted_user.command("AP_Chat", content="fail")
    unanswered = (await scripted_user.command("AP_History")).ok().content[-1]["id"].replace("msg_", "run_")
    assert failed.code == 5001
    (await scripted_user.command("AP_Destroy", target={"agent": name})).ok()
    assert (await run_of(scripted_user, run))["reply"]["content"] == "one"
    assert text_of(await all_events(scripted_user, run)) == "one"
    assert (await run_of(scripted_user, unanswered))["state"] == "failed"
    assert (await all_events(scripted_user, unanswered))[-1].name == "error"


async def test_a_run_of_an_agent_that_is_destroyed_meanwhile_fails(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        async with followed(scripted_user, chat.run, "3") as events:
            (await scripted_user.command("AP_Destroy", target={"agent": name})).ok()
            gate.open()
            assert [event.name async for event in events][-1] == "error"
    assert (await run_of(scripted_user, chat.run))["state"] == "failed"


async def test_every_chat_of_an_agent_that_is_destroyed_is_answered(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    text = f"wait:{gate} say:two"
    sent = {"model": f"{name}:once", "messages": [{"role": "user", "content": text}]}
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        unkept = tasks.create_task(scripted_user.request("POST", "/v1/chat/completions", json=sent))
        await gate.reached()
        async with chatting(scripted_user, f"say:one {text}") as chat:
            await chat.next()
            (await scripted_user.command("AP_Destroy", target={"agent": name})).ok()
            assert (await chat.rest())[-1].data["internal_code"] == 3000
    assert (unkept.result().http, unkept.result().body["error"]["code"]) == (404, "not_found")
    gate.open()


async def test_a_run_is_gone_with_its_conversation(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    answer = (await scripted_user.command("AP_Chat", content="say:one")).ok()
    run, conversation = answer.headers["X-Run-Id"], answer.content[0]["conversation"]
    (await scripted_user.command("CV_Destroy", target={"conversation": conversation})).ok()
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
        (await scripted_user.request(method, f"/api/runs/{run}{path}")).refused(3000, 404)


async def test_a_run_at_work_is_gone_with_its_conversation(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        conversation = (await run_of(scripted_user, chat.run))["conversation"]
        async with asyncio.timeout(30), followed(scripted_user, chat.run, "3") as events:
            (await scripted_user.command("CV_Destroy", target={"conversation": conversation})).ok()
            ends = [event async for event in events]
        assert (await chat.rest())[-1].name == "error"
    assert [event.name for event in ends] in ([], ["error"])
    (await scripted_user.request("GET", f"/api/runs/{chat.run}")).refused(3000, 404)
    gate.open()
    assert (await scripted_user.command("AP_Chat", content="say:next")).ok().content[0]["seq"] == 1


async def test_a_fork_leaves_a_run_where_it_was(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    answer = (await scripted_user.command("AP_Chat", content="say:one")).ok()
    target = {"conversation": answer.content[0]["conversation"]}
    (await scripted_user.command("CV_Fork", target=target)).ok()
    run = await run_of(scripted_user, answer.headers["X-Run-Id"])
    assert (run["conversation"], run["message"]) == (target["conversation"], answer.content[0])


async def copied_run(user: Client, conversation: str, seq: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fork a conversation after a user's message; return the message's copy and its run."""
    body = {"target": {"conversation": conversation}, "vx": {"seq": seq}}
    fork = (await user.command("CV_Fork", **body)).ok().profile[0]["id"]
    *_, last = (await user.command("AP_History", target={"conversation": fork})).ok().content
    return last, await run_of(user, last["id"].replace("msg_", "run_"))


async def test_a_run_under_way_is_cancelled_in_a_fork_and_goes_on_where_it_was(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        run = await run_of(scripted_user, chat.run)
        copy, in_fork = await copied_run(scripted_user, run["conversation"], 1)
        assert (run["state"], in_fork["state"], in_fork["reply"]) == ("working", "cancelled", None)
        assert (copy["content"], copy["mark"]) == (run["message"]["content"], "cancelled")
        headers = {"A2A-Version": "1.0"}
        tasks = (await scripted_user.request("GET", f"/a2a/{name}/tasks", headers=headers)).body["tasks"]
        states = {task["id"]: task["status"]["state"] for task in tasks}
        assert states == {run["id"]: "TASK_STATE_WORKING", in_fork["id"]: "TASK_STATE_CANCELED"}
        gate.open()
        await chat.rest()
    done = await run_of(scripted_user, chat.run)
    assert (done["state"], done["reply"]["content"], done["message"]["mark"]) == ("completed", "onetwo", None)


async def test_the_copy_of_a_message_whose_run_has_ended_is_marked_as_that_is(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    said: list[dict[str, Any]] = (await scripted_user.command("AP_Chat", content="say:one")).ok().content
    copy, _ = await copied_run(scripted_user, said[0]["conversation"], 1)
    assert copy["mark"] is None
    fork = (await scripted_user.command("CV_Fork", target={"conversation": said[0]["conversation"]})).ok().profile[0]
    copies = (await scripted_user.command("AP_History", target={"conversation": fork["id"]})).ok().content
    assert [one["mark"] for one in copies] == [None, None]
