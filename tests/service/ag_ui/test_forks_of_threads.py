"""Answers written anew: a last message that is stored already begins a fork (docs/ag-ui.md)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.ag_ui import history, reply_of, run, run_input, said, texts, user_says
from tests.support.gateway import Client


@pytest.fixture
async def agent(scripted_user: Client, unique: str) -> str:
    """The name of an agent whose engine runs its messages as instructions."""
    name = f"{unique}-agent"
    await scripted_user.agent(name)
    return name


async def conversations(user: Client, agent: str) -> list[str]:
    """Return the ids of the conversations with an agent."""
    return [one["id"] for one in (await user.command("CV_List", target={"agent": agent})).ok().profile]


async def test_a_message_in_a_new_run_is_answered_in_a_fork_to_which_the_thread_is_bound(
    scripted_user: Client, agent: str
):
    user, first, second = scripted_user, user_says("say:One"), user_says("say:Two")
    one = await run(user, agent, run_input(first, thread="t"))
    sent: list[dict[str, Any]] = [first, reply_of(one), second]
    two = await run(user, agent, run_input(*sent, thread="t"))
    anew = await run(user, agent, run_input(*sent, thread="t"))
    before, fork = two.headers["X-Conversation-Id"], anew.headers["X-Conversation-Id"]
    assert fork != before
    assert reply_of(anew)["id"] != reply_of(two)["id"]
    for conversation in (before, fork):
        assert texts(await history(user, conversation)) == ["say:One", "One", "say:Two", "Two"]
    on = await run(user, agent, run_input(*sent, reply_of(anew), user_says("say:Three"), thread="t"))
    assert on.headers["X-Conversation-Id"] == fork
    assert len(await history(user, before)) == 4
    assert set(await conversations(user, agent)) == {before, fork}


async def test_a_fork_of_a_thread_with_a_conversation_s_id_is_known_elsewhere_by_its_own_id(
    scripted_user: Client, agent: str
):
    user, message = scripted_user, user_says("say:One")
    before = (await run(user, agent, run_input(message))).headers["X-Conversation-Id"]
    first = (await history(user, before))[0]
    fork = (await run(user, agent, run_input(message | {"id": first["id"]}, thread=before))).headers[
        "X-Conversation-Id"
    ]
    assert fork != before
    version = {"A2A-Version": "1.0"}
    tasks = (await user.request("GET", f"/a2a/{agent}/tasks", headers=version)).body["tasks"]
    assert tasks[0]["contextId"] == fork
    task = await user.request("GET", f"/a2a/{agent}/tasks/{tasks[0]['id']}", headers=version)
    assert task.body["contextId"] == fork


async def test_a_message_that_was_imported_is_edited_in_a_fork_too(scripted_user: Client, agent: str):
    user, first, second = scripted_user, user_says("say:One"), user_says("say:Two")
    reply = {"id": "a-1", "role": "assistant", "content": "One"}
    begun = await run(user, agent, run_input(first, reply, second, user_says("say:Three"), thread="t"))
    before = begun.headers["X-Conversation-Id"]
    assert texts(await history(user, before)) == ["say:One", "One", "say:Two", "say:Three", "Three"]
    for message, expected in ((second, ["say:One", "One", "say:2", "2"]), (first, ["say:1", "1"])):
        edited = message | {"content": expected[-2]}
        fork = (await run(user, agent, run_input(edited, thread="t"))).headers["X-Conversation-Id"]
        assert fork != before
        assert texts(await history(user, fork)) == expected
    assert len(await history(user, before)) == 5
    elsewhere = (await run(user, agent, run_input(second, thread="u"))).headers["X-Conversation-Id"]
    assert texts(await history(user, elsewhere)) == ["say:Two", "Two"]


async def test_messages_without_an_id_go_on(scripted_user: Client, agent: str):
    for count in (1, 2):
        answer = await run(scripted_user, agent, run_input(user_says("say:One") | {"id": ""}, thread="t"))
        assert len(await history(scripted_user, answer.headers["X-Conversation-Id"])) == 2 * count


async def test_the_first_message_is_answered_in_a_conversation_of_its_own(scripted_user: Client, agent: str):
    message = user_says("say:One")
    answers = [await run(scripted_user, agent, run_input(message, thread="t")) for _ in range(3)]
    found = [answer.headers["X-Conversation-Id"] for answer in answers]
    assert len(set(found)) == 3
    for conversation in found:
        assert texts(await history(scripted_user, conversation)) == ["say:One", "One"]


async def test_runs_at_once_with_one_message_fork_as_those_one_after_another(
    scripted_user: Client, agent: str, tmp_path: Path
):
    user, gate = scripted_user, Gate(tmp_path / "gate")
    message = user_says(content := f"say:One wait:{gate} say:Two")
    runs = [asyncio.create_task(run(user, agent, run_input(message, thread="t"))) for _ in range(8)]
    while len(await conversations(user, agent)) < 8:  # though none has ended
        await asyncio.sleep(0.05)
    gate.open()
    found = [(await one).headers["X-Conversation-Id"] for one in runs]
    assert len(set(found)) == 8
    for conversation in found:
        assert texts(await history(user, conversation)) == [content, "OneTwo"]
    on = await run(user, agent, run_input(user_says("say:On"), thread="t"))
    assert on.headers["X-Conversation-Id"] in found


async def test_an_edited_message_with_its_id_is_said_in_the_fork(scripted_user: Client, agent: str):
    one = await run(scripted_user, agent, run_input(user_says("say:One", "m"), thread="t"))
    edited = await run(scripted_user, agent, run_input(user_says("say:Other", "m"), thread="t"))
    assert texts(await history(scripted_user, one.headers["X-Conversation-Id"])) == ["say:One", "One"]
    assert texts(await history(scripted_user, edited.headers["X-Conversation-Id"])) == ["say:Other", "Other"]


async def test_the_forking_run_itself_is_replayed_and_forks_no_more(scripted_user: Client, agent: str):
    message = user_says("say:One")
    await run(scripted_user, agent, run_input(message, thread="t"))
    again = run_input(message, thread="t")
    first, replayed = await run(scripted_user, agent, again), await run(scripted_user, agent, again)
    assert reply_of(replayed) == reply_of(first)
    assert len(await conversations(scripted_user, agent)) == 2


async def test_a_message_of_parley_s_own_id_forks_too(scripted_user: Client, agent: str):
    user = scripted_user
    (await user.command("AP_Chat", content="say:One")).ok()
    (await user.command("AP_Chat", content="say:Two")).ok()
    kept = (await user.command("AP_History")).ok().content
    thread = kept[0]["conversation"]
    again = {"id": kept[2]["id"], "role": "user", "content": "say:Changed"}
    anew = await run(user, agent, run_input(again, thread=thread))
    fork = anew.headers["X-Conversation-Id"]
    assert texts(await history(user, fork)) == ["say:One", "One", "say:Changed", "Changed"]
    on = await run(user, agent, run_input(user_says("say:On"), thread=thread))
    assert on.headers["X-Conversation-Id"] == fork, "the thread is bound to the fork"
    assert texts(await history(user, thread)) == ["say:One", "One", "say:Two", "Two"]


async def test_the_same_id_in_another_thread_is_another_message(scripted_user: Client, agent: str):
    one = await run(scripted_user, agent, run_input(user_says("say:One", "m"), thread="t"))
    messages = [user_says("say:Zero"), {"id": "a", "role": "assistant", "content": "Zero"}, user_says("say:One", "m")]
    other = await run(scripted_user, agent, run_input(*messages, thread="another"))
    assert other.headers["X-Conversation-Id"] != one.headers["X-Conversation-Id"]
    assert len(await history(scripted_user, other.headers["X-Conversation-Id"])) == 4
    assert said(other) == "One"


async def test_a_message_whose_run_failed_is_said_again_in_a_new_run(scripted_user: Client, agent: str):
    message = user_says("fail")
    await run(scripted_user, agent, run_input(message, thread="t"))
    message["content"] = "say:Better"
    better = await run(scripted_user, agent, run_input(message, thread="t"))
    assert texts(await history(scripted_user, better.headers["X-Conversation-Id"])) == ["say:Better", "Better"]


async def test_an_offline_agent_leaves_no_fork(scripted_user: Client, agent: str):
    message = user_says("say:One")
    await run(scripted_user, agent, run_input(message, thread="t"))
    (await scripted_user.command("AP_LogOff")).ok()
    (await run(scripted_user, agent, run_input(message, thread="t"))).refused(3002, 409)
    assert len(await conversations(scripted_user, agent)) == 1
