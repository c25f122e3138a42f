"""Tasks as A2A's clients see them: a task is a run, and the agent's reply its one artifact (a2a.proto, `Task`)."""

from typing import Any

from actors.commands.tasks import TaskView
from actors.engines.message import Source
from actors.errors import MessageKept
from actors.webhooks.push import STATE_NAMES
from actors.wire import iso
from routes.a2a.errors import GO_ON

ARTIFACT = "reply"
"""The id of a task's only artifact."""
TEXT = "text/plain"


def task(view: TaskView, history_length: int | None = None, *, artifacts: bool = True) -> dict[str, Any]:
    """Return a Task; `history_length` limits its history, 0 leaves that out (section 3.2.4)."""
    shown: dict[str, Any] = {"id": view.id, "contextId": view.context, "status": status(view)}
    if artifacts and view.reply is not None:
        shown["artifacts"] = [artifact(view.reply.content, view.reply.sources)]
    if history_length != 0:
        shown["history"] = [_message(view, view.message_id or view.message.id, "ROLE_USER", view.message.content)]
    return shown


def status(view: TaskView) -> dict[str, Any]:
    """Return a TaskStatus."""
    at = view.ended_at or view.message.at if view.reply is None else view.reply.at
    shown: dict[str, Any] = {"state": STATE_NAMES[view.state], "timestamp": iso(at)}
    if view.state == "failed" and view.error:
        shown["message"] = _message(view, f"{view.id}-error", "ROLE_AGENT", MessageKept.note_with(view.error, GO_ON))
    return shown


def artifact(text: str, sources: tuple[Source, ...] = ()) -> dict[str, Any]:
    """Return an Artifact with a text, or with a part of it; its sources are in the metadata."""
    shown: dict[str, Any] = {
        "artifactId": ARTIFACT,
        "name": ARTIFACT,
        "parts": [{"text": text, "mediaType": TEXT}],
    }
    if sources:
        shown["metadata"] = {"sources": [source.record() for source in sources]}
    return shown


def _message(view: TaskView, id: str, role: str, text: str) -> dict[str, Any]:
    parts = [{"text": text, "mediaType": TEXT}]
    return {"messageId": id, "contextId": view.context, "taskId": view.id, "role": role, "parts": parts}


def status_update(view: TaskView) -> dict[str, Any]:
    """Return a StreamResponse with a TaskStatusUpdateEvent."""
    return {"statusUpdate": {"taskId": view.id, "contextId": view.context, "status": status(view)}}


def artifact_update(
    view: TaskView, text: str, *, append: bool, last: bool, sources: tuple[Source, ...] = ()
) -> dict[str, Any]:
    """Return a StreamResponse with a TaskArtifactUpdateEvent.

    `append`: it continues the artifact's text; `last`: it ends it.
    """
    update = {"taskId": view.id, "contextId": view.context, "artifact": artifact(text, sources)}
    return {"artifactUpdate": update | {"append": append, "lastChunk": last}}


def last_events(view: TaskView, pieces: int) -> list[dict[str, Any]]:
    """Return the events with which the stream of a task ends, after a number of pieces of its artifact."""
    events: list[dict[str, Any]] = []
    if view.reply is not None:
        rest = "" if pieces else view.reply.content
        events.append(artifact_update(view, rest, append=pieces > 0, last=True, sources=view.reply.sources))
    return [*events, status_update(view)]
