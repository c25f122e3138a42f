"""Relays in front of the servers of tests, which lose what these answer, or are cut, as a network is."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tests.support.postgres import SUPERUSER, Cluster

SOCKET = ".s.PGSQL.5432"


async def passed_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    passes: Callable[[bytes], bool],
    asked: Callable[[bytes], None] = lambda _: None,
) -> None:
    """Pass the bytes of a connection on, until either side closes it or a piece of an answer does not pass.

    Args:
        reader: what the client sends.
        writer: to the client.
        server: a connection of its own to the server.
        passes: whether a piece of the server's answer goes on; else the connection is cut.
        asked: is told each piece that the client sends, before it goes on.
    """
    from_server, to_server = server

    async def there() -> None:
        while data := await reader.read(65_536):
            asked(data)
            to_server.write(data)

    async def back() -> None:
        while (data := await from_server.read(65_536)) and passes(data):
            writer.write(data)

    directions = [asyncio.create_task(there()), asyncio.create_task(back())]
    with suppress(OSError):
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    for direction in directions:
        direction.cancel()
    await asyncio.gather(*directions, return_exceptions=True)
    for end in (writer, to_server):
        end.close()


class Relay:
    """Passes the bytes of each connection on. With `loses` set, the answer to its next commit cuts a connection.

    A commit is a COMMIT, or a prepared statement that is run for `node` and commits by itself.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self.node = ""
        self.loses = False
        self.lost = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection to its end."""
        losing = False

        def asked(data: bytes) -> None:
            nonlocal losing
            losing |= self.loses and (b"COMMIT" in data or (data.startswith(b"B") and self.node.encode() in data))

        def passes(_: bytes) -> bool:
            if losing:  # the server has answered, so it has done it
                self.loses = False
                self.lost += 1
            return not losing

        await passed_on(reader, writer, await asyncio.open_unix_connection(str(self._server)), passes, asked)


@asynccontextmanager
async def relayed(cluster: Cluster, database: str, folder: Path) -> AsyncIterator[tuple[Relay, str]]:
    """Run a relay in a folder with a short path; return it and the URL of a database by way of it."""
    relay = Relay(cluster.folder / SOCKET)
    server = await asyncio.start_unix_server(relay.serve, str(folder / SOCKET))
    try:
        yield relay, f"postgresql://{SUPERUSER}@/{database}?host={quote(str(folder), safe='')}"
    finally:
        server.close()


class Link:
    """A TCP link to a server of this machine, which can be cut, slowed, or stalled so that neither side learns of it.

    `to` is the server's port of 127.0.0.1, or its Unix socket.
    """

    def __init__(self, to: int | Path) -> None:
        self._to = to
        self._open: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._closing = asyncio.Event()
        self._closing.set()
        self._is_cut = False
        self.port = 0
        self.delay_s = 0.0
        """Seconds by which each piece is late."""

    def cut(self) -> None:
        """Close all connections, and every new one at once."""
        self._is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def stall(self) -> None:
        """Pass nothing on, without closing anything."""
        self._flowing.clear()
        self._closing.clear()

    def keep_open(self) -> None:
        """Pass everything on, but let no side learn that the other has closed a connection."""
        self._closing.clear()

    def forget(self) -> None:
        """Pass nothing more on of the connections there are, as a firewall that has forgotten them; new ones work."""
        self._flowing.clear()
        self._flowing = asyncio.Event()
        self._flowing.set()

    def mend(self) -> None:
        """Pass everything on again and at once, also what came while it was stalled."""
        self._is_cut = False
        self.delay_s = 0.0
        self._flowing.set()
        self._closing.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection to its end."""
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            from_server, to_server = await self._connected()
        except OSError:  # the server is gone
            writer.transport.abort()
            return
        self._open |= {writer, to_server}
        flowing = self._flowing
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, to_server, flowing), self._pass_on(from_server, writer, flowing))
        self._open -= {writer, to_server}

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._to, int):
            return await asyncio.open_connection("127.0.0.1", self._to)
        return await asyncio.open_unix_connection(str(self._to))

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, flowing: asyncio.Event
    ) -> None:
        try:
            while data := await source.read(65_536):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await flowing.wait()
                target.write(data)
                await target.drain()
            await self._closing.wait()
        finally:
            target.close()


@asynccontextmanager
async def linked(to: int | Path) -> AsyncIterator[Link]:
    """Run a link to a port of 127.0.0.1 or a Unix socket; its own port is `Link.port`."""
    link = Link(to)
    server = await asyncio.start_server(link.serve, "127.0.0.1", 0)
    link.port = server.sockets[0].getsockname()[1]
    try:
        yield link
    finally:
        server.close()
        link.mend()
        link.cut()
