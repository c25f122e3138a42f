"""AP_Chat as server-sent events: `delta` pieces while the engine writes, then the whole `response`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from sanic import Request

from actors.calls.call import Call
from actors.errors import InvalidCredential, Overloaded
from routes.http.answers import REPLAYED, RUN_ID, HttpAnswer, status_of
from routes.http.background import BackgroundTasks
from routes.http.errors import as_service_error
from routes.http.server_sent_events import STILL_HERE, Silence, begin_events, named_event

END = ".end"
"""The end of the id of a stream's last event."""

_MAY_GO_ON = {Overloaded.internal_code, InvalidCredential.internal_code}
"""Errors behind which the run may go on: the way to its node was lost, or the stream's credential has ended."""


async def stream_chat(
    request: Request,
    call: Call,
    answering: Callable[[], Coroutine[Any, Any, tuple[int, HttpAnswer]]],
    work: BackgroundTasks,
    headers: dict[str, str],
) -> tuple[int, HttpAnswer | None]:
    """Answer as server-sent events: `delta` pieces, then the whole `response`, or an `error` after the first byte.

    The events of a run have the ids by which `GET /api/runs/{id}/events` goes on (routes/gateway/runs.py). A run that
    is silent for long gets a comment, which may be the first byte; a piece without text stands for one.

    The command runs in a task of its own, so that a client that disconnects doesn't cancel it. Returns the
    internal code at the end of the stream; a refusal kept for a key is answered whole. `headers` are sent in addition;
    `answering` may add to them before the first byte.

    Raises:
        Exception: the command failed before the first byte.
    """
    events: asyncio.Queue[bytes | None] = asyncio.Queue()
    silence = Silence(lambda: events.put_nowait(STILL_HERE))
    failed: Exception | None = None
    sent = 0

    def event_id(last: str = "") -> str:
        return f"{sent}{last}" if RUN_ID in headers else ""

    def progress(piece: str) -> None:
        nonlocal sent
        if not piece:
            events.put_nowait(STILL_HERE)
            return
        sent += len(piece)
        silence.heard()
        events.put_nowait(named_event("delta", orjson.dumps({"text": piece}), event_id()))

    def begun(what: Any) -> None:
        headers[RUN_ID] = what.run
        silence.begin()
        if what.waits:  # the head and a comment, because its turn may come much later
            progress("")

    whole: HttpAnswer | None = None
    code = 0

    async def run() -> None:
        nonlocal failed, whole, code
        try:
            code, answer = await answering()
            if REPLAYED in answer.headers:
                headers[REPLAYED] = "true"
                if RUN_ID in answer.headers:
                    headers[RUN_ID] = answer.headers[RUN_ID]
                for said in orjson.loads(answer.body)["content"][1:]:  # the reply, as one piece
                    progress(said["content"])
            if code == 0:
                events.put_nowait(named_event("response", answer.body, event_id(END)))
            else:
                whole = answer
        except Exception as raised:
            failed = raised
        finally:
            silence.end()
            events.put_nowait(None)

    call.stream_to(progress, begun)
    task = work.begin(run())
    try:
        event = await events.get()
        if event is None:
            if failed is not None:
                raise failed
            return code, whole
        response = await begin_events(request, call, headers, endless=False)
        while event is not None:
            await response.send(event)
            event = await events.get()
        status = None
        if failed is not None:
            error = as_service_error(failed)
            code, status = error.internal_code, status_of(error)
        elif whole is not None:
            status = orjson.loads(whole.body)["status"]
        if status is not None:
            may_go_on = status["internal_code"] in _MAY_GO_ON
            last = "" if may_go_on else END
            await response.send(named_event("error", orjson.dumps(status), event_id(last)))
        await response.eof()
        return code, None
    finally:  # after a disconnect the command goes on alone
        work.leave(task)
