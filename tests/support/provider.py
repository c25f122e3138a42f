"""An OpenAI-compatible server on a real socket, with answers set by a test."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

Answer = Callable[["Request"], Awaitable[web.StreamResponse]]


@dataclass
class Request:
    """A received request with the means to answer it."""

    body: dict[str, Any]
    headers: dict[str, str]
    http: web.Request

    async def begin(self) -> web.StreamResponse:
        """Begin a stream of events."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(self.http)
        return response

    @property
    def system(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role and content of all messages except the instructions."""
        return [(message["role"], message["content"]) for message in self.body["messages"][1:]]


@dataclass
class Provider:
    """The server's answers by message, in turn, and its received requests."""

    base_url: str = ""
    requests: list[Request] = field(default_factory=list)
    _answers: dict[str, deque[Answer]] = field(default_factory=dict)

    def on(self, message: str, *answers: Answer) -> None:
        """Set the answers, one after another, to requests with this end of the user's last message."""
        self._answers[message] = deque(answers)

    def asked(self, message: str) -> list[Request]:
        """Return the requests with this end of the user's last message."""
        return [request for request in self.requests if _last(request.body).endswith(message)]

    async def handle(self, http: web.Request) -> web.StreamResponse:
        request = Request(orjson.loads(await http.read()), dict(http.headers), http)
        self.requests.append(request)
        for message, answers in self._answers.items():
            if _last(request.body).endswith(message) and answers:
                return await answers.popleft()(request)
        return web.json_response({"error": {"message": "no answer is left for this"}}, status=400)


def _last(body: dict[str, Any]) -> str:
    return next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")


@asynccontextmanager
async def providing() -> AsyncIterator[Provider]:
    """Run a server."""
    provider = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # pyright: ignore[reportAttributeAccessIssue]
    provider.base_url = f"http://127.0.0.1:{port}/v1"
    try:
        yield provider
    finally:
        await runner.cleanup()


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """Write a chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]})


def event(value: Any) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def sends(*parts: bytes) -> Answer:
    """Answer with these bytes of a stream, and its end."""

    async def answer(request: Request) -> web.StreamResponse:
        response = await request.begin()
        for part in parts:
            await response.write(part)
        await response.write_eof()
        return response

    return answer


def says(*texts: str, finish: str = "stop", usage: tuple[int, int] | None = None) -> Answer:
    """Answer with texts, as a model does, and with the usage (tokens of prompt and completion) if one is given."""
    parts = (chunk(role="assistant", content=""), *(chunk(content=text) for text in texts), chunk(finish))
    return sends(*parts, *(() if usage is None else (counts(*usage),)), DONE)


def counts(prompt: Any, completion: Any) -> bytes:
    """Write the chunk that reports the usage."""
    return event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


def calls(*functions: tuple[str, str], text: str = "") -> Answer:
    """Request calls of functions by name and arguments, in pieces as models send them."""
    parts = [chunk(role="assistant", content=text)]
    for number, (name, arguments) in enumerate(functions):
        function = {"name": name, "arguments": ""}
        parts.append(
            chunk(tool_calls=[{"index": number, "id": f"id{number}", "type": "function", "function": function}])
        )
        parts += [
            chunk(tool_calls=[{"index": number, "function": {"arguments": arguments[at : at + 7]}}])
            for at in range(0, len(arguments), 7)
        ]
    return sends(*parts, chunk("tool_calls"), DONE)


def refuses(status: int, **headers: str) -> Answer:
    """Refuse with a body that holds secrets."""

    async def answer(request: Request) -> web.StreamResponse:
        told = f"detail of the provider, key {request.headers['Authorization']}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"error": {"message": told}}, status=status, headers=named)

    return answer


def stalls(*parts: bytes) -> Answer:
    """Send these bytes and keep the connection open in silence."""

    async def answer(request: Request) -> web.StreamResponse:
        response = await request.begin()
        for part in parts:
            await response.write(part)
        await asyncio.Event().wait()
        return response

    return answer


def drops(*parts: bytes) -> Answer:
    """Send these bytes, then cut the connection."""

    async def answer(request: Request) -> web.StreamResponse:
        transport = request.http.transport
        assert transport is not None
        if not parts:
            transport.abort()
            return web.Response()
        response = await request.begin()
        for part in parts:
            await response.write(part)
        await asyncio.sleep(0.05)  # otherwise the bytes are lost with the connection
        with contextlib.suppress(ConnectionError):
            transport.abort()
        return response

    return answer


def waits(gate: asyncio.Event, *texts: str) -> Answer:
    """Answer once a gate is open."""

    async def answer(request: Request) -> web.StreamResponse:
        await gate.wait()
        return await says(*texts)(request)

    return answer
