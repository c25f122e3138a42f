"""A server that is no gateway, or one that misbehaves: it answers each request with bytes of the test's choice."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.receiver import raw_server

HEADER = {
    "service": "AP_Read",
    "request_id": "r-1",
    "time": "2026-11-20T10:00:00.000Z",
    "context": {"user": None, "agent": None, "domain": None, "zone": None},
    "next": None,
}
"""The `header` of an answer of the command bus."""


@dataclass
class OtherServer:
    """Its address, and the requests that it has had: their heads, and their bodies."""

    url: str = ""
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the client has closed a connection that is held."""

    def sent(self, header: str) -> list[str | None]:
        """Return what each request has sent in a header."""
        found = (re.search(rf"^{header}: *(.*?)\r$", head, re.IGNORECASE | re.MULTILINE) for head in self.heads)
        return [match and match[1] for match in found]


def answer(status: int, body: Any, kind: str = "application/json", **headers: str) -> bytes:
    """Return an answer with a body, written as JSON unless it is a text; `Retry_After` stands for Retry-After."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    length = f"Content-Length: {len(content)}\r\n"
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\nConnection: close\r\n{length}{more}\r\n"
    return head.encode() + content


def page(status: int = 200) -> bytes:
    """Return a web page, as a captive portal or a proxy has it."""
    return answer(status, "<html>Welcome</html>", "text/html")


def tps(*profile: Any, content: tuple[Any, ...] = ()) -> bytes:
    """Return an answer of the command bus with success."""
    status = {"success": True, "internal_code": 0, "http_code": 200}
    return answer(200, {"header": HEADER, "status": status, "profile": profile, "content": content})


def refusal(code: int, http: int, **headers: str) -> bytes:
    """Return an answer with an error, by its internal and its HTTP code."""
    status = {"success": False, "internal_code": code, "http_code": http, "note": "No."}
    return answer(http, {"header": HEADER, "status": status, "profile": [], "content": []}, **headers)


def events(text: str, **headers: str) -> bytes:
    """Return a stream of events, which ends without a last one."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n{more}\r\n{text}".encode()


@asynccontextmanager
async def answering(
    *answers: bytes, holds: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[OtherServer]:
    """Run a server that gives these answers, one a connection, the last one to all that follow.

    With `holds` it leaves the connection open behind the last answer, until the client closes it.
    """
    other, left = OtherServer(), list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        other.heads.append(head)
        length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
        other.bodies.append(await reader.readexactly(int(length[1])) if length else b"")
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()
        if holds and len(left) == 1:
            await reader.read()
            other.hung_up.set()

    async with raw_server(serve, tls) as port:
        other.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
        yield other
