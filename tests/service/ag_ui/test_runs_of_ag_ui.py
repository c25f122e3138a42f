"""AG-UI 1.0 over plain HTTP (docs/contract.md, "AG-UI")."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.gateways.gate import Gate
from tests.support.ag_ui import events_in, history, reply_of, run, run_input, said, texts, types_of, user_says
from tests.support.gateway import Client
from tests.support.operator import on_plan, set_plan

WHOLE_RUN = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]


@pytest.fixture
async def agent(user: Client, unique: str) -> str:
    """The name of an agent of the user's, online."""
    name = f"{unique}-agent"
    await user.agent(name, profile="The Moon is 384,400 km away.")
    return name


async def test_a_run_tells_start_message_and_end_with_the_client_s_ids(user: Client, agent: str):
    sent = run_input(user_says("How far is the Moon?"), parentRunId="before")
    answer = await run(user, agent, sent)
    assert (answer.http, answer.headers["Content-Type"]) == (200, "text/event-stream")
    assert types_of(answer) == WHOLE_RUN
    start, *_, end, finished = answer.body
    ids = {"threadId": sent["threadId"], "runId": sent["runId"]}
    assert start == {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0", "parentRunId": "before"}
    assert finished == {"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}}
    kept = await history(user, answer.headers["X-Conversation-Id"])
    assert [(message["role"], message["content"]) for message in kept] == [
        ("user", "How far is the Moon?"),
        ("agent", said(answer)),
    ]
    assert "384,400" in said(answer)
    assert {event["messageId"] for event in answer.body[1:-1]} == {kept[1]["id"]}
    assert end["metadata"] == {"sources": kept[1]["sources"]}
    assert answer.headers["X-Run-Id"] == "run_" + kept[0]["id"].removeprefix("msg_")


async def test_a_thread_of_the_client_s_own_is_one_conversation(user: Client, agent: str):
    thread, first = "a-thread-of-mine", user_says("First")
    one = await run(user, agent, run_input(first, thread=thread))
    messages = [first, reply_of(one), user_says("Second")]
    two = await run(user, agent, run_input(*messages, thread=thread))
    assert one.headers["X-Conversation-Id"] == two.headers["X-Conversation-Id"]
    kept = await history(user, two.headers["X-Conversation-Id"])
    assert texts(kept) == ["First", said(one), "Second", said(two)]
    assert [message["id"] for message in kept[1::2]] == [reply_of(one)["id"], reply_of(two)["id"]]
    other = await run(user, agent, run_input(user_says("Elsewhere"), thread="another"))
    assert other.headers["X-Conversation-Id"] != one.headers["X-Conversation-Id"]


async def test_a_thread_may_be_a_conversation_of_parley_s(user: Client, agent: str):
    (await user.command("AP_Chat", content="On the bus")).ok()
    default = (await user.command("AP_History")).ok().content[0]["conversation"]
    answer = await run(user, agent, run_input(user_says("In AG-UI"), thread=default))
    assert answer.headers["X-Conversation-Id"] == default
    assert texts(await history(user, default))[::2] == ["On the bus", "In AG-UI"]


async def test_a_new_thread_imports_the_client_s_history(user: Client, agent: str):
    messages: list[dict[str, Any]] = [
        {"id": "s", "role": "system", "content": "Be brief."},
        user_says("Where is the key?"),
        {"id": "a", "role": "assistant", "content": "Under the mat."},
        {"id": "t", "role": "tool", "toolCallId": "1", "content": "a tool's result"},
        {"id": "b", "role": "assistant", "toolCalls": []},
        user_says("And now?"),
    ]
    answer = await run(user, agent, run_input(*messages))
    kept = await history(user, answer.headers["X-Conversation-Id"])
    assert texts(kept) == ["Where is the key?", "Under the mat.", "And now?", said(answer)]
    assert [message["mark"] for message in kept] == ["imported", "imported", None, None]


async def test_a_new_thread_imports_no_message_that_is_too_long_and_an_old_one_ignores_it(user: Client, agent: str):
    parts = [{"type": "text", "text": "x" * 16_000}, {"type": "text", "text": "x" * 16_001}]
    answer = {"id": "a", "role": "assistant", "content": "x" * 32_001}
    for too_long in (user_says("x" * 32_001), answer, {"id": "p", "role": "user", "content": parts}):
        sent = run_input({"id": "t", "role": "tool", "toolCallId": "1", "content": ""}, too_long, user_says("And now?"))
        refused = (await run(user, agent, sent)).refused(1003, 400)
        assert "messages.1.content" in refused.note
        begun = await run(user, agent, sent | {"messages": [user_says("x" * 32_000), user_says("Hi")], "runId": "2"})
        went_on = await run(user, agent, sent)
        assert begun.headers["X-Conversation-Id"] == went_on.headers["X-Conversation-Id"]
        kept = texts(await history(user, went_on.headers["X-Conversation-Id"]))
        assert (len(kept), kept[0], kept[3]) == (5, "x" * 32_000, "And now?")
    assert len((await user.command("CV_List")).ok().profile) == 3


async def test_the_parts_of_a_text_are_joined_and_others_refused(user: Client, agent: str):
    parts: list[dict[str, Any]] = [{"type": "text", "text": "How far is "}, {"type": "text", "text": "the Moon?"}]
    answer = await run(user, agent, run_input({"id": "1", "role": "user", "content": parts}))
    assert texts(await history(user, answer.headers["X-Conversation-Id"]))[0] == "How far is the Moon?"
    parts.append({"type": "image", "source": {"type": "url", "value": "https://example.org/moon.png"}})
    refused = await run(user, agent, run_input({"id": "1", "role": "user", "content": parts}))
    refused.refused(1003, 400)
    assert "messages.0.content.2" in refused.note


async def test_the_same_run_again_is_replayed(user: Client, agent: str):
    sent = run_input(user_says("Once"))
    first, again = await run(user, agent, sent), await run(user, agent, sent)
    assert types_of(again) == WHOLE_RUN
    assert (reply_of(again), said(again)) == (reply_of(first), said(first))
    for header in ("X-Run-Id", "X-Conversation-Id"):
        assert again.headers[header] == first.headers[header]
    assert len(await history(user, first.headers["X-Conversation-Id"])) == 2
    renamed = sent | {"messages": [user_says("Once")]}
    assert reply_of(await run(user, agent, renamed)) == reply_of(first), "whatever the message's id is"
    (await run(user, agent, sent | {"messages": [user_says("Another text")]})).refused(3002, 409)


async def test_the_same_runs_at_once_are_one(user: Client, agent: str):
    sent = run_input(user_says("At once"))
    answers = await asyncio.gather(*(run(user, agent, sent) for _ in range(5)))
    assert len({reply_of(answer)["id"] for answer in answers}) == 1
    assert len(await history(user, answers[0].headers["X-Conversation-Id"])) == 2


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ({"messages": []}, 1003, "messages"),
        ({"messages": [{"id": "1", "role": "assistant", "content": "Hi"}]}, 1003, "messages"),
        ({"messages": [{"id": "1", "role": "user", "content": " "}]}, 1002, "messages"),
        ({"messages": [{"id": "1", "role": "user", "content": "x" * 32_001}]}, 1003, "32,000"),
        ({"messages": [{"id": "1", "role": "user", "content": "a\0b"}]}, 1003, "NUL"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, 1002, "messages.0.id field"),
        ({"messages": [{"id": "1", "role": "user", "content": None}]}, 1002, "messages.0.content field"),
        ({"messages": [{"id": "1", "role": "user", "content": [{"type": "x"}]}]}, 1003, "messages.0.content.0:"),
        ({"messages": [*[user_says("Hi")] * 40, {"id": "1", "role": "user"}]}, 1002, "messages.40.content field"),
        ({"messages": [user_says("a"), user_says("\0"), user_says("b")]}, 1003, "NUL"),
        (
            {"messages": [{"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}] * 257}]},
            1003,
            "256 parts",
        ),
        ({"context": [{"description": "a", "value": "b"}] * 40 + [{"value": ""}]}, 1002, "context.40.description"),
        ({"messages": [None]}, 1003, "messages.0: it must be an object"),
        ({"messages": [None, user_says("Hi")]}, 1003, "messages.0: it must be an object"),
        ({"messages": [{"id": "1", "role": "user", "content": [None]}]}, 1003, "messages.0.content.0: it must"),
        ({"context": [None]}, 1003, "context.0: it must be an object"),
        ({"context": [{"description": None, "value": "x"}]}, 1002, "context.0.description field"),
        ({"threadId": None}, 1002, "threadId"),
        ({"threadId": 7}, 1003, "threadId"),
        ({"threadId": "x" * 201}, 1003, "threadId"),
        ({"threadId": "two words"}, 1003, "threadId"),
        ({"runId": ""}, 1003, "runId"),
        ({"resume": [{"interruptId": "1", "status": "resolved"}]}, 1003, "resume"),
    ],
)
async def test_a_wrong_body_is_refused_and_named(
    user: Client, agent: str, change: dict[str, Any], code: int, named: str
):
    answer = await run(user, agent, run_input(user_says("Hi")) | change)
    assert answer.refused(code, 400).http == 400
    assert named in answer.note


async def test_members_that_are_not_used_are_ignored(user: Client, agent: str):
    sent = run_input(user_says("Hi"), protocolVersion="2.7", whatever=[1], tools=[{"name": "t", "description": "d"}])
    assert types_of(await run(user, agent, sent)) == WHOLE_RUN


async def test_messages_before_the_last_need_only_be_such_as_can_be_imported(user: Client, agent: str):
    sent = run_input(
        {"id": "1", "role": "alien", "whatever": 1},
        {"id": "2", "role": "tool", "content": 7},
        {"id": "3", "role": "user", "content": [{"type": "binary", "data": "eA=="}, {"type": "text", "text": "What?"}]},
        {"id": "4", "role": "assistant", "content": "A picture.", "toolCalls": "none"},
        user_says("Hi"),
        tools=[{"parameters": 1}],
        state="any",
        forwardedProps=None,
    )
    answer = await run(user, agent, sent)
    assert types_of(answer) == WHOLE_RUN
    kept = await history(user, answer.headers["X-Conversation-Id"])
    assert [message["content"] for message in kept[:3]] == ["What?", "A picture.", "Hi"]
    faults: list[Any] = [1, {"id": "1"}, {"role": "user", "content": "Hi"}, {"id": "1", "role": "user", "content": 7}]
    for wrong in faults:
        refused = await run(user, agent, run_input(wrong, user_says("Hi")))
        assert refused.http == 400
        assert "messages.0" in refused.note


async def test_refusals_before_the_run_are_http_errors(user: Client, agent: str, unique: str):
    sent = run_input(user_says("Hi"))
    assert (await run(user.as_user(), agent, sent)).refused(2000, 401).headers["WWW-Authenticate"] == "Bearer"
    (await run(user.as_user("pls_wrong"), agent, sent)).refused(2001, 401)
    assert (await run(user, f"{unique}-nobody", sent)).refused(3000, 404).http == 404
    for unknown in ("cnv_" + "0" * 32, "cnv_mine"):
        assert (await run(user, agent, sent | {"threadId": unknown})).refused(3000, 404).http == 404
    (await user.command("AP_LogOff")).ok()
    assert (await run(user, agent, sent)).refused(3002, 409).http == 409
    unknown = await user.request("GET", "/ag-ui/x/y")
    assert unknown.refused(1006, 404).http == 404
    assert (await user.request("GET", f"/ag-ui/{agent}")).refused(1006, 405).headers["Allow"] == "POST"
    wrong = await user.request("POST", f"/ag-ui/{agent}", data="{", headers={"Content-Type": "application/json"})
    wrong.refused(1000, 400)


async def test_another_user_s_conversation_and_agent_are_not_there(user: Client, agent: str, unique: str):
    (await user.command("AP_Chat", content="Mine")).ok()
    mine = (await user.command("AP_History")).ok().content[0]["conversation"]
    other = await user.as_user().register(f"{unique}-other")
    await other.agent(f"{unique}-others")
    (await run(other, agent, run_input(user_says("Hi")))).refused(3000, 404)
    (await run(other, f"{unique}-others", run_input(user_says("Hi"), thread=mine))).refused(3000, 404)
    (await run(user, agent, run_input(user_says("Hi"), thread=mine))).headers["X-Conversation-Id"]


async def test_a_run_counts_and_has_its_audit_row(user: Client, agent: str):
    await on_plan(user, "scale")
    before = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    sent = run_input(user_says("Counted"))
    answer = await run(user, agent, sent)
    assert answer.headers["RateLimit-Policy"].startswith('"day";q=')
    assert (await user.command("US_Read")).ok().profile[0]["quota"]["used"] == before + 2
    rows = (await user.request("GET", "/api/audit")).body["entries"]
    assert [(row["target"], row["internal_code"]) for row in rows if row["service"] == "runAgent"] == [
        ({"agent": agent}, 0)
    ]


async def test_a_used_up_quota_is_429(user: Client, agent: str):
    quota = (await user.command("US_Read")).ok().profile[0]["quota"]
    await set_plan(user, user.name, "enterprise", limit=quota["used"] + 1)
    assert (await run(user, agent, run_input(user_says("The last one")))).http == 200
    answer = await run(user, agent, run_input(user_says("One more")))
    assert answer.refused(4000, 429).http == 429
    assert int(answer.headers["Retry-After"]) > 0


# with an engine that streams


@pytest.fixture
async def scripted_agent(scripted_user: Client, unique: str) -> str:
    name = f"{unique}-scripted"
    await scripted_user.agent(name)
    return name


async def test_an_error_after_the_start_is_the_last_event(scripted_user: Client, scripted_agent: str):
    answer = await run(scripted_user, scripted_agent, run_input(user_says("say:Begun fail")))
    assert answer.http == 200
    assert types_of(answer) == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "RUN_ERROR"]
    assert answer.body[-1]["code"] == "5001"
    assert answer.body[-1]["message"]


async def test_a_failed_run_is_carried_out_again_with_the_same_message(
    scripted_user: Client, scripted_agent: str, tmp_path: Path
):
    sent = run_input(user_says(f"say:Begun failonce:{tmp_path / 'failed'} say:Done"))
    failed = await run(scripted_user, scripted_agent, sent)
    assert types_of(failed)[-1] == "RUN_ERROR"
    again = await run(scripted_user, scripted_agent, sent)
    assert (types_of(again), said(again)) == (WHOLE_RUN, "BegunDone")
    assert again.headers["X-Run-Id"] == failed.headers["X-Run-Id"]
    assert len(await history(scripted_user, again.headers["X-Conversation-Id"])) == 2


async def test_a_run_under_way_is_joined_and_goes_on_without_its_client(
    scripted_user: Client, scripted_agent: str, tmp_path: Path
):
    gate = tmp_path / "gate"
    sent = run_input(user_says(f"say:Begun wait:{gate} say:Done"))
    first = asyncio.create_task(run(scripted_user, scripted_agent, sent))
    while not gate.with_name("gate.reached").exists():
        await asyncio.sleep(0.01)
    joined = asyncio.create_task(run(scripted_user, scripted_agent, sent))
    await asyncio.sleep(0.1)
    first.cancel()
    await asyncio.wait([first])
    gate.touch()
    answer = await joined
    assert (types_of(answer), said(answer)) == (WHOLE_RUN, "BegunDone")
    kept = await history(scripted_user, answer.headers["X-Conversation-Id"])
    assert [message["id"] for message in kept][1:] == [reply_of(answer)["id"]]


async def test_a_run_that_is_joined_is_heard_as_it_goes_on(scripted_user: Client, scripted_agent: str, tmp_path: Path):
    gate = tmp_path / "gate"
    sent = run_input(user_says(f"say:Begun wait:{gate} say:Done fail"))
    first = asyncio.create_task(run(scripted_user, scripted_agent, sent))
    while not gate.with_name("gate.reached").exists():
        await asyncio.sleep(0.01)
    url, headers = f"{scripted_user.base}/ag-ui/{scripted_agent}", scripted_user.headers()
    async with scripted_user.http.post(url, json=sent, headers=headers) as response:
        begun = [orjson.loads((await response.content.readuntil(b"\n\n"))[6:]) for _ in range(3)]
        assert [event["type"] for event in begun] == WHOLE_RUN[:3]
        assert begun[2]["delta"] == "Begun"
        gate.touch()
        rest = events_in((await response.content.read()).decode())
    assert [event["type"] for event in rest] == ["TEXT_MESSAGE_CONTENT", "RUN_ERROR"]
    told = (await first).body
    assert (told[0], told[1], told[-1]) == (begun[0], begun[1], rest[-1])


async def test_a_run_cancelled_before_a_word_is_no_failure_and_so_replayed(
    scripted_user: Client, scripted_agent: str, tmp_path: Path
):
    user, gate = scripted_user, Gate(tmp_path / "gate")
    sent = run_input(user_says(f"wait:{gate} say:Never"))
    waiting = [asyncio.create_task(run(user, scripted_agent, sent)) for _ in range(2)]
    await gate.reached()
    while not (begun := (await user.command("CV_List")).ok().profile):  # the engine does not wait for the commit
        await asyncio.sleep(0.05)
    (said,) = await history(user, begun[0]["id"])
    cancelled = await user.request("POST", f"/api/runs/{said['id'].replace('msg_', 'run_')}/cancel")
    assert cancelled.body["state"] == "cancelled"
    for answer in (*[await one for one in waiting], await run(user, scripted_agent, sent)):
        assert types_of(answer) == ["RUN_STARTED", "RUN_FINISHED"]
        assert answer.body[1]["outcome"] == {"type": "cancelled"}
    on = await run(user, scripted_agent, run_input(user_says("say:On"), thread=sent["threadId"]))
    assert on.body[-1]["outcome"] == {"type": "success"}


async def test_the_first_events_come_while_the_agent_still_writes(
    scripted_user: Client, scripted_agent: str, tmp_path: Path
):
    gate = tmp_path / "gate"
    sent = run_input(user_says(f"say:Begun wait:{gate} say:Done"))
    url, headers = f"{scripted_user.base}/ag-ui/{scripted_agent}", scripted_user.headers()
    async with scripted_user.http.post(url, json=sent, headers=headers) as response:
        first = [orjson.loads((await response.content.readuntil(b"\n\n"))[6:])["type"] for _ in range(3)]
        assert first == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
        gate.touch()
        rest = (await response.content.read()).decode()
    assert '"delta":"Done"' in rest
