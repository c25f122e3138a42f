"""One connection to a tool server, over the official SDK's client; it runs in a task of its own."""

import asyncio
import importlib
import logging
import re
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from actors.tools.limits import MAX_MESSAGE_BYTES, MAX_TOOLS, MAX_TOOLS_BYTES, ToolLimits
from actors.tools.results import bounded
from actors.tools.tool import Tool, ToolResult, text_result

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.client import Client
    from mcp.shared.exceptions import MCPError

INVALID_PARAMS = -32602
CONNECTION_CLOSED = -32000
"""The SDK's error code for a request whose answer can't come any more; servers use it for errors of their own."""
_PARSE_ERROR = -32700
_UNREAD = ("Failed to parse JSON response: ", "Failed to parse SSE message: ")
_CUT_OFF = "SSE stream "
"""With these codes, how the SDK's errors for a URL's answer begin; a server's own errors have other texts."""
CLOSE_S = 6.0
"""Seconds that an orderly close may take, before it is cut short."""
_REASON_S = 0.5
"""Seconds that a call on a closed connection waits for the reason."""
MAX_PAGES = 16
"""The largest number of pages of a tool list."""

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""Names of tools (MCP, "Tool Names"); tools with other names are left out."""

log = logging.getLogger("parley.tools")


class Transport(Protocol):
    """The transport of a connection: a process or HTTP."""

    lost: asyncio.Event
    """Set when the transport has ended; `reason` says why."""
    reason: str

    def remark(self) -> str:
        """Return a remark in brackets on oddities since the last call began; "" if there were none."""
        ...

    def call_begins(self) -> None:
        """Allow for the messages of a new call."""
        ...

    def forgotten(self, code: int) -> bool:
        """Return whether a call's answer, an error with this code, says that the server does not know the session."""
        ...

    def masked(self, text: str) -> str:
        """Return a server's text without the secrets that the server was sent."""
        ...

    def open(self) -> AbstractAsyncContextManager["TransportStreams"]:
        """Open the transport."""
        ...


class ToolServerFailed(Exception):
    """A tool server failed; `str` is the reason, `lost` says whether the connection is unusable."""

    def __init__(self, what: str, *, lost: bool) -> None:
        super().__init__(what)
        self.lost = lost


class Connection:
    """A connection to a tool server.

    Args:
        transport: the transport to use.
        limits: its time-outs.
        ready: called with the server's tools, once they are known.
        gone: called once at its end, with the reason; None if it was closed.
    """

    def __init__(
        self,
        transport: Transport,
        limits: ToolLimits,
        ready: Callable[[list[Tool]], None],
        gone: Callable[[str | None], None],
    ) -> None:
        self._transport = transport
        self._limits = limits
        self._ready = ready
        self._gone = gone
        self.began = monotonic()
        """The time at which it began to connect."""
        self._client: Client | None = None
        self.closing = False
        """Whether it is closing, and takes no more calls."""
        self._over = False  # whether the SDK's session has ended or is ending
        self._calls = 0
        self._taken = False
        self._heard_at = 0.0
        self.reason: str | None = None
        """The reason of its end; None before, and if it was closed."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        # No `asyncio.timeout` around the handshake: the SDK's task groups must be left in the order they were entered.
        timer = asyncio.get_running_loop().call_later(self._limits.connect_timeout_s, self._task.cancel)
        try:
            await load_sdk()
            async with self._new_client() as client:
                tools = await self._list(client)
                timer.cancel()
                self._client, self._heard_at = client, monotonic()
                self._ready(tools)
                try:
                    await self._transport.lost.wait()
                finally:
                    self._over = True
            self.reason = self._transport.reason
        except asyncio.CancelledError:
            self.reason = f"it was not ready within {self._limits.connect_timeout_s:g} s{self._transport.remark()}"
        except (Exception, BaseExceptionGroup) as error:
            self.reason = self._transport.reason if self._transport.lost.is_set() else self._said(error)
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
            bounded(self._transport.open()),
            read_timeout_seconds=self._limits.connect_timeout_s / 2,
            client_info=Implementation(name="parley", version="1"),
            cache=None,
        )

    async def _list(self, client: "Client") -> list[Tool]:
        """Ask for the tools, page by page.

        Raises:
            ToolServerFailed: there are more tools, or larger ones, than the gateway takes, or the list is invalid.
        """
        tools: dict[str, Tool] = {}
        left_out: list[str] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                fits = _NAME.fullmatch(tool.name) and _size(tool.input_schema) is not None
                if tool.name in tools or not fits:
                    left_out.append(ascii(self._transport.masked(tool.name))[:40])
                if fits:
                    tools[tool.name] = Tool(tool.name, tool.description or "", tool.input_schema)
            cursor = page.next_cursor
            if not cursor or len(tools) > MAX_TOOLS:
                break
        size = len(orjson.dumps(list(tools.values())))
        if cursor or len(tools) > MAX_TOOLS or size > MAX_TOOLS_BYTES:
            raise ToolServerFailed(
                f"it has more than {MAX_TOOLS} tools, {MAX_PAGES} pages or {MAX_TOOLS_BYTES:,} bytes", lost=True
            )
        if left_out:
            some = ", ".join(left_out[:5])
            log.info(
                "a tool server listed %d tools with unfit names or schemas, or twice, left out: %s", len(left_out), some
            )
        return list(tools.values())

    def call(self, tool: str, arguments: dict[str, Any]) -> Coroutine[Any, Any, ToolResult]:
        """Call a tool; from now on, not only once this is awaited, the connection is in use.

        Raises:
            ToolServerFailed: there is no answer, or no usable one.
        """
        self._calls += 1
        return self._called(tool, arguments)

    async def _called(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        try:
            return await self._answer(tool, arguments)
        finally:
            self._calls -= 1

    async def _answer(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415
        from mcp_types import CallToolRequest, CallToolRequestParams  # noqa: PLC0415

        client, timeout = self._client, self._limits.call_timeout_s
        if client is None:
            raise ToolServerFailed(self._transport.reason, lost=True)
        began = monotonic()
        self._transport.call_begins()
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
            if error.code == CONNECTION_CLOSED and (self._over or self._transport.lost.is_set()):
                await asyncio.wait((self._task,), timeout=_REASON_S)
                raise ToolServerFailed(self.reason or self._transport.reason, lost=True) from None
            if _is_time_out(error):
                raise self._timed_out(began) from None
            self._heard_at = monotonic()
            if error.code == INVALID_PARAMS:  # the server works, only the call failed
                return text_result(self._one_line(error.message), is_error=True)
            raise ToolServerFailed(self._said(error), lost=self._transport.forgotten(error.code)) from None
        except ToolServerFailed:
            raise
        except Exception as error:
            raise ToolServerFailed(self._said(error), lost=True) from None

    def _timed_out(self, began: float) -> ToolServerFailed:
        """Return the error for a call without an answer; a server without any answer meanwhile counts as hung."""
        what = f"it did not answer within {self._limits.call_timeout_s:g} s{self._transport.remark()}"
        return ToolServerFailed(what, lost=self._heard_at < began)

    def _said(self, error: Any) -> str:
        """Describe a tool server's fault in a few words, without text that it may quote."""
        import httpx2  # noqa: PLC0415
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415

        error = _first(error)
        match error:
            case ToolServerFailed():
                return str(error)
            case MCPError():
                if _is_time_out(error):
                    return f"it did not answer{self._transport.remark()}"
                if error.code == _PARSE_ERROR and error.message.startswith(_UNREAD):  # the SDK quotes it all
                    return "its answer is not JSON"
                cut_off = error.code == CONNECTION_CLOSED and error.message.startswith(_CUT_OFF)
                did = "did not answer" if cut_off else "answered"
                return f"it {did}: {self._one_line(error.message)}{self._transport.remark()}"
            case httpx2.TransportError():
                return f"it can't be reached: {self._one_line(str(error)) or type(error).__name__}"
            case OSError():
                return f"it can't be started or reached: {error.strerror or type(error).__name__}"
            case ValueError():  # pydantic's
                return "its answer is not MCP"
            case _:
                log.info("a tool server failed: %s", type(error).__name__)
                return f"it can't be used ({type(error).__name__})"

    def _one_line(self, text: str) -> str:
        return " ".join(self._transport.masked(text).split())[:300]

    @property
    def idle_since(self) -> float | None:
        """The time of its last answer, in seconds of `monotonic`; None while it is in use, or not taken yet."""
        return None if self._calls or self._client is None or not self._taken else self._heard_at

    def taken(self) -> None:
        """Note that calls which waited for the connection have begun, so that from now on it may be idle."""
        self._taken = True

    def give_way(self, why: str | None = None) -> None:
        """Begin to close it; calls under way fail with `why`."""
        self.closing = True
        if why is not None:
            self._transport.reason = why
        self._transport.lost.set()
        if self._client is None:
            self._task.cancel()

    async def close(self, why: str | None = None) -> None:
        """Close it and wait until its process is gone; calls under way fail with `why`."""
        self.give_way(why)
        _, pending = await asyncio.wait((self._task,), timeout=CLOSE_S)
        if pending:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=CLOSE_S)


async def load_sdk() -> None:
    """Import the SDK once, in a thread, because it takes 0.4 s."""
    global _loaded
    if not _loaded:  # `sys.modules` has a module from the beginning of its import
        for module in ("mcp.client.client", "mcp.client.streamable_http"):
            await asyncio.to_thread(importlib.import_module, module)
        _loaded = True


_loaded = False


def _first(error: BaseException) -> Any:
    """Return the first error of nested groups."""
    first: Any = error
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return first  # pyright: ignore[reportUnknownVariableType]


def _is_time_out(error: "MCPError") -> bool:
    """Return whether the SDK's clock ran out; its code alone may be a server's."""
    return isinstance(error.__context__, TimeoutError)


def _anything() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(dict[str, Any])


def _result(answer: dict[str, Any]) -> ToolResult:
    """Read the result of a call.

    Raises:
        ToolServerFailed: it is too large, can't be passed on, or asks for input that nobody can give.
    """
    if answer.get("resultType", "complete") != "complete":
        raise ToolServerFailed("it asks for more input, which a gateway can't give", lost=False)
    content: list[dict[str, Any]] = answer.get("content") or []
    size = _size(content)
    if size is None:
        raise ToolServerFailed("its result has an integer of more than 64 bits, or is nested too deeply", lost=False)
    if size > MAX_MESSAGE_BYTES:
        raise ToolServerFailed(f"its result is larger than {MAX_MESSAGE_BYTES:,} bytes", lost=False)
    return ToolResult(content, answer.get("isError") is True)


def _size(value: Any) -> int | None:
    """Return the bytes of a value as the gateway writes it; None if it can't."""
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return None
