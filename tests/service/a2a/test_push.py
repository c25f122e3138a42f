"""Push notifications of tasks, sent to a real HTTPS receiver."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from aiohttp import web
from google.protobuf.json_format import Parse

from actors.jobs.pushing import AT_ONCE
from tests.gateways.gate import ENGINES, Gate
from tests.support.a2a_client import BINDINGS, Talker, talking
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.receiver import Authority, Received, Receiver, receiving, status

SECRET_TEXT = "Nobody_else_reads_this"


@pytest.fixture(scope="module")
async def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def settings_of(authority: Authority) -> dict[str, Any]:
    """Return the settings of a gateway that may call addresses of this machine."""
    return {
        "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true",
        "PARLEY_WEBHOOKS_CA_FILE": str(authority.file),
        "PARLEY_WEBHOOKS_RETRY_DELAYS_S": "0.05,0.05",
    }


@pytest.fixture(scope="module")
async def pushing(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> AsyncIterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("pushing") / "data"
    async with running(folder, script=ENGINES / "scripted.py", **settings_of(authority)) as gateway:
        yield gateway


@pytest.fixture
async def owner(pushing: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with pushing.client() as client:
        owner = await client.register(f"{unique}-owner")
        await owner.agent(f"{unique}-agent")
        yield owner


@pytest.fixture(params=BINDINGS)
async def talker(request: pytest.FixtureRequest, owner: Client, unique: str) -> AsyncIterator[Talker]:
    async with talking(owner, f"{unique}-agent", request.param) as talker:
        yield talker


@pytest.fixture
async def receiver(authority: Authority) -> AsyncIterator[Receiver]:
    async with receiving(tls=authority.context("localhost")) as receiver:
        yield receiver


def told(received: Received) -> pb.TaskStatusUpdateEvent:
    """Read a notification as the official client's types do."""
    assert SECRET_TEXT not in received.body.decode()
    return Parse(received.body, pb.StreamResponse()).status_update


def config(url: str, **more: Any) -> pb.TaskPushNotificationConfig:
    return pb.TaskPushNotificationConfig(url=url, **more)


async def test_the_end_of_a_task_is_told_with_ids_and_state_and_no_text(talker: Talker, receiver: Receiver):
    push = config(
        receiver.url, token="my token", authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="my secret")
    )
    task = await talker.say(f"say:{SECRET_TEXT}", task_push_notification_config=push)
    [received] = await receiver.got(1)
    update = told(received)
    assert (update.task_id, update.context_id) == (task.id, task.context_id)
    assert update.status == task.status
    assert received.headers["Authorization"] == "Bearer my secret"
    assert received.headers["X-A2A-Notification-Token"] == "my token"
    assert received.headers["Content-Type"] == "application/a2a+json"
    assert orjson.loads(received.body).keys() == {"statusUpdate"}


@pytest.mark.parametrize(
    ("then", "state"),
    [("say:Done", pb.TASK_STATE_COMPLETED), ("fail", pb.TASK_STATE_FAILED), ("cancel", pb.TASK_STATE_CANCELED)],
)
async def test_a_config_that_is_added_to_a_task_under_way_is_told_of_its_end(
    talker: Talker, receiver: Receiver, gate: Gate, then: str, state: pb.TaskState
):
    task = await talker.say(f"wait:{gate} {then}", return_immediately=True, context="mine")
    await gate.reached()
    made = await talker.sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id))
    assert made.id
    assert not receiver.received
    if then == "cancel":
        await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
    gate.open()
    update = told((await receiver.got(1))[0])
    assert (update.task_id, update.context_id, update.status.state) == (task.id, "mine", state)
    assert update.status.timestamp == (await talker.task(task.id)).status.timestamp
    await asyncio.sleep(1.5)
    assert len(receiver.received) == 1


async def test_configs_are_kept_read_listed_and_removed(talker: Talker, receiver: Receiver):
    task = await talker.say("say:Done")
    sdk = talker.sdk
    secret = pb.AuthenticationInfo(scheme="Bearer", credentials="my secret")
    first = await sdk.create_task_push_notification_config(
        config(receiver.url, id="a", task_id=task.id, token="t", authentication=secret)
    )
    assert first == config(
        receiver.url, id="a", task_id=task.id, token="t", authentication=pb.AuthenticationInfo(scheme="Bearer")
    )
    made = await sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id))
    again = await sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id))
    assert made == again
    read = pb.GetTaskPushNotificationConfigRequest(task_id=task.id, id="a")
    assert await sdk.get_task_push_notification_config(read) == first
    listed = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id, page_size=1)
    page = await sdk.list_task_push_notification_configs(listed)
    listed.page_token = page.next_page_token
    rest = await sdk.list_task_push_notification_configs(listed)
    assert {one.id for one in (*page.configs, *rest.configs)} == {"a", made.id}
    assert rest.next_page_token == ""
    for _ in range(2):
        await sdk.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="a")
        )
        with pytest.raises(TaskNotFoundError):
            await sdk.get_task_push_notification_config(read)
    await asyncio.sleep(1.5)
    assert not receiver.received  # the task had ended before


async def test_a_task_has_a_limit_of_configs(talker: Talker, receiver: Receiver):
    task = await talker.say("say:Done")
    for number in range(10):
        await talker.sdk.create_task_push_notification_config(config(receiver.url, id=str(number), task_id=task.id))
    with pytest.raises(Exception, match="10 push notification configs"):
        await talker.sdk.create_task_push_notification_config(config(receiver.url, id="more", task_id=task.id))


async def test_only_the_task_s_user_adds_configs(
    talker: Talker, owner: Client, pushing: GatewayProcess, receiver: Receiver, unique: str
):
    task = await talker.say("say:Done")
    (await owner.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"access": "public"})).ok()
    async with pushing.client() as client:
        stranger = await client.register(f"{unique}-stranger")
        async with talking(stranger, f"{unique}-agent", BINDINGS[0]) as other:
            for wrong in (
                other.sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id)),
                other.sdk.list_task_push_notification_configs(
                    pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
                ),
                other.sdk.delete_task_push_notification_config(
                    pb.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="a")
                ),
            ):
                with pytest.raises(TaskNotFoundError):
                    await wrong


@pytest.mark.parametrize("code", [400, 500])
async def test_only_429_and_503_may_ask_to_wait(talker: Talker, receiver: Receiver, code: int):
    receiver.answer = status(code, Retry_After="3600")
    await talker.say("say:Done", task_push_notification_config=config(receiver.url))
    assert len(await receiver.got(3)) == 3


async def test_a_failed_attempt_is_repeated_and_given_up_in_the_end(talker: Talker, receiver: Receiver):
    receiver.answer = status(503)
    await talker.say("say:Done", task_push_notification_config=config(receiver.url))
    assert len(await receiver.got(3)) == 3
    await asyncio.sleep(1.5)
    assert len(receiver.received) == 3


async def test_addresses_that_webhooks_may_not_call_are_refused(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    for number, binding in enumerate(BINDINGS):
        async with talking(user, f"{unique}-agent", binding) as talker:
            for url in ("http://example.com/hook", "https://127.0.0.1/hook", "https://[::1]/", "https://localhost/"):
                with pytest.raises(InvalidParamsError, match="url"):
                    await talker.say("Hello!", task_push_notification_config=config(url))
            assert (await talker.sdk.list_tasks(pb.ListTasksRequest())).total_size == number
            task = await talker.say("Hello!", context="c")
            with pytest.raises(InvalidParamsError, match="url"):
                await talker.sdk.create_task_push_notification_config(config("https://10.0.0.1/", task_id=task.id))


async def test_a_kill_loses_no_notification(authority: Authority, receiver: Receiver, tmp_path: Path, gate: Gate):
    async with running(tmp_path / "data", script=ENGINES / "scripted.py", **settings_of(authority)) as gateway:
        async with gateway.client() as client:
            lovelace = await client.register("lovelace")
            await lovelace.agent("scout")
            async with talking(lovelace, "scout", BINDINGS[0]) as talker:
                task = await talker.say(
                    f"wait:{gate} say:Done",
                    return_immediately=True,
                    task_push_notification_config=config(receiver.url),
                )
                await gate.reached()
        await gateway.kill()
        await gateway.start()
        update = told((await receiver.got(1))[0])
        assert (update.task_id, update.status.state) == (task.id, pb.TASK_STATE_FAILED)


@pytest.mark.parametrize("cancels", [False, True])
async def test_the_end_of_a_task_that_has_waited_for_its_turn_is_told(
    owner: Client, receiver: Receiver, gate: Gate, unique: str, cancels: bool
):
    async with talking(owner, f"{unique}-agent", BINDINGS[0]) as talker:
        await talker.say(f"wait:{gate} say:One", context="c", return_immediately=True)
        await gate.reached()
        pushed = config(receiver.url)
        more = {"return_immediately": True, "task_push_notification_config": pushed}
        task = await talker.say("say:Two", context="c", **more)
        with pytest.raises(Exception, match="waits for its turn"):
            await talker.sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id))
        if cancels:
            await talker.sdk.cancel_task(pb.CancelTaskRequest(id=task.id))
        gate.open()
        update = told((await receiver.got(1))[0])
        state = pb.TASK_STATE_CANCELED if cancels else pb.TASK_STATE_COMPLETED
        assert (update.task_id, update.status.state) == (task.id, state)


async def test_the_task_of_a_destroyed_agent_is_told_as_failed(
    owner: Client, receiver: Receiver, gate: Gate, unique: str
):
    async with talking(owner, f"{unique}-agent", BINDINGS[0]) as talker:
        task = await talker.say(f"wait:{gate} say:Done", return_immediately=True)
        await gate.reached()
        await talker.sdk.create_task_push_notification_config(config(receiver.url, task_id=task.id))
        (await owner.command("AP_Destroy", target={"agent": f"{unique}-agent"})).ok()
    gate.open()
    update = told((await receiver.got(1))[0])
    assert update.status.state == pb.TASK_STATE_FAILED


async def test_a_destroyed_conversation_takes_its_configs_with_it(talker: Talker, owner: Client, receiver: Receiver):
    receiver.answer = status(503)
    task = await talker.say("say:Done", task_push_notification_config=config(receiver.url))
    await receiver.got(1)
    listed = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
    assert len((await talker.sdk.list_task_push_notification_configs(listed)).configs) == 1
    (await owner.command("CV_Destroy", target={"conversation": task.context_id})).ok()
    with pytest.raises(TaskNotFoundError):
        await talker.task(task.id)
    with pytest.raises(TaskNotFoundError):
        await talker.sdk.list_task_push_notification_configs(listed)
    assert (await talker.sdk.list_tasks(pb.ListTasksRequest())).total_size == 0


async def test_a_user_s_receivers_that_hang_hold_up_no_other_user_s_notifications(authority: Authority, tmp_path: Path):
    hanging, released = settings_of(authority) | {"PARLEY_WEBHOOKS_TIMEOUT_S": "60"}, asyncio.Event()

    async def hang(_: Received) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    async with (
        running(tmp_path / "data", script=ENGINES / "scripted.py", **hanging) as gateway,
        gateway.client() as client,
        receiving(hang, authority.context("localhost")) as slow,
        receiving(tls=authority.context("localhost")) as receiver,
    ):
        for name, url, tasks in (("first", slow.url, AT_ONCE + 1), ("second", receiver.url, 1)):
            user = await client.register(name)
            await user.agent(f"{name}-agent")
            async with talking(user, f"{name}-agent", BINDINGS[0]) as talker:
                for _ in range(tasks):
                    await talker.say("say:Done", task_push_notification_config=config(url))
        assert await receiver.got(1)
        released.set()
        assert await slow.got(AT_ONCE + 1)
