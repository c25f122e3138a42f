"""PostgreSQL and NATS for a cluster on one machine: their programs, their files in a folder, their processes."""

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from deploy.child import Child

OLDEST_POSTGRES = 15
DATABASE = SUPERUSER = "parley"
UNPRIVILEGED = "postgres"
"""The account that runs PostgreSQL for root, which it refuses to be run by; Debian's package makes it."""
MAX_SOCKET_PATH = 107
MAX_PAYLOAD = 8 * 1024 * 1024
START_S = 60.0

POSTGRES_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "log_min_messages": "warning",
    "log_line_prefix": "''",
}


class CannotStart(Exception):
    """The cluster can't be started; the message has the reason and the remedy."""


def find_postgres() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs, version 15 or newer; None if there is none."""
    found = {
        int(path.parts[-3]): path
        for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")
        if re.fullmatch(r"\d+", path.parts[-3])
    }
    if found and max(found) >= OLDEST_POSTGRES:
        return found[max(found)].parent
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path is not None and shutil.which("initdb") else None


class Postgres:
    """A PostgreSQL server with its data in a folder, reached by a Unix socket there."""

    def __init__(self, folder: Path) -> None:
        """Check what it needs.

        Raises:
            CannotStart: there is no PostgreSQL, or the folder can't be used for it.
        """
        programs = find_postgres()
        if programs is None:
            raise CannotStart(
                f"there is no PostgreSQL {OLDEST_POSTGRES} or newer on this machine: install it (Debian: apt-get"
                " install postgresql)."
            )
        if len(str(folder / ".s.PGSQL.5432")) > MAX_SOCKET_PATH:
            raise CannotStart(f"the path {folder} is too long for a Unix socket: take another one (DATA=...).")
        self.folder = folder
        self.data = folder / "data"
        self._programs = programs
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        self._environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        self.process = Child(
            "postgres",
            [str(programs / "postgres"), "-D", str(self.data)],
            self._environment,
            folder,
            stop_signal=signal.SIGINT,  # a fast shutdown
            user=self._user,
        )

    @property
    def url(self) -> str:
        """The URL of the gateways' database."""
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self.folder), safe='')}"

    async def start(self) -> None:
        """Start it, with an empty database the first time.

        Raises:
            CannotStart: it does not start; its own lines have said why.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            shutil.chown(self.folder, self._user, self._user)
        self.folder.chmod(0o700)
        await self._check_access()
        if not (self.data / "PG_VERSION").exists():
            await self._make()
        if await self._run("pg_ctl", "status", "-D", str(self.data)) == 0:
            raise CannotStart(
                f"its PostgreSQL is still running in {self.data}, from a cluster that was killed: end that one"
                f" (pid {(self.data / 'postmaster.pid').read_text().split()[0]}), or wait until it has ended."
            )
        await self.process.start()
        deadline = asyncio.get_running_loop().time() + START_S
        while await self._run("pg_isready", "-q", "-h", str(self.folder), "-U", SUPERUSER, "-d", "postgres") != 0:
            if self.process.status is not None or asyncio.get_running_loop().time() > deadline:
                raise CannotStart("PostgreSQL does not start; its lines above say why.")
            await asyncio.sleep(0.05)
        # It is there already on every start but the first.
        await self._run("createdb", "-h", str(self.folder), "-U", SUPERUSER, "-E", "UTF8", "-T", "template0", DATABASE)

    async def _make(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)  # of a first start that was broken off
        options = ["-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        making = self.folder / "making"
        shutil.rmtree(making, ignore_errors=True)
        if await self._run("initdb", "-D", str(making), *options) != 0:
            raise CannotStart(f"initdb could not make a database in {self.folder}: is there space for 40 MB?")
        with (making / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{key} = {value}\n" for key, value in POSTGRES_SETTINGS.items())
            # Relative to the data directory, so that the folder may be moved.
            file.write("unix_socket_directories = '..'\n")
        making.rename(self.data)

    async def _check_access(self) -> None:
        if self._user is not None and await self._status(["test", "-w", str(self.folder)]):
            closed = next(path for path in reversed(self.folder.parents) if not path.stat().st_mode & 0o001)
            raise CannotStart(
                f"PostgreSQL can't be run by root, and {closed} is closed to the account {self._user}: open it with"
                f" 'chmod o+x {closed}', take another folder (DATA=...), or run this as another user than root."
            )

    async def _run(self, program: str, *arguments: str) -> int:
        return await self._status([str(self._programs / program), *arguments])

    async def _status(self, command: Sequence[str]) -> int:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=self._environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
        )
        return await process.wait()


class Nats:
    """A NATS server on a free port of this machine, with a password of its own."""

    def __init__(self, folder: Path) -> None:
        """Check what it needs.

        Raises:
            CannotStart: there is no nats-server.
        """
        program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/bin")
        if program is None:
            raise CannotStart(
                "there is no nats-server on this machine: install it (Debian: apt-get install nats-server)"
            )
        self.folder = folder
        self._program = program
        self._password = secrets.token_hex(16)
        self._port = 0
        self.process = Child(
            "nats",
            [program, "-c", str(folder / "nats.conf")],
            {"PATH": os.environ.get("PATH", "")},
            folder,
            ready=re.compile("Server is ready"),
        )

    @property
    def url(self) -> str:
        """The URL for the gateways; known once it has started."""
        return f"nats://parley:{self._password}@127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Start it.

        Raises:
            CannotStart: it does not start; its own lines have said why.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.ports"):
            old.unlink()
        configuration = self.folder / "nats.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(
            f"host: 127.0.0.1\nport: -1\nlogtime: false\nmax_payload: {MAX_PAYLOAD}\n"
            f"ports_file_dir: {json.dumps(str(self.folder))}\n"
            f"authorization {{ user: parley, password: {json.dumps(self._password)} }}\n",
            encoding="utf-8",
        )
        await self.process.start()
        if not await self.process.is_ready(START_S):
            raise CannotStart("nats-server does not start; its lines above say why.")
        self._port = await self._port_taken()

    async def _port_taken(self) -> int:
        file = self.folder / f"{Path(self._program).name}_{self.process.pid}.ports"
        for _ in range(200):
            if file.exists() and (text := file.read_text(encoding="utf-8")).rstrip().endswith("}"):
                (address,) = json.loads(text)["nats"]
                return int(address.rpartition(":")[2])
            await asyncio.sleep(0.05)
        raise CannotStart(f"nats-server has not told its port in {file}.")
