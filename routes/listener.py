"""The listening socket: from its opening to the last answer."""

import asyncio
import socket
from time import monotonic
from typing import Any, Self, cast

from sanic.application.state import ApplicationServerInfo
from sanic.http.constants import HTTP

from routes.app import App
from routes.fastpath import FastPath
from routes.work import Work

BACKLOG = 1024


class Listener:
    """An application that listens; `drain` ends it in an orderly way."""

    def __init__(self, server: Any, port: int, work: Work) -> None:
        # Any: Sanic's AsyncioServer leaves its connections untyped
        self._server = server
        self._work = work
        self.port = port
        """The port it listens on; the system's choice where 0 was asked for."""

    @classmethod
    async def open(cls, app: App, host: str, port: int) -> Self:
        """Listen on an address.

        Raises:
            OSError: it is in use, or not this machine's.
        """
        # Sanic reads port 0 as its own default, so the socket is made here.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
        untyped: Any = cast(Any, app)
        # Sanic learns that it speaks HTTP/1.1 alone, or it sends an empty Alt-Svc with all responses.
        untyped.state.server_info.append(ApplicationServerInfo({"version": HTTP.VERSION_1}))
        server = await untyped.create_server(
            sock=listening, return_asyncio_server=True, access_log=False, backlog=BACKLOG, protocol=FastPath
        )
        await server.startup()
        await server.before_start()
        await server.after_start()
        return cls(server, listening.getsockname()[1], app.ctx.work)

    async def drain(self, grace_s: float) -> int:
        """Take no more connections, let requests under way be answered; return how many were cut off.

        What a client that went away has begun is given time, too.
        """
        server = self._server
        await server.before_stop()
        closed = server.close()
        deadline = monotonic() + grace_s
        while (server.connections or self._work) and monotonic() < deadline:
            for connection in list(server.connections):
                if not connection.recv_buffer:  # else a request is here that its task has yet to see
                    connection.close_if_idle()
            await asyncio.sleep(0.02)
        cut_off = len(server.connections) + len(self._work)
        for connection in list(server.connections):
            connection.abort()
        await closed
        await server.after_stop()
        return cut_off
