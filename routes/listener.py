"""The listening socket, from its opening to the last answer."""

import asyncio
import ctypes
import errno
import fcntl
import os
import socket
import struct
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import Any, Self, cast

from sanic.application.state import ApplicationServerInfo
from sanic.http import Stage
from sanic.http.constants import HTTP

from routes.app import App
from routes.http.background import BackgroundTasks
from routes.http.connections import Connections
from routes.http.fastpath import FastPath

BACKLOG = 1024

ACCEPTED_AT_ONCE = 8
"""The number of new connections that a turn of the event loop accepts; libuv accepts one for each listening handle."""

FIRST_REQUEST_S = 0.5
"""Seconds from the closing of the socket for which a stop waits for the first byte of a new connection."""

SO_ATTACH_FILTER, BPF_RETURN = 26, 0x06
"""Of Linux's asm-generic/socket.h and linux/bpf_common.h; Python's socket module has neither."""

ANY_IPV4, ANY_IPV6 = "0.0.0.0", "::"
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Documentation addresses; the routes to them reveal this machine's own addresses. Nothing is sent there."""


class CannotListen(Exception):
    """The gateway can't listen on its address; the message has the reason and the remedy."""


class Listener:
    """A listening application; `drain` stops it in an orderly way."""

    def __init__(
        self,
        server: Any,
        others: Sequence[asyncio.Server],
        connection: Callable[[], asyncio.Protocol],
        host: str,
        listening: socket.socket,
        app: App,
    ) -> None:
        # Any: Sanic's AsyncioServer leaves its connections untyped
        self._server = server
        self._others = others
        self._connection = connection
        # Made now: the kernel resets waiting connections once no descriptor is left, and a stop may find none free.
        self._kept = listening.dup()
        self._work: BackgroundTasks = app.ctx.work
        self._connections: Connections = app.ctx.connections
        self._host = host
        self._address: str = listening.getsockname()[0]
        self.port: int = listening.getsockname()[1]
        """The port in use; the system's choice if 0 was set."""

    @property
    def open_to_network(self) -> bool:
        """Whether other machines can connect."""
        return not ip_address(self._address.partition("%")[0]).is_loopback

    @property
    def urls(self) -> list[str]:
        """Return URLs that answer, the best one for this machine first."""
        hosts = {ANY_IPV4: ["127.0.0.1"], ANY_IPV6: ["127.0.0.1", "::1"]}.get(self._address, [self._host])
        if self._address in (ANY_IPV4, ANY_IPV6):
            families = _OUTSIDE if self._address == ANY_IPV6 else _OUTSIDE[:1]
            hosts += [address for family, outside in families if (address := _own_address(family, outside))]
        return [f"http://{f'[{host}]' if ':' in host else host}:{self.port}" for host in hosts]

    @classmethod
    async def open(cls, app: App, host: str, port: int) -> Self:
        """Listen on an address; `::` is every address of IPv6 and IPv4.

        Raises:
            CannotListen: the address is in use, or not one of this machine.
        """
        # Sanic reads port 0 as its own default, so the socket is made here.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = _is_any_ipv6(host)
        try:
            if both and not socket.has_dualstack_ipv6():  # create_server would raise a bare ValueError
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            listening = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
        except OSError as error:
            raise CannotListen(f"{host}:{port}: {error.strerror or error}. {_advice(error)}") from error
        untyped: Any = cast(Any, app)
        # Sanic is told that it serves HTTP/1.1 only, because otherwise it sends an empty Alt-Svc with all responses.
        untyped.state.server_info.append(ApplicationServerInfo({"version": HTTP.VERSION_1}))
        server = await untyped.create_server(
            sock=listening, return_asyncio_server=True, access_log=False, backlog=BACKLOG, protocol=FastPath
        )
        await server.startup()
        await server.before_start()
        await server.after_start()
        # Otherwise a client that connects to a busy gateway waits until those that came before it are served once.
        connection = partial(FastPath, loop=server.loop, app=app, connections=server.connections)
        others = [
            await server.loop.create_server(connection, sock=listening.dup(), backlog=BACKLOG)
            for _ in range(ACCEPTED_AT_ONCE - 1)
        ]
        return cls(server, others, connection, host, listening, app)

    async def drain(self, grace_s: float) -> int:
        """Close the socket and let current requests end; return the number of those cut off.

        A request is current from its first byte to the last byte of its answer. A command of a client that has
        disconnected is given time too, and so is the first request of each connection that the kernel has taken.
        """
        server = self._server
        await server.before_stop()
        self._connections.ending = True
        for other in self._others:
            other.close()
        closed = server.close()
        await asyncio.gather(*map(self._serve, _accepted_before_closing(self._kept)))
        deadline = monotonic() + grace_s
        first_by = monotonic() + FIRST_REQUEST_S
        while (server.connections or self._work) and monotonic() < deadline:
            awaits_first = monotonic() < first_by
            for connection in list(server.connections):
                if not (connection.fresh and awaits_first) and not _has_bytes(connection):
                    connection.close_if_idle()
            await asyncio.sleep(0.02)
        cut_off = sum(map(_is_under_way, server.connections)) + self._work.alone
        for connection in list(server.connections):
            connection.abort()
        await closed
        await server.after_stop()
        return cut_off

    async def _serve(self, accepted: socket.socket) -> None:
        """Serve a connection that the loop's servers have not accepted."""
        try:
            await self._server.loop.connect_accepted_socket(self._connection, accepted)
        except OSError:
            accepted.close()  # its client has gone


def _accepted_before_closing(listening: socket.socket) -> list[socket.socket]:
    """Accept all connections that the kernel has taken, let it take no more, and close the listening socket."""
    accepted: list[socket.socket] = []
    listening.setblocking(False)
    take_no_more(listening)
    with listening:
        while True:
            try:
                connection, _ = listening.accept()
            except (ConnectionAbortedError, InterruptedError):
                continue
            except OSError:  # none is left, or no file descriptor is
                break
            connection.setblocking(False)
            accepted.append(connection)
    return accepted


def take_no_more(listening: socket.socket) -> None:
    """Let Linux drop what arrives at a listening socket; it would reset what comes after the last accept.

    A client that connects meanwhile asks again after a second, and is refused.
    """
    with suppress(OSError):  # a sandbox or another system may have no filters
        drop_all = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RETURN, 0, 0, 0))  # struct sock_filter
        program = struct.pack("HP", 1, ctypes.addressof(drop_all))  # struct sock_fprog
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def _has_bytes(connection: Any) -> bool:
    """Return whether bytes of a request have arrived that the connection's task has yet to see."""
    transport = connection.transport
    if connection.recv_buffer or transport is None or transport.is_closing():
        return bool(connection.recv_buffer)
    unread = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.FIONREAD, bytes(4))
    return any(unread)  # closing would reset the connection


def _is_under_way(connection: Any) -> bool:
    """Return whether a request has begun to arrive on a connection, or its answer is not fully sent."""
    http, transport = connection.http, connection.transport
    if http is not None and http.stage in (Stage.HANDLER, Stage.RESPONSE):
        return True
    return bool(connection.recv_buffer) or (transport is not None and transport.get_write_buffer_size() > 0)


def _is_any_ipv6(host: str) -> bool:
    """Return whether a host is the unspecified IPv6 address, in any spelling."""
    try:
        return str(ip_address(host)) == ANY_IPV6
    except ValueError:
        return False


def _own_address(family: int, outside: str) -> str | None:
    """Return this machine's address on the route to another, or None without a route."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((outside, 9))
        except OSError:
            return None
        return probe.getsockname()[0]


def _advice(error: OSError) -> str:
    """Return the remedy for an address that the gateway can't listen on."""
    match error.errno:
        case errno.EADDRINUSE:
            return "Stop the program that uses it, or set another PARLEY_PORT."
        case errno.EACCES:
            return "Ports below 1024 may need a privilege: set a PARLEY_PORT above."
        case errno.EAFNOSUPPORT:
            return "This machine has no IPv6: set PARLEY_HOST to an IPv4 address (0.0.0.0 is all of them)."
        case _:
            return "Set PARLEY_HOST to an address or name of this machine, 127.0.0.1 for example."
