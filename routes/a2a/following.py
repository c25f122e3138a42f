"""SubscribeToTask, and the stream of a task that is under way already (A2A 1.0, 3.1.6)."""

from actors.commands.runs import RunPiece, follow_run
from actors.commands.tasks import TaskView
from routes.a2a import tasks
from routes.a2a.errors import UnsupportedOperation
from routes.a2a.operation_request import STREAMED, OperationRequest
from routes.a2a.requests import task_asked
from routes.http.server_sent_events import STILL_HERE


async def subscribe_to_task(asked: OperationRequest) -> object:
    """Stream a task that is under way: as it is now, then its changes."""
    view = await asked.task(task_asked(asked.params).id)
    if view.ended:
        raise UnsupportedOperation("The task has ended, so there is nothing to subscribe to; read it with GetTask.")
    await follow(asked, view)
    return STREAMED


async def follow(asked: OperationRequest, view: TaskView, history_length: int | None = None) -> None:
    """Stream a task from its beginning to its end."""
    asked.send({"task": tasks.task(view, history_length)})
    pieces = 0
    async for heard in follow_run(asked.call, view.id):
        if not isinstance(heard, RunPiece):
            error = heard.error and heard.error.note
            ended = view._replace(state=heard.state, reply=heard.reply, error=error, ended_at=heard.ended_at)
            for event in tasks.last_events(ended, pieces):
                asked.send(event)
        elif heard.text:
            asked.send(tasks.artifact_update(view, heard.text, append=pieces > 0, last=False))
            pieces += 1
        else:
            asked.stream.send(STILL_HERE)
