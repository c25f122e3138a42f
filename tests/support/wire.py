"""Raw bytes and server-sent events, which the client of tests/support/gateway.py can't send or read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from tests.support.gateway import BUS, Answer, Client


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event with its name, its decoded data and its id, which does not count in comparisons."""

    name: str
    data: Any
    id: str = field(default="", compare=False)


@asynccontextmanager
async def streamed(client: Client, service: str, **body: Any) -> AsyncIterator[aiohttp.ClientResponse]:
    """Send a command that may answer as server-sent events; closed early, the connection is cut."""
    headers = client.headers({"Accept": "text/event-stream"})
    async with client.http.post(client.base + BUS, json={"service": service, **body}, headers=headers) as response:
        yield response


async def events_of(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """Yield server-sent events as they arrive; each has an `event` line and one `data` line, and perhaps an id."""
    name = id = ""
    async for line in response.content:
        member, _, value = line.decode().rstrip("\n").partition(": ")
        if member == "event":
            name = value
        elif member == "id":
            id = value
        elif member == "data":
            yield Event(name, orjson.loads(value), id)
            id = ""


@asynccontextmanager
async def connected(base: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a plain connection to a gateway."""
    address = urlsplit(base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """Read to the connection's end, also by a reset, which is the answer to bytes for a closed peer."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := await reader.read(65_536):
            received += piece
    return received


async def send_raw(base: str, request: bytes) -> Answer:
    """Send bytes as they are and read one answer with a Content-Length."""
    async with connected(base) as (reader, writer):
        writer.write(request)
        return await read_answer(reader)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Read one answer with a Content-Length."""
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode("latin-1")
    status_line, *lines = head.strip().split("\r\n")
    headers = {name.title(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers["Content-Length"]))
    return Answer(int(status_line.split(" ")[1]), headers, orjson.loads(body))


def raw_post(path: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return a POST request; `length` replaces its true Content-Length."""
    size = len(body) if length is None else length
    lines = [f"POST {path} HTTP/1.1", "Host: gateway", f"Content-Length: {size}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
