"""A relay in front of the tests' PostgreSQL that can lose what the server answers, as a network does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tests.support.postgres import SUPERUSER, Cluster

SOCKET = ".s.PGSQL.5432"


class Relay:
    """Passes the bytes of each connection on. With `loses` set, the answer to its next COMMIT cuts a connection."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self.loses = False
        self.lost = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection to its end."""
        from_server, to_server = await asyncio.open_unix_connection(str(self._server))
        losing = asyncio.Event()

        async def there() -> None:
            while data := await reader.read(65_536):
                if self.loses and b"COMMIT" in data:
                    losing.set()
                to_server.write(data)

        async def back() -> None:
            while data := await from_server.read(65_536):
                if losing.is_set():  # the server has answered, so it has done it
                    self.loses = False
                    self.lost += 1
                    return
                writer.write(data)

        directions = [asyncio.create_task(there()), asyncio.create_task(back())]
        with suppress(OSError):
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        for end in (writer, to_server):
            end.close()


@asynccontextmanager
async def relayed(cluster: Cluster, database: str, folder: Path) -> AsyncIterator[tuple[Relay, str]]:
    """Run a relay in a folder with a short path; return it and the URL of a database by way of it."""
    relay = Relay(cluster.folder / SOCKET)
    server = await asyncio.start_unix_server(relay.serve, str(folder / SOCKET))
    try:
        yield relay, f"postgresql://{SUPERUSER}@/{database}?host={quote(str(folder), safe='')}"
    finally:
        server.close()
