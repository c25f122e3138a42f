"""Streamable-HTTP tool servers on real sockets: the SDK's own, and one that misbehaves according to its path."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

NOTHING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}


def sdk_server() -> MCPServer:
    """Return a server of the official SDK."""
    server = MCPServer("over-http")

    @server.tool()
    def echo(text: str) -> str:
        """Repeat a text."""
        return text

    @server.tool()
    def header(name: str, context: Context) -> str:  # pyright: ignore[reportUnknownParameterType, reportMissingTypeArgument]
        """Return the value of a request header."""
        request: Any = context.request_context.request
        return request.headers.get(name, "absent")

    return server


@asynccontextmanager
async def serving(app: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve an ASGI application on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_level="critical", lifespan="on", ws="none")
        if tls is not None:
            config.load()
            config.ssl = tls
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # pyright: ignore[reportAttributeAccessIssue]
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            assert not task.done(), task
            await asyncio.sleep(0.01)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await task


class Unruly:
    """An HTTP server with just enough MCP to misbehave; the path selects the fault."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.methods: list[str] = []
        self.released = asyncio.Event()
        self.port = 0
        self.shape: dict[str, Any] = {}
        self.cut: list[asyncio.StreamWriter] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.cut.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.split("\r\n")
                        if line.lower().startswith("content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                await self.answer(head.split(" ")[1].strip("/"), json.loads(body) if body else {}, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, way: str, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        number, method = message.get("id"), message.get("method")
        in_call = method == "tools/call"
        arguments = message.get("params", {}).get("arguments") or {}
        self.methods.append(method or "")
        match way:
            case "redirect":
                await respond(writer, 307, b"", f"Location: http://127.0.0.1:{self.port}/fine\r\n")
                return
            case "tells" if in_call:
                error = {"code": arguments["code"], "message": f"You sent\n{self.heads[-1]}"}
                await respond(writer, 200, json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
                return
            case "tells_at_once" | "tells_in_redirect" | "tells_in_head":
                credential = self.heads[-1].split("uthorization: ")[1].split("\r\n")[0]
                token = credential.split(" ")[1]
                error = {"code": -32000, "message": f"What is {token}?"}
                if way == "tells_in_redirect":
                    await respond(writer, 307, b"", f"Location: http://127.0.0.1/{token}\r\n")
                elif way == "tells_in_head":
                    await respond(writer, 200, b"", f"X-Echo: {credential}\0\r\n")
                else:
                    await respond(writer, 200, json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
                return
            case "hang":
                await asyncio.sleep(1e6)
            case "closes":
                writer.close()
                return
            case "unauthorized":
                await respond(writer, 401, b"{}")
                return
            case "html":
                await respond(writer, 200, b"<p>Hello</p>", media_type="text/html")
                return
            case "shaped" if in_call:
                await respond(writer, 200, shaped(number, **arguments))
                return
            case "shaped_stream" if in_call:
                await begin_stream(writer)
                writer.write(b"data: " + shaped(number, **arguments) + b"\n\n")
                await writer.drain()
                writer.close()
                return
            case "shaped_list" if method == "tools/list":
                await respond(writer, 200, shaped(number, **self.shape))
                return
            case "interim" if in_call:
                while True:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 2_600)
                    await writer.drain()
            case "endless_head" if in_call:
                writer.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    writer.write(b"X: y\r\n" * 10_000)
                    await writer.drain()
            case "hints":
                writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" * 3)
            case "packed" if in_call:
                await respond(writer, 200, b"\x1f\x8b" + b"x" * 100, "Content-Encoding: gzip\r\n")
                return
            case "no_json" if in_call:
                await respond(writer, 200, b"this is no JSON")
                return
            case "large" if in_call:
                value = {"content": [{"type": "text", "text": "x" * 3_000_000}]}
                await respond(writer, 200, json.dumps({"jsonrpc": "2.0", "id": number, "result": value}).encode())
                return
            case "hang_in_call" if in_call:
                await asyncio.sleep(1e6)
            case "flood" if in_call:
                await begin_stream(writer)
                event = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
                while True:
                    writer.write(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n".encode() * 100)
                    await writer.drain()
            case "endless_line" if in_call:
                await begin_stream(writer)
                while True:
                    writer.write(b"data: " + b"x" * 65_536)
                    await writer.drain()
            case "stops_in_stream" if in_call:
                await begin_stream(writer)
                writer.write(b"id: 1\r\nretry: 0\r\ndata: \r\n\r\n")
                await writer.drain()
                writer.close()
                return
            case "refuse" if in_call and "status" in arguments:
                answer = {"jsonrpc": "2.0", "id": number, "error": arguments["error"]}
                await respond(writer, arguments["status"], json.dumps(answer).encode())
                return
            case "refuse" if in_call and "wait" in arguments:
                await self.released.wait()
            case "server_error" if in_call:
                await respond(writer, 500, b"oh no", media_type="text/plain")
                return
        match method:
            case "initialize":
                result: Any = NOTHING
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": "fine"}]}
            case _ if number is None:
                await respond(writer, 202, b"")
                return
            case _:
                error = {"code": -32601, "message": "Method not found"}
                await respond(writer, 200, json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
                return
        await respond(writer, 200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())


def shaped(number: Any, head: str, item: str, count: int, tail: str) -> bytes:
    """Return a message whose result has an item this number of times, with commas between."""
    items = ",".join([item] * count)
    return f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{head}{items}{tail}}}'.encode()


async def respond(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: str = "", media_type: str = "application/json"
) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def begin_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    await writer.drain()


@asynccontextmanager
async def unruly_over_http() -> AsyncIterator[Unruly]:
    """Serve the unruly server on a free port of this machine."""
    unruly = Unruly()
    server = await asyncio.start_server(unruly.handle, "127.0.0.1", 0)
    unruly.port = server.sockets[0].getsockname()[1]
    try:
        yield unruly
    finally:
        server.close()
        for writer in unruly.cut:
            writer.close()
