"""The tool-server actor: one installed tool server (MCP), and the connection to it."""

import asyncio
import math
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

import orjson

from actors.errors import EngineFailed, Overloaded, ServiceError
from actors.names import no_such_user
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from actors.tools.catalog import ToolServers
from actors.tools.connection import Connection, ToolServerFailed
from actors.tools.limits import MAX_CALLS, MAX_SERVERS
from actors.tools.messages import (
    TOOL_SERVER,
    InstallToolServer,
    InvokeTool,
    ListTools,
    ReadToolServer,
    RemoveToolServer,
    ToolServerView,
    name_taken,
    no_such_server,
    no_such_tool,
    too_many_servers,
)
from actors.tools.tool import Tool, ToolResult
from persistence import tool_servers
from persistence.store import FOREIGN_KEY, ROWS, Store
from persistence.tool_servers import ToolServerRow

MAX_BACK_OFF_S = 60.0
"""The longest pause, in seconds, before a failing tool server is tried again."""


class _Connected(OwnTell, frozen=True):
    link: Connection
    tools: list[Tool]


class _Gone(OwnTell, frozen=True):
    link: Connection
    reason: str | None


class _CallEnded(OwnTell, frozen=True):
    link: Connection
    answered: AsyncFuture[ToolResult]
    result: ToolResult | None
    failure: ToolServerFailed | None


class ToolServerActor(DurableActor):
    """Owns one installed tool server; its key is the installation's id.

    Its connection is opened by the first message that needs it, and closed when this actor is passivated: after five
    minutes without a message. Slow work runs in tasks that report their results to it.
    """

    kind = TOOL_SERVER
    works_for_callers = True
    __slots__ = (
        "_answers",
        "_calls",
        "_error",
        "_failures",
        "_link",
        "_listing",
        "_ready",
        "_retry_at",
        "_row",
        "_servers",
        "_tasks",
        "_tools",
        "_waiting",
    )

    def __init__(self, key: str, store: Store, servers: ToolServers) -> None:
        super().__init__(key, store)
        self._servers = servers
        self._row: ToolServerRow | None = None
        self._tools: list[Tool] | None = None
        self._link: Connection | None = None
        self._ready = False
        self._error: str | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._calls = 0
        self._listing: AsyncFuture[list[Tool]] = AsyncFuture()  # the first list, for all who wait for it
        self._waiting: dict[AsyncFuture[ToolResult], InvokeTool] = {}  # the calls that wait for the connection
        self._answers: set[AsyncFuture[Any]] = set()  # not answered yet
        self._tasks: set[asyncio.Task[None]] = set()

    async def on_begin(self) -> None:
        """Load the installation; a new one does not exist yet."""
        found = await self.store.fetch(tool_servers.by_id(self.key))
        if found:
            self._hold_row(found[0])

    def _hold_row(self, row: ToolServerRow) -> None:
        self._row = row
        if row.tools is not None:
            self._tools = [Tool(**tool) for tool in orjson.loads(row.tools)]

    @property
    def _live(self) -> ToolServerRow:
        if self._row is None:
            raise no_such_server()
        return self._row

    # installing and removing

    @handles(InstallToolServer)
    def _install(self, message: InstallToolServer) -> AsyncFuture[ToolServerView]:
        row = message.row

        def applied() -> None:
            self._row = row

        return self.commit_or_refuse(
            tool_servers.insert(row, MAX_SERVERS),
            applied=applied,
            reply=lambda: ToolServerView(row, "idle", None, None),
            constraint_errors={
                tool_servers.NAME_TAKEN: name_taken,
                FOREIGN_KEY: no_such_user,
                ROWS: too_many_servers,
            },
        )

    @handles(RemoveToolServer)
    def _remove(self, _: RemoveToolServer) -> AsyncFuture[None]:
        row = self._live
        self._row = None
        return self.commit(tool_servers.delete(row.id), applied=self.retire)

    @handles(ReadToolServer)
    def _read(self, _: ReadToolServer) -> ToolServerView:
        return self._view()

    def _view(self) -> ToolServerView:
        if self._ready:
            state = "ready"
        elif self._link is not None:
            state = "connecting"
        else:
            state = "idle" if self._error is None else "failed"
        connecting_s = 0.0 if self._link is None or self._ready else monotonic() - self._link.began
        return ToolServerView(self._live, state, self._error, self._tools, connecting_s)

    # using

    @handles(ListTools)
    def _list_tools(self, _: ListTools) -> AsyncFuture[list[Tool]] | list[Tool]:
        row = self._live
        if self._tools is not None:
            return self._tools
        if self._failures:  # it is tried again, but nobody waits for it
            with suppress(ServiceError):
                self._connect(row)
            return []
        self._connect(row)
        self._answers.add(self._listing)
        return self._listing

    @handles(InvokeTool)
    def _invoke(self, message: InvokeTool) -> AsyncFuture[ToolResult]:
        row = self._live
        if self._calls + len(self._waiting) >= MAX_CALLS:
            raise Overloaded(f"{row.name} is busy with {MAX_CALLS} calls; try again when one finishes.")
        self._connect(row)
        answered: AsyncFuture[ToolResult] = AsyncFuture()
        self._answers.add(answered)
        if self._ready:
            self._begin_call(message, answered)
        else:
            self._waiting[answered] = message
        return answered

    def _begin_call(self, message: InvokeTool, answered: AsyncFuture[ToolResult]) -> None:
        link = self._link
        if link is None or not any(tool.name == message.tool for tool in self._tools or ()):
            self._answer(answered, error=no_such_tool())
            return
        self._calls += 1
        called = link.call(message.tool, message.arguments)
        task = asyncio.create_task(self._call(link, called, answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(
        self, link: Connection, called: Coroutine[Any, Any, ToolResult], answered: AsyncFuture[ToolResult]
    ) -> None:
        result = failure = None
        try:
            result = await called
        except ToolServerFailed as failed:
            failure = failed
        finally:
            if result is None and failure is None:
                failure = ToolServerFailed("the call was cut off", lost=True)
            self.tell_self(_CallEnded(link, answered, result, failure))

    @handles(_CallEnded)
    def _call_ended(self, message: _CallEnded) -> None:
        self._calls -= 1
        if message.failure is None:
            self._failures = 0
            self._answer(message.answered, message.result)
            return
        self._answer(message.answered, error=self._failed(str(message.failure)))
        if message.failure.lost and message.link is self._link:
            self._lose(str(message.failure))

    def _answer(self, answered: AsyncFuture[Any], value: Any = None, error: ServiceError | None = None) -> None:
        self._answers.discard(answered)
        if error is None:
            answered.set(value)
        else:
            answered.fail(error)

    # the connection

    def _connect(self, row: ToolServerRow) -> None:
        """Open the connection if there is none.

        Raises:
            EngineFailed: the server failed just now and is not tried again yet.
            StateConflict, Overloaded: no process may start now.
        """
        if self._link is not None and self._link.closing:  # it was idle, and gives way to another
            self._link, self._ready = None, False
        if self._link is not None:
            return
        wait = self._retry_at - monotonic()
        if wait > 0:
            raise self._failed(f"{self._error}; it is tried again in {math.ceil(wait)} s")
        transport = self._servers.transport_to(row)
        slots = self._servers.slots
        if transport.is_process:
            slots.make_room(row.user_id)

        def gone(reason: str | None) -> None:
            slots.give_back(link)
            self._servers.links.discard(link)
            self.tell_self(_Gone(link, reason))

        link = self._link = Connection(
            transport, self._servers.limits, lambda tools: self.tell_self(_Connected(link, tools)), gone
        )
        self._servers.links.add(link)
        if transport.is_process:
            slots.hold(link, row.user_id)

    @handles(_Connected)
    def _connected(self, message: _Connected) -> None:
        row = self._row
        if message.link is not self._link or row is None:
            return
        self._ready, self._error, self._tools = True, None, message.tools
        tools = orjson.dumps(self._tools).decode()
        if tools != row.tools:
            self._row = replace(row, tools=tools)
            # Only a list to show: nobody waits for it, and because a constraint may refuse it, no answer is deferred.
            self.commit_or_refuse(tool_servers.keep_tools(row.id, tools), constraint_errors={ROWS: no_such_server})
        self._answer(self._listing, message.tools)
        waiting, self._waiting = self._waiting, {}
        for answered, invoked in waiting.items():
            self._begin_call(invoked, answered)
        message.link.taken()

    @handles(_Gone)
    def _on_gone(self, message: _Gone) -> None:
        if message.link is not self._link:
            return
        if message.reason is None:  # it was idle, and gave way to another
            self._link, self._ready = None, False
        else:
            self._lose(message.reason)

    def _lose(self, reason: str) -> None:
        """Drop a broken connection; the next message reopens it, after a pause if the server keeps failing."""
        link, self._link = self._link, None
        was_ready, self._ready = self._ready, False
        self._error = reason
        self._failures += 1
        # a server that worked is restarted at once, the first time
        exponent = self._failures - (2 if was_ready else 1)
        self._retry_at = monotonic() + (min(2.0**exponent, MAX_BACK_OFF_S) if exponent >= 0 else 0.0)
        failed: list[AsyncFuture[Any]] = [self._listing, *self._waiting]
        self._listing, self._waiting = AsyncFuture(), {}
        for answered in failed:
            self._answer(answered, error=self._failed(reason))
        if link is not None:
            task = asyncio.create_task(link.close(f"it was closed because another call failed: {reason}"))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _failed(self, what: str) -> EngineFailed:
        name = self._row.name if self._row else "it"
        return EngineFailed(f"The tool server {name} failed: {what}.")

    # life

    @property
    def engaged(self) -> bool:
        """Whether a call or a connection attempt is under way, or a process is ending."""
        return bool(self._answers or self._tasks)

    async def on_end(self) -> None:
        """Close the connection, and fail the calls that still wait."""
        for answered in list(self._answers):
            self._answer(answered, error=Overloaded("The tool server was removed, or the gateway stops."))
        if self._link is not None:
            await self._link.close()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def concerns(self, user_id: str) -> bool:
        """Return whether the tool server belongs to this user."""
        return self._row is not None and self._row.user_id == user_id

    @property
    def title(self) -> str | None:
        """The name that the user gave it."""
        return self._row and self._row.name

    def snapshot(self) -> dict[str, Any]:
        """Show the installation and its state; never its headers, URL or errors, which may contain a secret."""
        row = self._row
        if row is None:
            return {"removed": True}
        view = self._view()
        return {
            "user_id": row.user_id,
            "entry": row.entry,
            "state": view.state,
            "tools": None if view.tools is None else len(view.tools),
            "calls": self._calls,
            "failures": self._failures,
        }
