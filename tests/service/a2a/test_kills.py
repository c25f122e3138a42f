"""A kill -9 loses no task that was answered, and a message that is sent again is not stored twice."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb

from tests.gateways.gate import ENGINES, Gate
from tests.support.a2a_client import BINDINGS, said, talking
from tests.support.gateway import running


@pytest.mark.one_node
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_kill_loses_no_task_and_a_repeat_doubles_none(binding: str, tmp_path: Path, gate: Gate):
    async with running(tmp_path / "data", script=ENGINES / "scripted.py") as gateway:
        async with gateway.client() as client:
            user = await client.register("lovelace")
            await user.agent("scout")
            async with talking(user, "scout", binding) as talker:
                first = await talker.say("say:One", id="m-1", context="mine")
                second = said(f"wait:{gate} say:Two", id="m-2", context_id="mine")
                cut_off = asyncio.create_task(talker.events(second))
                await gate.reached()
                async with asyncio.timeout(30):
                    while (await talker.sdk.list_tasks(pb.ListTasksRequest())).total_size < 2:  # until it is stored
                        await asyncio.sleep(0.05)
                await gateway.kill()
                with suppress(A2AClientError):
                    await cut_off
        await gateway.start()
        gate.open()
        async with gateway.client() as client:
            again = client.as_user(user.token, user.name)
            async with talking(again, "scout", binding) as talker:
                listed = await talker.sdk.list_tasks(pb.ListTasksRequest(include_artifacts=True))
                assert [pb.TaskState.Name(task.status.state) for task in listed.tasks] == [
                    "TASK_STATE_FAILED",
                    "TASK_STATE_COMPLETED",
                ]
                assert listed.tasks[1].artifacts == first.artifacts
                assert (await talker.say("say:One", id="m-1", context="mine")).id == first.id
                done = (await talker.events(second))[-1].task
                assert done.id == listed.tasks[0].id
                assert done.artifacts[0].parts[0].text == "Two"
                own = await talker.sdk.list_tasks(pb.ListTasksRequest(context_id="mine"))
                assert own.total_size == 2
            [conversation] = (await again.command("CV_List", target={"agent": "scout"})).ok().profile
            shown = (await again.command("AP_History", target={"conversation": conversation["id"]})).ok().content
            assert [message["content"] for message in shown] == ["say:One", "One", f"wait:{gate} say:Two", "Two"]
