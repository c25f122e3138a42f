"""AP_Chat as server-sent events: `delta` pieces while the engine writes, then the whole `response`."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import orjson
from sanic import Request

from actors.calls.call import Call
from actors.errors import InvalidCredential, Overloaded
from actors.wire import json_event
from routes.http.answers import REPLAYED, RUN_ID, HttpAnswer, status_of
from routes.http.background import BackgroundTasks
from routes.http.errors import as_service_error
from routes.http.server_sent_events import STILL_HERE, Silence, begin_events

AnsweringChat = Callable[[], Coroutine[Any, Any, tuple[int, HttpAnswer]]]
"""Carries out the command; returns its internal code and its whole answer."""

END = ".end"
"""The end of the id of a stream's last event."""

_MAY_GO_ON = {Overloaded.internal_code, InvalidCredential.internal_code}
"""Errors behind which the run may go on: the way to its node was lost, or the stream's credential has ended."""


async def stream_chat(
    request: Request,
    call: Call,
    answering: AnsweringChat,
    work: BackgroundTasks,
    headers: dict[str, str],
) -> tuple[int, HttpAnswer | None]:
    """Answer as server-sent events: `delta` pieces, then the whole `response`, or an `error` after the first byte.

    The command runs in a task of its own, so that a client that disconnects doesn't cancel it. Returns the
    internal code at the end of the stream; a refusal kept for a key is answered whole. `headers` are sent in addition;
    `answering` may add to them before the first byte.

    Raises:
        Exception: the command failed before the first byte.
    """
    events = _ChatEvents(headers)
    call.stream_to(events.progress, events.begun)
    task = work.begin(events.carry(answering))
    try:
        return await events.send(request, call)
    finally:  # after a disconnect the command goes on alone
        work.leave(task)


class _ChatEvents:
    """The events of one chat, from the task that carries it out to the connection.

    The events of a run have the ids by which `GET /api/runs/{id}/events` goes on (routes/gateway/runs.py). A run that
    is silent for long gets a comment, which may be the first byte; a piece without text stands for one.
    """

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._silence = Silence(partial(self._queue.put_nowait, STILL_HERE))
        self._sent = 0
        self._code = 0
        self._refusal: HttpAnswer | None = None
        self._failed: Exception | None = None

    def progress(self, piece: str) -> None:
        """Take a piece of the reply."""
        if not piece:
            self._queue.put_nowait(STILL_HERE)
            return
        self._sent += len(piece)
        self._silence.heard()
        self._put("delta", orjson.dumps({"text": piece}))

    def begun(self, what: Any) -> None:
        """Take the id of the run, before its first piece."""
        self._headers[RUN_ID] = what.run
        self._silence.begin()
        if what.waits:  # the head and a comment, because its turn may come much later
            self.progress("")

    async def carry(self, answering: AnsweringChat) -> None:
        """Carry out the command, and note how it ends."""
        try:
            self._code, answer = await answering()
            if REPLAYED in answer.headers:
                self._replay(answer)
            if self._code == 0:
                self._put("response", answer.body, END)
            else:
                self._refusal = answer
        except Exception as raised:
            self._failed = raised
        finally:
            self._silence.end()
            self._queue.put_nowait(None)

    async def send(self, request: Request, call: Call) -> tuple[int, HttpAnswer | None]:
        """Send the events as they come; return as `stream_chat` does.

        Raises:
            Exception: the command failed before the first byte.
        """
        event = await self._queue.get()
        if event is None:
            if self._failed is not None:
                raise self._failed
            return self._code, self._refusal
        response = await begin_events(request, call, self._headers, endless=False)
        while event is not None:
            await response.send(event)
            event = await self._queue.get()
        code, status = self._error()
        if status is not None:
            last = "" if status["internal_code"] in _MAY_GO_ON else END
            await response.send(json_event(orjson.dumps(status), "error", self._event_id(last)))
        await response.eof()
        return code, None

    def _replay(self, answer: HttpAnswer) -> None:
        self._headers[REPLAYED] = "true"
        if RUN_ID in answer.headers:
            self._headers[RUN_ID] = answer.headers[RUN_ID]
        for said in orjson.loads(answer.body)["content"][1:]:  # the reply, as one piece
            self.progress(said["content"])

    def _error(self) -> tuple[int, dict[str, Any] | None]:
        """Return the internal code, and the status object if the command failed."""
        if self._failed is not None:
            error = as_service_error(self._failed)
            return error.internal_code, status_of(error)
        return self._code, None if self._refusal is None else orjson.loads(self._refusal.body)["status"]

    def _put(self, name: str, data: bytes, last: str = "") -> None:
        self._queue.put_nowait(json_event(data, name, self._event_id(last)))

    def _event_id(self, last: str) -> str:
        return f"{self._sent}{last}" if RUN_ID in self._headers else ""
