"""One connection to a tool server, over the official SDK's client; it runs in a task of its own."""

import asyncio
import importlib
import logging
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from actors.tools.limits import MAX_MESSAGE_BYTES, MAX_TOOLS, MAX_TOOLS_BYTES, ToolLimits
from actors.tools.tool import Tool, ToolResult, text_result

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.client import Client

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
"""What the SDK raises where an answer did not come in time."""
CLOSE_S = 6.0
"""How long an orderly close may take, before it is cut short."""
_REASON_S = 0.5
"""How long a call whose connection closed waits to learn why."""
MAX_PAGES = 16
"""Pages of a tool list."""

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""Names of tools (MCP, "Tool Names"); one of another name is left out."""

log = logging.getLogger("parley.tools")


class Transport(Protocol):
    """What a connection goes over: a process or HTTP."""

    lost: asyncio.Event
    """Set when nothing more will come; `reason` says why."""
    reason: str

    def remark(self) -> str:
        """Say in brackets what was odd since the last call began; mostly nothing."""
        ...

    def call_begins(self) -> None:
        """Allow for what a call brings."""
        ...

    def open(self) -> AbstractAsyncContextManager["TransportStreams"]:
        """Open it."""
        ...


class ToolServerFailed(Exception):
    """A tool server did not do what it should; `str` says what, `lost` whether the connection is of no more use."""

    def __init__(self, what: str, *, lost: bool) -> None:
        super().__init__(what)
        self.lost = lost


class Connection:
    """A connection to a tool server.

    Args:
        line: what it goes over.
        limits: its time-outs.
        ready: called with what the server offers, once that is known.
        gone: called once at its end, with the reason; None where it was closed.
    """

    def __init__(
        self,
        line: Transport,
        limits: ToolLimits,
        ready: Callable[[list[Tool]], None],
        gone: Callable[[str | None], None],
    ) -> None:
        self._line = line
        self._limits = limits
        self._ready = ready
        self._gone = gone
        self._client: Client | None = None
        self.closing = False
        """Whether it is being closed, and takes no calls any more."""
        self._calls = 0
        self._heard_at = 0.0
        self.reason: str | None = None
        """Why it is gone, once it is; None where it was closed."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        # No `asyncio.timeout` around the handshake: the SDK's task groups must be left in the order they were entered.
        timer = asyncio.get_running_loop().call_later(self._limits.connect_timeout_s, self._task.cancel)
        try:
            await load_sdk()
            async with self._new_client() as client:
                offers = await self._list(client)
                timer.cancel()
                self._client, self._heard_at = client, monotonic()
                self._ready(offers)
                await self._line.lost.wait()
            self.reason = self._line.reason
        except asyncio.CancelledError:
            self.reason = f"it was not ready within {self._limits.connect_timeout_s:g} s{self._line.remark()}"
        except (Exception, BaseExceptionGroup) as error:
            self.reason = self._line.reason if self._line.lost.is_set() else self._said(error)
        finally:
            timer.cancel()
            self._client = None
            if self.closing:
                self.reason = None
            self._gone(self.reason)

    def _new_client(self) -> "Client":
        from mcp.client.client import Client  # noqa: PLC0415
        from mcp_types import Implementation  # noqa: PLC0415

        return Client(
            self._line.open(),
            read_timeout_seconds=self._limits.connect_timeout_s / 2,
            client_info=Implementation(name="parley", version="1"),
            cache=None,
        )

    async def _list(self, client: "Client") -> list[Tool]:
        """Ask for the tools, page by page.

        Raises:
            ToolServerFailed: there are more, or larger ones, than the gateway takes, or they are none.
        """
        offers: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                if _NAME.fullmatch(tool.name):
                    offers[tool.name] = Tool(tool.name, tool.description or "", tool.input_schema)
            cursor = page.next_cursor
            if not cursor or len(offers) > MAX_TOOLS:
                break
        size = len(orjson.dumps(list(offers.values())))
        if cursor or len(offers) > MAX_TOOLS or size > MAX_TOOLS_BYTES:
            raise ToolServerFailed(
                f"it offers more than {MAX_TOOLS} tools, {MAX_PAGES} pages or {MAX_TOOLS_BYTES:,} bytes", lost=True
            )
        return list(offers.values())

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolServerFailed: no answer, or none that can be used.
        """
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415
        from mcp_types import CallToolRequest, CallToolRequestParams  # noqa: PLC0415

        client, timeout = self._client, self._limits.call_timeout_s
        if client is None:
            raise ToolServerFailed(self._line.reason, lost=True)
        began = monotonic()
        self._line.call_begins()
        self._calls += 1
        try:
            # The SDK's own time-out begins once the request is written, which a server that reads nothing prevents.
            async with asyncio.timeout(timeout + 1):
                answer = await client.session.send_request(
                    CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments)),
                    # Not `call_tool`: that checks answers by the server's own schema, whose patterns may take for ever.
                    _anything(),
                    request_read_timeout_seconds=timeout,
                )
            self._heard_at = monotonic()
            return _result(answer)
        except TimeoutError:
            raise self._timed_out(began) from None
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                await asyncio.wait((self._task,), timeout=_REASON_S)
                raise ToolServerFailed(self.reason or self._line.reason, lost=True) from None
            if error.code == REQUEST_TIMEOUT:
                raise self._timed_out(began) from None
            if error.code == INVALID_PARAMS:  # the server is well, the call was not
                return text_result(_one_line(error.message), is_error=True)
            raise ToolServerFailed(self._said(error), lost=error.code == INVALID_REQUEST) from None
        except ToolServerFailed:
            raise
        except Exception as error:
            raise ToolServerFailed(self._said(error), lost=True) from None
        finally:
            self._calls -= 1

    def _timed_out(self, began: float) -> ToolServerFailed:
        """Say that a call got no answer; a server that answered nothing else meanwhile is given up as hung."""
        what = f"it did not answer within {self._limits.call_timeout_s:g} s{self._line.remark()}"
        return ToolServerFailed(what, lost=self._heard_at < began)

    def _said(self, error: Any) -> str:
        """Name a fault of a tool server's in a few words, without what it may have quoted."""
        import httpx2  # noqa: PLC0415
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415

        error = _first(error)
        match error:
            case ToolServerFailed():
                return str(error)
            case MCPError():
                if error.code == REQUEST_TIMEOUT:
                    return f"it did not answer{self._line.remark()}"
                if error.code == PARSE_ERROR:  # the SDK quotes it all
                    return "it answered what is no JSON"
                return f"it answered: {_one_line(error.message)}{self._line.remark()}"
            case httpx2.TransportError():
                return f"it can't be reached: {_one_line(str(error)) or type(error).__name__}"
            case OSError():
                return f"it can't be started or reached: {error.strerror or type(error).__name__}"
            case ValueError():  # pydantic's
                return "it answered what is no MCP"
            case _:
                log.info("a tool server failed: %s", type(error).__name__)
                return f"it can't be used ({type(error).__name__})"

    @property
    def idle_since(self) -> float | None:
        """When it answered last, in seconds of `monotonic`; None while it is connecting or a call is under way."""
        return None if self._calls or self._client is None else self._heard_at

    def give_way(self, why: str | None = None) -> None:
        """Begin to close it; `why` is told to calls that are under way."""
        self.closing = True
        if why is not None:
            self._line.reason = why
        self._line.lost.set()
        if self._client is None:
            self._task.cancel()

    async def close(self, why: str | None = None) -> None:
        """Close it and wait until its process is gone; `why` is told to calls that are under way."""
        self.give_way(why)
        _, pending = await asyncio.wait((self._task,), timeout=CLOSE_S)
        if pending:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=CLOSE_S)


async def load_sdk() -> None:
    """Import the SDK, on a thread, once: it takes 0.4 s."""
    global _loaded
    if not _loaded:  # `sys.modules` has a module from the beginning of its import
        for module in ("mcp.client.client", "mcp.client.streamable_http"):
            await asyncio.to_thread(importlib.import_module, module)
        _loaded = True


_loaded = False


def _first(error: BaseException) -> Any:
    """Take the first error out of groups of them."""
    first: Any = error
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return first  # pyright: ignore[reportUnknownVariableType]


def _anything() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(dict[str, Any])


def _result(answer: dict[str, Any]) -> ToolResult:
    """Read the result of a call.

    Raises:
        ToolServerFailed: it is too large, or asks for more where nobody can answer.
    """
    if answer.get("resultType", "complete") != "complete":
        raise ToolServerFailed("it asks for more input, which a gateway can't give", lost=False)
    content: list[dict[str, Any]] = answer.get("content") or []
    if len(orjson.dumps(content)) > MAX_MESSAGE_BYTES:
        raise ToolServerFailed(f"its result is larger than {MAX_MESSAGE_BYTES:,} bytes", lost=False)
    return ToolResult(content, bool(answer.get("isError", False)))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
