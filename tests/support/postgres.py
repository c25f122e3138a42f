"""A private PostgreSQL cluster for tests and benchmarks: its own folder and Unix socket, no TCP port, gone at the end.

The server is Debian's package `postgresql` (`make test STORE=postgres` installs it where it can). It refuses to run as
root, so root runs it as the package's user `postgres`. Nothing of the machine's own clusters is used or touched.
"""

import asyncio
import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Self
from unittest import SkipTest
from urllib.parse import quote

import asyncpg

OLDEST = 15
SUPERUSER = "parley"
UNPRIVILEGED = "postgres"

SETTINGS = {
    "listen_addresses": "''",
    "port": "5432",
    "fsync": "on",
    "recovery_init_sync_method": "syncfs",  # a start after a crash in less than a second
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "autovacuum_naptime": "10s",
    "log_min_messages": "warning",
    "log_min_error_statement": "panic",
}

KEEPER = 'read -r _; "$0" stop -D "$1/data" -m immediate >/dev/null 2>&1; rm -rf "$1"'
"""Waits for the end of its input, which comes even if the tests are killed; then ends the server and its folder."""


class NoPostgres(SkipTest):
    """No PostgreSQL that can be used is installed: pytest skips the test, the benchmarks tell what to install."""


def programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs; without one a test is skipped, or fails in CI.

    Raises:
        NoPostgres: there is none.
    """
    found = {
        int(version.group(1)): path
        for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")
        if (version := re.fullmatch(r"(\d+)", path.parts[-3])) is not None
    }
    if found and max(found) >= OLDEST:
        return found[max(found)].parent
    on_path = shutil.which("postgres")
    if on_path is not None and shutil.which("initdb"):
        return Path(on_path).resolve().parent
    missing = f"no PostgreSQL {OLDEST} or newer on this machine: install it (Debian: apt-get install postgresql)"
    if os.environ.get("CI"):
        raise AssertionError(missing)
    raise NoPostgres(missing)


@dataclass(slots=True)
class Cluster:
    """A running server. `start` makes it, `database` makes an empty database in it, `stop` removes it."""

    folder: Path
    programs: Path
    user: str | None
    _keeper: "subprocess.Popen[bytes] | None" = None
    made: set[str] = field(default_factory=set)
    """The databases that `database` has made."""

    @classmethod
    async def start(cls, settings: Mapping[str, str] = MappingProxyType({}), parent: Path | None = None) -> Self:
        """Make a cluster in a temporary folder, or in one of `parent`, and start its server."""
        user = UNPRIVILEGED if os.geteuid() == 0 else None
        folder = Path(tempfile.mkdtemp(prefix="parley-pg-", dir=parent))
        if user is not None:
            shutil.chown(folder, user, user)
        cluster = cls(folder, programs(), user)
        try:
            cluster._keeper = cluster._as_user(
                ["sh", "-c", KEEPER, str(cluster.programs / "pg_ctl"), str(folder)], stdin=subprocess.PIPE
            )
            await asyncio.to_thread(cluster._make, {**SETTINGS, **settings})
            await cluster.up()
        except BaseException:
            cluster.stop()
            raise
        return cluster

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The server's first process, the parent of all others."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    @property
    def log(self) -> str:
        """What the server has logged."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def url(self, database: str, user: str = SUPERUSER) -> str:
        """Return the URL of a database, as an operator writes it."""
        return f"postgresql://{user}@/{quote(database)}?host={quote(str(self.folder), safe='')}"

    async def database(self, name: str, template: str = "template1") -> str:
        """Make a database unless this cluster has it already, and return its URL; without a template it is empty."""
        if name not in self.made:
            await self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
            self.made.add(name)
        return self.url(name)

    async def execute(self, sql: str, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        connection = await self.connect(database)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def connect(self, database: str = "postgres") -> asyncpg.Connection:
        """Open a connection as the superuser."""
        return await asyncpg.connect(self.url(database), timeout=10)

    async def up(self) -> None:
        """Start the server, and wait until it takes connections."""
        await asyncio.to_thread(self._control, "start", "-l", str(self.folder / "log"))

    async def ensure_up(self) -> None:
        """Start the server if it has ended by itself."""
        if await asyncio.to_thread(self._as_user([str(self.programs / "pg_ctl"), "status", "-D", str(self.data)]).wait):
            await self.up()

    async def down(self, mode: str = "fast") -> None:
        """Stop the server by `pg_ctl stop` in a mode: smart, fast or immediate."""
        await asyncio.to_thread(self._control, "stop", "-m", mode)

    async def restart(self, mode: str = "fast") -> None:
        """Stop the server in a mode, and start it again."""
        await self.down(mode)
        await self.up()

    async def kill_backends(self, database: str, like: str = "%") -> int:
        """End the connections to a database whose application name matches; return their number."""
        connection = await self.connect()
        try:
            ended = await connection.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = $1 AND application_name LIKE $2 AND pid <> pg_backend_pid()",
                database,
                like,
            )
        finally:
            await connection.close()
        return len(ended)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server's first process."""
        os.kill(self.pid, number)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._keeper is not None:
            assert self._keeper.stdin is not None
            self._keeper.stdin.close()
            self._keeper.wait(90)  # some seconds, but for a machine that is busy

    def _make(self, settings: dict[str, str]) -> None:
        self._run("initdb", "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{key} = {value}\n" for key, value in settings.items())
            file.write(f"unix_socket_directories = '{self.folder}'\n")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.data), *arguments]
        with tempfile.TemporaryFile() as said:  # a pipe would stay open in the server that pg_ctl starts
            status = self._as_user(command, stdout=said).wait(60)
            said.seek(0)
            assert status == 0, f"{program} failed:\n{said.read().decode(errors='replace')}"

    def _as_user(
        self, command: Sequence[str], *, stdin: int = subprocess.DEVNULL, stdout: IO[bytes] | None = None
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            cwd=self.folder,
            start_new_session=True,  # Ctrl-C is for pytest
        )


_shared: list[Cluster] = []
_starting = asyncio.Lock()


async def shared() -> Cluster:
    """Return this process's cluster, started when the first test needs it; it ends with the process."""
    async with _starting:
        if not _shared:
            _shared.append(await Cluster.start())
            atexit.register(_shared[0].stop)
    return _shared[0]
