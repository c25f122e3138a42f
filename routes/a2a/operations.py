"""The operations of A2A 1.0 (section 3.1), whatever binding they come through, and the table of all of them."""

import base64
import binascii
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import orjson

from actors.commands import push_configs
from actors.commands.runs import cancel_run
from actors.commands.tasks import numbered_context, tasks_of
from actors.errors import InvalidField, NotFound
from actors.webhooks.push import STATE_NAMES, PushTarget
from persistence.push_configs import PushConfigRow
from routes.a2a import tasks
from routes.a2a.cards import card_of
from routes.a2a.errors import InvalidParams, TaskNotCancelable, TaskNotFound
from routes.a2a.following import subscribe_to_task
from routes.a2a.operation_request import OperationRequest
from routes.a2a.reading import needed_text
from routes.a2a.requests import config_asked, configs_asked, push_config, task_asked, tasks_asked
from routes.a2a.sending import send_message, send_streaming_message

_STATES = {name: state for state, name in STATE_NAMES.items()}


async def get_task(asked: OperationRequest) -> dict[str, Any]:
    """Return a task as it is now."""
    wanted = task_asked(asked.params)
    return tasks.task(await asked.task(wanted.id), wanted.history_length)


async def list_tasks(asked: OperationRequest) -> dict[str, Any]:
    """Return a page of the caller's tasks with the agent, the last changed first."""
    wanted = tasks_asked(asked.params)
    before = _place_of(wanted.page_token)
    number = None
    if wanted.context_id is not None:
        number = await numbered_context(asked.call, asked.agent.id, wanted.context_id)
    state = None if wanted.state is None else _STATES.get(wanted.state)
    if (wanted.context_id is not None and number is None) or (wanted.state is not None and state is None):
        return {"tasks": [], "nextPageToken": "", "pageSize": wanted.page_size, "totalSize": 0}
    page = await tasks_of(
        asked.call,
        asked.agent.id,
        number=number,
        state=state,
        since=wanted.after,
        before=before,
        limit=wanted.page_size,
    )
    return {
        "tasks": [tasks.task(view, wanted.history_length, artifacts=wanted.artifacts) for view in page.tasks],
        "nextPageToken": "" if page.next is None else _token(*page.next),
        "pageSize": wanted.page_size,
        "totalSize": page.total,
    }


async def cancel_task(asked: OperationRequest) -> dict[str, Any]:
    """End a task with what the agent has said so far, and return it."""
    wanted = task_asked(asked.params)
    before = await asked.task(wanted.id)
    if before.ended:
        raise TaskNotCancelable("The task has ended, so it can't be cancelled.")
    await cancel_run(asked.call, before.id)
    after = await asked.task(wanted.id)
    if after.state != "cancelled":
        raise TaskNotCancelable("The task ended before it could be cancelled.")
    return tasks.task(after)


async def create_config(asked: OperationRequest) -> dict[str, Any]:
    """Add a push notification config to a task, or replace the one of its id."""
    task_id = needed_text(asked.params, "taskId")
    wanted = push_config(asked.params)
    await push_configs.require_allowed(asked.call, wanted.url)
    view = await asked.task(task_id)
    target = PushTarget(wanted.url, wanted.token, wanted.scheme, wanted.credentials)
    return _config(asked, task_id, await push_configs.add(asked.call, view, wanted.id, target, tell=False))


async def get_config(asked: OperationRequest) -> dict[str, Any]:
    """Return a push notification config of a task."""
    wanted = config_asked(asked.params)
    view = await asked.task(wanted.task_id)
    try:
        return _config(asked, view.id, await push_configs.read(asked.call, view, wanted.id))
    except NotFound as error:
        raise TaskNotFound(error.note) from None


async def list_configs(asked: OperationRequest) -> dict[str, Any]:
    """Return a page of a task's push notification configs."""
    wanted = configs_asked(asked.params)
    view = await asked.task(wanted.task_id)
    rows = await push_configs.listed(asked.call, view, wanted.page_token or "", wanted.page_size + 1)
    shown = rows[: wanted.page_size]
    more = shown[-1].id if len(rows) > len(shown) else ""
    return {"configs": [_config(asked, view.id, row) for row in shown], "nextPageToken": more}


async def delete_config(asked: OperationRequest) -> dict[str, Any]:
    """Remove a push notification config of a task, if it is there."""
    wanted = config_asked(asked.params)
    await push_configs.remove(asked.call, await asked.task(wanted.task_id), wanted.id)
    return {}


async def get_extended_card(asked: OperationRequest) -> dict[str, Any]:
    """Return the agent's card with what only callers with a credential see."""
    return card_of(asked.agent, asked.request.base_url, extended=True)


def _config(asked: OperationRequest, task_id: str, row: PushConfigRow) -> dict[str, Any]:
    """Return a TaskPushNotificationConfig; its credentials are not shown again."""
    target = push_configs.target_of(asked.call, row)
    shown: dict[str, Any] = {"id": row.id, "taskId": task_id, "url": target.url}
    if target.token:
        shown["token"] = target.token
    if target.scheme:
        shown["authentication"] = {"scheme": target.scheme}
    return shown


def _token(at: int, message_id: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps((at, message_id))).decode()


def _place_of(token: str | None) -> tuple[int, str] | None:
    if token is None:
        return None
    try:
        at, message_id = orjson.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, TypeError, binascii.Error):
        at = message_id = None
    if type(at) is not int or not isinstance(message_id, str) or not 0 <= at < 2**63 or "\0" in message_id:
        raise InvalidParams("pageToken", "is none that this list has made")
    return at, message_id


class Operation(NamedTuple):
    """An operation: what carries it out, whether it changes anything, and the service as which it counts for scopes."""

    run: Callable[[OperationRequest], Coroutine[Any, Any, Any]]
    mutates: bool = False
    counts_as: str = "AP_Chat"

    async def carry_out(self, asked: OperationRequest) -> Any:
        """Carry it out; parameters that are refused leave no audit row, like a refused body elsewhere."""
        try:
            return await self.run(asked)
        except InvalidField:
            asked.call.waive_receipt(reads=True)
            raise


OPERATIONS = {
    "SendMessage": Operation(send_message, mutates=True),
    "SendStreamingMessage": Operation(send_streaming_message, mutates=True),
    "GetTask": Operation(get_task),
    "ListTasks": Operation(list_tasks),
    "CancelTask": Operation(cancel_task, mutates=True),
    "SubscribeToTask": Operation(subscribe_to_task),
    "CreateTaskPushNotificationConfig": Operation(create_config, mutates=True),
    "GetTaskPushNotificationConfig": Operation(get_config),
    "ListTaskPushNotificationConfigs": Operation(list_configs),
    "DeleteTaskPushNotificationConfig": Operation(delete_config, mutates=True),
    "GetExtendedAgentCard": Operation(get_extended_card, counts_as="AP_Read"),
}
"""The operations by their names, which are JSON-RPC's methods."""
METHODS = frozenset(OPERATIONS)
