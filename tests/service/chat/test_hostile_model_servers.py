"""Model servers that send anything: chats end, the loop is free, the key stays secret (docs/engines.md, "Bounds")."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest

from tests.support.gateway import Client
from tests.support.longest_step import Stepped, stepped
from tests.support.provider import DONE, chunk, event
from tests.support.receiver import raw_server

KEY = "sk-a-key-that-stays-secret"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"

Write = Callable[[bytes], Awaitable[None]]


def once(said: bytes) -> Callable[[Write], Awaitable[None]]:
    """Return an answer that ends."""

    async def answer(write: Write) -> None:
        await write(said)

    return answer


def endless(begin: bytes, piece: bytes) -> Callable[[Write], Awaitable[None]]:
    """Return an answer that repeats a piece for ever."""

    async def answer(write: Write) -> None:
        await write(begin)
        while True:
            await write(piece)

    return answer


async def redirect(write: Write) -> None:
    await write(b"HTTP/1.1 307 X\r\nLocation: /v1/fine/chat/completions\r\nContent-Length: 0\r\n\r\n")


async def echo(write: Write) -> None:
    await write(b"HTTP/1.1 200 OK\r\nX-Echo: Bearer " + KEY.encode() + b"\0\r\n\r\n")


FINE = chunk(content="Here it is.") + chunk("stop")
MANY = b'{"choices":[' + b",".join([b"{}"] * 300_000) + b"]}"
DEEP = b'{"choices":' + b"[" * 1_500 + b"]" * 1_500 + b"}"
BOMB = gzip.compress(bytes(67_108_864))

REFUSALS: dict[str, tuple[Any, str]] = {
    "an endless line": (endless(HEAD + b"data: ", b"x" * 65_536), "a message of more than 1,048,576 bytes"),
    "an endless event": (
        endless(HEAD, (b"data: " + b"x" * 90 + b"\n") * 800),
        "a message of more than 1,048,576 bytes",
    ),
    "hundreds of thousands of values": (once(HEAD + b"data: " + MANY + b"\n\n"), "a message of more than 2,000 values"),
    "a deep value": (once(HEAD + b"data: " + DEEP + b"\n\n"), "unreadable answer"),
    "a compressed answer": (once(HEAD[:-2] + b"Content-Encoding: gzip\r\n\r\n" + BOMB), "compressed its answer"),
    "a compressed error": (once(REFUSED + b"Content-Encoding: gzip\r\n\r\n" + BOMB), "refused the request (400)"),
    "an endless error": (endless(REFUSED + b"\r\n", b"x" * 65_536), "refused the request (400)"),
    "an endless error in chunks": (
        endless(REFUSED + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 32_768 + b"\r\n"),
        "refused the request (400)",
    ),
    "endless interim answers": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_600), "can't be reached"),
    "a redirect": (redirect, "answered a redirect (307), which is not followed"),
    "an echo of the key": (echo, "can't be reached"),
}
ANSWERS = {
    "thousands of empty events": once(HEAD + event({"choices": []}) * 6_000 + FINE + DONE),
    "a long thought": once(HEAD + chunk(reasoning_content="hm") * 4_000 + FINE + DONE),
    "more after the end": endless(HEAD + FINE, chunk(content="more")),
    "an interim answer": once(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + HEAD + FINE + DONE),
}


class Model:
    """A server that answers as the last message of the conversation says, and the paths that it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.split(" ")[1])
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        body = orjson.loads(await reader.readexactly(length))

        async def write(said: bytes) -> None:
            writer.write(said)
            await writer.drain()

        said = body["messages"][-1]["content"]
        await (REFUSALS[said][0] if said in REFUSALS else ANSWERS[said])(write)


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[Model]:
    model = Model()
    async with raw_server(model.serve) as model.port:
        yield model


@pytest.fixture(scope="module")
async def loop(model: Model, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stepped]:
    settings = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
        "PARLEY_OPENAI_API_KEY": KEY,
        "PARLEY_OPENAI_MODEL": "llama",
        "PARLEY_LOG_LEVEL": "info",
    }
    async with stepped(tmp_path_factory.mktemp("model"), **settings) as loop:
        async with loop.gateway.client() as client:
            warm = await client.register("warm-user")
            await warm.agent("warm-agent")
            (await warm.command("AP_Chat", content="an interim answer")).ok()
        yield loop


@pytest.fixture
async def user(loop: Stepped, unique: str) -> AsyncIterator[Client]:
    async with loop.gateway.client() as client:
        user = await client.register(f"{unique}-user")
        await user.agent(f"{unique}-agent")
        yield user


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_model_server_that_sends_anything_is_refused_and_holds_up_nobody(
    loop: Stepped, user: Client, model: Model, kind: str
):
    async def told() -> None:
        answer = (await user.command("AP_Chat", content=kind)).refused(5001, 502)
        assert REFUSALS[kind][1] in answer.note

    await loop.is_never_held_up(told)
    assert set(model.asked) == {"/v1/chat/completions"}
    assert KEY not in loop.gateway.logged()


@pytest.mark.parametrize("kind", ANSWERS)
async def test_an_answer_with_much_beside_it_is_read_and_holds_up_nobody(loop: Stepped, user: Client, kind: str):
    async def told() -> None:
        assert (await user.command("AP_Chat", content=kind)).ok().content[1]["content"] == "Here it is."

    await loop.is_never_held_up(told)
