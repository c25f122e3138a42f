"""Tasks through both bindings, with the unchanged official client and the running gateway."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from tests.gateways.gate import Gate
from tests.support.a2a_client import BINDINGS, Talker, said, talking
from tests.support.gateway import Client


@pytest.fixture(params=BINDINGS)
async def talker(request: pytest.FixtureRequest, user: Client, unique: str) -> AsyncIterator[Talker]:
    """The official client of an agent of the user's, over each binding."""
    await user.agent(f"{unique}-agent")
    async with talking(user, f"{unique}-agent", request.param) as talker:
        yield talker


async def test_a_message_is_answered_with_its_ended_task(talker: Talker, user: Client, unique: str):
    task = await talker.say("The Moon is 384,400 km away.")
    assert task.status.state == pb.TASK_STATE_COMPLETED
    assert task.id.startswith("run_")
    assert task.context_id.startswith("cnv_")
    assert task.artifacts[0].parts[0].text
    assert [one.parts[0].text for one in task.history] == ["The Moon is 384,400 km away."]
    again = await talker.say("How far is the Moon?", context=task.context_id)
    assert again.context_id == task.context_id
    assert "384,400 km" in again.artifacts[0].parts[0].text
    history = (await user.command("AP_History", target={"conversation": task.context_id})).ok().content
    assert [one["content"] for one in history] == [
        "The Moon is 384,400 km away.",
        task.artifacts[0].parts[0].text,
        "How far is the Moon?",
        again.artifacts[0].parts[0].text,
    ]


async def test_a_task_is_read_and_listed_as_it_was_answered(talker: Talker):
    first = await talker.say("One.")
    second = await talker.say("Two.", context=first.context_id)
    other = await talker.say("Three.")
    assert await talker.task(first.id) == first
    assert not (await talker.task(first.id, history_length=0)).history
    page = await talker.sdk.list_tasks(pb.ListTasksRequest(page_size=2, include_artifacts=True))
    assert (list(page.tasks), page.total_size, page.page_size) == ([other, second], 3, 2)
    rest = await talker.sdk.list_tasks(pb.ListTasksRequest(page_size=2, page_token=page.next_page_token))
    assert ([task.id for task in rest.tasks], rest.next_page_token) == ([first.id], "")
    assert not rest.tasks[0].artifacts
    own = await talker.sdk.list_tasks(pb.ListTasksRequest(context_id=first.context_id))
    assert [task.id for task in own.tasks] == [second.id, first.id]
    for state, count in ((pb.TASK_STATE_COMPLETED, 3), (pb.TASK_STATE_WORKING, 0), (pb.TASK_STATE_REJECTED, 0)):
        assert (await talker.sdk.list_tasks(pb.ListTasksRequest(status=state))).total_size == count
    assert (await talker.sdk.list_tasks(pb.ListTasksRequest(context_id="another"))).total_size == 0
    since = pb.ListTasksRequest()
    since.status_timestamp_after.CopyFrom(other.status.timestamp)
    assert [task.id for task in (await talker.sdk.list_tasks(since)).tasks] == [other.id]


@pytest.mark.parametrize("then", ["fail", "cancel"])
async def test_a_task_that_ends_without_a_reply_has_the_time_of_its_end(
    scripted_user: Client, unique: str, gate: Gate, then: str
):
    await scripted_user.agent(f"{unique}-agent")
    async with talking(scripted_user, f"{unique}-agent", BINDINGS[0]) as talker:
        task = await talker.say(f"wait:{gate} fail", return_immediately=True)
        await gate.reached()
        other = await talker.say("say:Other")
        after = other.status.timestamp.ToMilliseconds() + 1
        while time.time() * 1000 < after:
            await asyncio.sleep(0.001)
        if then == "cancel":
            await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
        gate.open()
        async with asyncio.timeout(30):
            while (ended := (await talker.task(task.id)).status).state == pb.TASK_STATE_WORKING:
                await asyncio.sleep(0.01)
        assert ended.state == (pb.TASK_STATE_CANCELED if then == "cancel" else pb.TASK_STATE_FAILED)
        assert ended.timestamp.ToMilliseconds() >= after
        since = pb.ListTasksRequest()
        since.status_timestamp_after.FromMilliseconds(after)
        (listed,) = (await talker.sdk.list_tasks(since)).tasks
        assert (listed.id, listed.status) == (task.id, ended)
        assert [one.id for one in (await talker.sdk.list_tasks(pb.ListTasksRequest())).tasks] == [task.id, other.id]


async def test_a_task_that_was_cancelled_while_it_waited_keeps_its_time(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    async with talking(scripted_user, f"{unique}-agent", BINDINGS[0]) as talker:
        await talker.say(f"wait:{gate} say:One", return_immediately=True, context="mine")
        await gate.reached()
        waiting = await talker.say("say:Two", return_immediately=True, context="mine")
        cancelled = await talker.sdk.cancel_task(pb.CancelTaskRequest(id=waiting.id))
        assert cancelled.status.state == pb.TASK_STATE_CANCELED
        at = cancelled.status.timestamp.ToMilliseconds()
        while time.time() * 1000 < at + 1:
            await asyncio.sleep(0.001)
        gate.open()
        async with asyncio.timeout(30):
            while (
                page := await talker.sdk.list_tasks(pb.ListTasksRequest(status="TASK_STATE_CANCELED"))
            ).total_size < 1:
                await asyncio.sleep(0.01)
        assert page.tasks[0].status == (await talker.task(waiting.id)).status == cancelled.status


async def test_a_clients_own_context_id_is_bound_at_its_first_use(talker: Talker, user: Client, unique: str):
    first = await talker.say("My cat is called Ada.", context="my context")
    again = await talker.say("What is my cat called?", context="my context")
    assert first.context_id == again.context_id == "my context"
    assert "Ada" in again.artifacts[0].parts[0].text
    assert (await talker.task(again.id)).context_id == "my context"
    own = await talker.sdk.list_tasks(pb.ListTasksRequest(context_id="my context"))
    assert [task.id for task in own.tasks] == [again.id, first.id]
    other = await talker.say("What is my cat called?")
    assert other.context_id not in ("my context", "")
    assert (await user.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content == []
    with pytest.raises(InvalidParamsError):
        await talker.say("Hello", context="cnv_0000000000000000ff")


async def test_a_message_sent_twice_is_one_task(talker: Talker, user: Client):
    first = await talker.say("Only once.", id="m-1")
    again = await talker.say("Only once.", id="m-1")
    assert (again.id, again.context_id, again.artifacts) == (first.id, first.context_id, first.artifacts)
    assert (await talker.sdk.list_tasks(pb.ListTasksRequest())).total_size == 1
    with pytest.raises(InvalidParamsError):
        await talker.say("Something else.", id="m-1")
    with pytest.raises(InvalidParamsError):
        await talker.say("Only once.", id="m-1", context=first.context_id)
    history = (await user.command("AP_History", target={"conversation": first.context_id})).ok().content
    assert len(history) == 2


async def test_a_task_shows_its_message_under_the_client_s_own_id(talker: Talker, user: Client, unique: str):
    task = await talker.say("Hello!", id="mine / 1")
    read, again = await talker.task(task.id), await talker.say("Hello!", id="mine / 1")
    (listed,) = (await talker.sdk.list_tasks(pb.ListTasksRequest())).tasks
    async with talking(user, f"{unique}-agent", "JSONRPC", streaming=True) as streaming:
        events = await streaming.events(said("Hello!", id="mine / 2"))
    for shown, id in ((task, "mine / 1"), (read, "mine / 1"), (again, "mine / 1"), (listed, "mine / 1")):
        assert [one.message_id for one in shown.history] == [id]
    assert [one.message_id for one in events[0].task.history] == ["mine / 2"]
    (await user.command("CV_Destroy", target={"conversation": task.context_id})).ok()
    (left,) = (await talker.sdk.list_tasks(pb.ListTasksRequest())).tasks
    assert [one.message_id for one in left.history] == ["mine / 2"]


async def test_a_task_that_has_ended_takes_no_more(talker: Talker):
    task = await talker.say("Hello!")
    with pytest.raises(UnsupportedOperationError):
        await talker.events(said("More.", task_id=task.id))
    with pytest.raises(UnsupportedOperationError):
        await talker.events(said("More.", task_id=task.id, context_id=task.context_id))
    with pytest.raises(InvalidParamsError):
        await talker.events(said("More.", task_id=task.id, context_id="another"))
    with pytest.raises(TaskNotCancelableError):
        await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))


async def test_other_users_tasks_are_not_found(talker: Talker, user: Client, sanic_client: Client, unique: str):
    task = await talker.say("A secret.")
    (await user.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"access": "public"})).ok()
    stranger = await sanic_client.register(f"{unique}-stranger")
    for binding in BINDINGS:
        async with talking(stranger, f"{unique}-agent", binding) as other:
            for id in (task.id, "run_00", "nothing"):
                with pytest.raises(TaskNotFoundError):
                    await other.task(id)
                with pytest.raises(TaskNotFoundError):
                    await other.sdk.cancel_task(pb.CancelTaskRequest(id=id))
                with pytest.raises(TaskNotFoundError):
                    await other.events(said("More.", task_id=id))
            with pytest.raises(InvalidParamsError):
                await other.say("What is it?", context=task.context_id)
            assert (await other.sdk.list_tasks(pb.ListTasksRequest())).total_size == 0
            assert (await other.sdk.list_tasks(pb.ListTasksRequest(context_id=task.context_id))).total_size == 0
    await user.agent(f"{unique}-second", select=False)
    async with talking(user, f"{unique}-second", BINDINGS[0]) as second:
        with pytest.raises(TaskNotFoundError):
            await second.task(task.id)


async def test_a_chat_on_the_bus_is_a_task_too(talker: Talker, user: Client):
    said_there = (await user.command("AP_Chat", content="Hello from the bus.")).ok().content
    listed = (await talker.sdk.list_tasks(pb.ListTasksRequest(include_artifacts=True))).tasks
    assert [task.artifacts[0].parts[0].text for task in listed] == [said_there[1]["content"]]
    assert listed[0].context_id == said_there[0]["conversation"]
    assert listed[0].history[0].message_id == said_there[0]["id"]


async def test_the_extended_card_also_has_the_agent_s_profile(talker: Talker, user: Client, unique: str):
    (await user.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"profile": "Be brief."})).ok()
    card = await talker.sdk.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
    assert card.skills[0].description.endswith("Be brief.")
