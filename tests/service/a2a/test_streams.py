"""Streams, waits and cancellations of tasks with a slow engine, by the official client."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from tests.gateways.gate import Gate
from tests.support.a2a_client import BINDINGS, Talker, said, talking
from tests.support.gateway import Client


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def talker(binding: str, scripted_user: Client, unique: str) -> AsyncIterator[Talker]:
    """The official client, which streams, of an agent with the scripted engine."""
    await scripted_user.agent(f"{unique}-agent")
    async with talking(scripted_user, f"{unique}-agent", binding, streaming=True) as talker:
        yield talker


@pytest.fixture
async def asker(talker: Talker, binding: str, scripted_user: Client, unique: str) -> AsyncIterator[Talker]:
    """The same client without streams."""
    async with talking(scripted_user, f"{unique}-agent", binding) as asker:
        yield asker


def text_of(events: list[pb.StreamResponse]) -> str:
    """Return the artifact's text as a client puts it together."""
    text = ""
    for event in events:
        if event.HasField("artifact_update"):
            piece = event.artifact_update.artifact.parts[0].text
            text = text + piece if event.artifact_update.append else piece
    return text


def states(events: list[pb.StreamResponse]) -> list[str]:
    """Return the kinds of events, a status by its state."""
    return [
        pb.TaskState.Name(event.status_update.status.state)
        if event.HasField("status_update")
        else str(event.WhichOneof("payload"))
        for event in events
    ]


async def follow(talker: Talker, id: str, into: list[pb.StreamResponse]) -> None:
    await hear(talker.sdk.subscribe(pb.SubscribeToTaskRequest(id=id)), into)


async def hear(events: AsyncIterator[pb.StreamResponse], into: list[pb.StreamResponse]) -> None:
    async for event in events:
        into.append(event)  # noqa: PERF401 - each is seen as it comes


async def until(seen: list[pb.StreamResponse], count: int) -> None:
    async with asyncio.timeout(30):
        while len(seen) < count:
            await asyncio.sleep(0.01)


async def under_way(talker: Talker) -> pb.Task:
    """Return the only task under way, once its message is stored."""
    async with asyncio.timeout(30):
        while True:
            found = (await talker.sdk.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_WORKING))).tasks
            if found:
                return found[0]
            await asyncio.sleep(0.05)


async def test_a_stream_has_the_task_its_pieces_and_its_end(talker: Talker):
    events = await talker.events(said("say:Hello say:World"))
    assert states(events) == ["task", *["artifact_update"] * 3, "TASK_STATE_COMPLETED"]
    assert events[0].task.status.state == pb.TASK_STATE_WORKING
    assert not events[0].task.artifacts
    assert text_of(events) == "HelloWorld"
    assert [event.artifact_update.last_chunk for event in events[1:4]] == [False, False, True]
    task = await talker.task(events[0].task.id)
    assert task.artifacts[0].parts[0].text == "HelloWorld"
    assert task.status == events[-1].status_update.status
    with pytest.raises(UnsupportedOperationError):
        await follow(talker, task.id, [])


async def test_several_streams_of_a_task_have_the_same_text(talker: Talker, gate: Gate):
    seen: list[pb.StreamResponse] = []
    sending = asyncio.create_task(talker.events(said(f"say:Hello wait:{gate} say:World")))
    await gate.reached()
    task = await under_way(talker)
    following = [asyncio.create_task(follow(talker, task.id, seen))]
    late: list[pb.StreamResponse] = []
    following.append(asyncio.create_task(follow(talker, task.id, late)))
    await until(seen, 2)
    await until(late, 2)
    gate.open()
    await asyncio.gather(*following)
    for events in (await sending, seen, late):
        assert states(events)[0] == "task"
        assert states(events)[-1] == "TASK_STATE_COMPLETED"
        assert text_of(events) == "HelloWorld"


async def test_a_client_may_return_at_once_and_read_the_task_later(asker: Talker, gate: Gate):
    task = await asker.say(f"wait:{gate} say:Done", return_immediately=True)
    assert task.status.state == pb.TASK_STATE_WORKING
    await gate.reached()
    assert (await asker.task(task.id)).status.state == pb.TASK_STATE_WORKING
    working = await asker.sdk.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_WORKING))
    assert [one.id for one in working.tasks] == [task.id]
    gate.open()
    async with asyncio.timeout(30):
        while (await asker.task(task.id)).status.state == pb.TASK_STATE_WORKING:
            await asyncio.sleep(0.05)
    assert (await asker.task(task.id)).artifacts[0].parts[0].text == "Done"


async def test_a_task_that_waits_for_its_turn_is_returned_at_once_read_and_cancelled(
    asker: Talker, talker: Talker, gate: Gate
):
    first = await asker.say(f"wait:{gate} say:One", context="c", return_immediately=True)
    await gate.reached()
    task = await asker.say("say:Two", id="m-2", context="c", return_immediately=True)
    assert (task.status.state, task.context_id) == (pb.TASK_STATE_WORKING, "c")
    assert (await asker.say("say:Two", id="m-2", context="c", return_immediately=True)).id == task.id
    assert await asker.task(task.id) == task
    events: list[pb.StreamResponse] = []
    streamed = pb.SendMessageRequest(message=said("say:Three", id="m-3", context_id="c"))
    streaming = asyncio.create_task(hear(talker.sdk.send_message(streamed), events))
    await until(events, 1)
    assert (await asker.task(events[0].task.id)) == events[0].task
    cancelled = await asker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    assert (cancelled.id, cancelled.status.state) == (task.id, pb.TASK_STATE_CANCELED)
    with pytest.raises(TaskNotCancelableError):
        await asker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    gate.open()
    await streaming
    assert states(events) == ["task", "artifact_update", "artifact_update", "TASK_STATE_COMPLETED"]
    assert text_of(events) == "Three"
    listed = (await asker.sdk.list_tasks(pb.ListTasksRequest(context_id="c"))).tasks
    assert {one.id: pb.TaskState.Name(one.status.state) for one in listed} == {
        first.id: "TASK_STATE_COMPLETED",
        task.id: "TASK_STATE_CANCELED",
        events[0].task.id: "TASK_STATE_COMPLETED",
    }


async def test_a_repeat_joins_the_task_that_is_under_way(talker: Talker, asker: Talker, gate: Gate):
    text = f"wait:{gate} say:Done"
    task = await asker.say(text, id="m-1", return_immediately=True)
    await gate.reached()
    assert (await asker.say(text, id="m-1", return_immediately=True)).id == task.id
    first = asyncio.create_task(asker.say(text, id="m-2", context="c"))
    await asyncio.sleep(0.1)
    again = asyncio.create_task(asker.say(text, id="m-2", context="c"))
    events: list[pb.StreamResponse] = []
    repeat = pb.SendMessageRequest(message=said(text, id="m-2", context_id="c"))
    streamed = asyncio.create_task(hear(talker.sdk.send_message(repeat), events))
    await until(events, 1)  # once the task has ended, there are no pieces to stream
    gate.open()
    one, two, _ = await asyncio.gather(first, again, streamed)
    assert one.id == two.id == events[0].task.id != task.id
    assert text_of(events) == "Done"
    assert (await asker.sdk.list_tasks(pb.ListTasksRequest())).total_size == 2


async def test_a_cancelled_task_keeps_what_was_said(talker: Talker, gate: Gate):
    seen: list[pb.StreamResponse] = []
    sending = asyncio.create_task(talker.events(said(f"say:Half wait:{gate} say:Never")))
    await gate.reached()
    task = await under_way(talker)
    following = asyncio.create_task(follow(talker, task.id, seen))
    await until(seen, 2)
    cancelled = await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    assert cancelled.status.state == pb.TASK_STATE_CANCELED
    assert cancelled.artifacts[0].parts[0].text == "Half"
    await following
    for events in (await sending, seen):
        assert (states(events)[-1], text_of(events)) == ("TASK_STATE_CANCELED", "Half")
    assert await talker.task(task.id) == cancelled
    with pytest.raises(TaskNotCancelableError):
        await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    listed = await talker.sdk.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_CANCELED))
    assert [one.id for one in listed.tasks] == [task.id]


async def test_a_task_that_is_cancelled_before_the_first_word_has_no_artifact(talker: Talker, gate: Gate):
    sending = asyncio.create_task(talker.events(said(f"wait:{gate} say:Never")))
    await gate.reached()
    task = await under_way(talker)
    cancelled = await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    assert (cancelled.status.state, len(cancelled.artifacts)) == (pb.TASK_STATE_CANCELED, 0)
    assert states(await sending) == ["task", "TASK_STATE_CANCELED"]


async def test_a_failed_engine_makes_a_failed_task_and_a_repeat_asks_it_again(
    talker: Talker, asker: Talker, gate: Gate
):
    events = await talker.events(said("say:Half fail"))
    assert states(events)[-1] == "TASK_STATE_FAILED"
    assert events[-1].status_update.status.message.parts[0].text
    failed = await talker.task(events[0].task.id)
    assert (failed.status.state, len(failed.artifacts)) == (pb.TASK_STATE_FAILED, 0)
    listed = await talker.sdk.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_FAILED))
    assert [(one.id, one.status.message.parts) for one in listed.tasks] == [(failed.id, failed.status.message.parts)]
    text = f"failonce:{gate} say:Now"
    first = await asker.say(text, id="m-1")
    assert first.status.state == pb.TASK_STATE_FAILED
    again = await asker.say(text, id="m-1")
    assert (again.id, again.status.state) == (first.id, pb.TASK_STATE_COMPLETED)
    assert again.artifacts[0].parts[0].text == "Now"


async def test_a_task_that_ends_with_its_agent_says_so(talker: Talker, scripted_user: Client, unique: str, gate: Gate):
    running = asyncio.create_task(talker.events(said(f"say:One wait:{gate}")))
    await gate.reached()
    (await scripted_user.command("AP_Destroy", target={"agent": f"{unique}-agent"})).ok()
    status = (await running)[-1].status_update.status
    assert status.state == pb.TASK_STATE_FAILED
    assert "The agent was destroyed" in status.message.parts[0].text


async def test_a_client_that_goes_away_does_not_end_the_task(talker: Talker, gate: Gate):
    sending = asyncio.create_task(talker.events(said(f"say:Hello wait:{gate} say:World")))
    await gate.reached()
    task = await under_way(talker)
    sending.cancel()
    seen: list[pb.StreamResponse] = []
    following = asyncio.create_task(follow(talker, task.id, seen))
    await until(seen, 2)
    gate.open()
    await following
    assert text_of(seen) == "HelloWorld"
