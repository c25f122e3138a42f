"""The real gateway in a process of its own, and a small client for it."""

import asyncio
import itertools
import os
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Self

import aiohttp

from tests.support import nats
from tests.support.fork_server import Start
from tests.support.forked import ForkedProcess, Process
from tests.support.spread import connector_over
from tests.support.stores import ON_POSTGRES, database_for

CHECKOUT = Path(__file__).resolve().parents[2]
MASTER_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
INTERNAL_SECRET = "internal-secret-of-the-tests"
MAKE_RUN = ("make", "--no-print-directory", "run", "RUNTIME=", f"PY={sys.executable}")
"""`make run` with the Python of the tests, so that no environment has to be set up."""

REAL = (sys.executable, str(CHECKOUT / "server.py"))
"""The gateway as an operator starts it, by an interpreter of its own and with real passwords."""

SERVER = CHECKOUT / "server.py"
"""The same script for the fork server."""
PLAIN = CHECKOUT / "tests" / "gateways" / "plain.py"

NODES = int(os.environ.get("CLUSTER") or 1)
"""The number of nodes of each gateway, from `make test CLUSTER=3`."""

START_S = 90
STOP_S = 60
"""A gateway that takes longer to start or to stop hangs, also on a slow machine."""

PASSWORD = "correct horse battery"
BUS = "/demo/v1/Svc/tps"


@dataclass(slots=True)
class Answer:
    """An HTTP answer: its status, headers and decoded body."""

    http: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> int:
        """The internal code."""
        return self.body["status"]["internal_code"]

    @property
    def note(self) -> str:
        return self.body["status"].get("note", "")

    @property
    def profile(self) -> list[dict[str, Any]]:
        return self.body["profile"]

    @property
    def content(self) -> list[dict[str, Any]]:
        return self.body["content"]

    @property
    def next(self) -> str | None:
        return self.body["header"]["next"]

    @property
    def context(self) -> dict[str, str | None]:
        return self.body["header"]["context"]

    def ok(self) -> Self:
        """Insist on success."""
        assert self.body["status"] == {"success": True, "internal_code": 0, "http_code": 200}, self.body
        assert self.http == 200
        return self

    def refused(self, code: int, http_code: int) -> Self:
        """Insist on a refusal with this internal code and precise HTTP code."""
        status = self.body["status"]
        assert (status["success"], status["internal_code"], status["http_code"]) == (False, code, http_code), self.body
        assert status["note"]
        return self


class Client:
    """Sends commands, with the token of a user if it has one."""

    def __init__(
        self,
        http: aiohttp.ClientSession,
        base: str,
        token: str | None = None,
        name: str = "",
        nodes: Sequence[str] = (),
    ) -> None:
        self.http = http
        self.base = base
        self.nodes = nodes or (base,)
        """The addresses of all nodes."""
        self.token = token
        self.name = name

    def headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a request; one with the internal secret is the operator's, so it has no token."""
        sent = (
            {"Authorization": f"Bearer {self.token}"} if self.token and "X-Internal-Secret" not in (more or {}) else {}
        )
        return sent | dict(more or {})

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send any request; a `json` of None sends no body."""
        async with self.http.request(
            method, self.base + path, json=json, data=data, headers=self.headers(headers)
        ) as response:
            text = await response.read()
            is_json = response.content_type == "application/json"
            return Answer(response.status, response.headers, await response.json() if is_json else text.decode())

    async def command(self, service: str, *, headers: Mapping[str, str] | None = None, **body: Any) -> Answer:
        """Send a command to the bus: `command("AP_Read", target={"agent": "scout"})`."""
        return await self.request("POST", BUS, json={"service": service, **body}, headers=headers)

    async def alias(self, path: str, *, headers: Mapping[str, str] | None = None, **body: Any) -> Answer:
        """Send a command to an alias: `alias("/agent/read", target={"agent": "scout"})`."""
        return await self.request("POST", BUS + path, json=body, headers=headers)

    async def register(self, name: str, password: str = PASSWORD, **vx: str) -> "Client":
        """Register a user and log it on; return a client with its token."""
        (await self.command("US_Create", vx={"name": name, "secret": password, **vx})).ok()
        return await self.log_on(name, password)

    async def log_on(self, name: str, password: str = PASSWORD) -> "Client":
        """Log on as a user; return a client with its token."""
        answer = (await self.command("US_LogOn", target={"user": name}, vx={"secret": password})).ok()
        return self.as_user(answer.content[0]["token"], name)

    def as_user(self, token: str | None = None, name: str = "") -> "Client":
        """Return a client of the same gateway that is another user, or nobody yet."""
        return Client(self.http, self.base, token, name, self.nodes)

    async def agent(self, name: str, *, online: bool = True, select: bool = True, **vx: str) -> dict[str, Any]:
        """Make an agent; log it on and select it unless told otherwise. Return its record as created."""
        definition = {"name": name, "description": f"The agent {name}", **vx}
        record = (await self.command("AP_Create", vx=definition)).ok().profile[0]
        if online:
            (await self.command("AP_LogOn", target={"agent": name})).ok()
        if select:
            (await self.command("AP_Select", target={"agent": name})).ok()
        return record


class GatewayProcess:
    """A gateway in a process of its own, on a free port, with data in a folder of its own.

    A `script` is run by a fork of a process that has imported the gateway (tests/support/fork_server.py); by default it
    is `tests/gateways/plain.py`: `server.py` with cheap passwords. A `command` is started by the operating system,
    as an operator's is: `REAL` is one.
    """

    def __init__(
        self,
        data: Path,
        *,
        script: Path = PLAIN,
        arguments: Sequence[str] = (),
        command: Sequence[str] = (),
        **settings: str,
    ) -> None:
        self.data = data
        self.script = script
        self.arguments = arguments
        self.command = command
        self.settings = settings
        self.log = data.parent / f"{data.name}.log"
        self.base = ""
        self.said = ""  # up to the banner, which is one write
        self.process: Process | None = None
        self.others: list[GatewayProcess] = []
        """The other nodes, with `make test CLUSTER=3`."""

    @property
    def nodes(self) -> "list[GatewayProcess]":
        """All processes of the gateway: this one, and its other nodes."""
        return [self, *self.others]

    def logged(self) -> str:
        """What all its nodes have written."""
        return "\n".join(node.log.read_text() for node in self.nodes)

    async def start(self, port: int = 0) -> Self:
        """Start it, with its other nodes if it has any, and wait for the line with its address."""
        if NODES > 1 and "PARLEY_STORE_URL" not in self.settings and not self.others:
            await self._add_others()
        await asyncio.gather(self._start(port), *(other.start() for other in self.others))
        internal_secret = self.settings.get("INTERNAL_SECRET", INTERNAL_SECRET)
        if self.others and internal_secret:  # without one the nodes tell nothing of their shards
            await self._shared_out({"X-Internal-Secret": internal_secret})
        return self

    async def _shared_out(self, secret: dict[str, str]) -> None:
        """Wait until each node has its part of the shards, because what only memory holds is lost where they move."""
        async with asyncio.timeout(START_S), self.client() as client:
            while True:
                shards = (await client.request("GET", "/debug/cluster", headers=secret)).body["shards"]
                owners = Counter(shard["node"] for shard in shards if shard["hand_over"] is None)
                if len(owners) == NODES and owners.total() == len(shards) < 2 * NODES * min(owners.values()):
                    return
                await asyncio.sleep(0.1)

    async def _add_others(self) -> None:
        """Make the other nodes, which share the database and a NATS server with this one."""
        shared = {
            "PARLEY_STORE_URL": await database_for(self.data / "parley.db"),
            "PARLEY_MASTER_KEY": MASTER_KEY,
            "PARLEY_NATS_URL": (await nats.shared()).url,
            "PARLEY_CLUSTER_LEASE_S": os.environ.get("CLUSTER_LEASE_S", "3"),  # each start waits for one
        }
        settings = shared | self.settings
        self.settings = settings | {"PARLEY_NODE_NAME": "node-1"}
        for number in range(2, NODES + 1):
            data = self.data.with_name(f"{self.data.name}-{number}")
            other = GatewayProcess(data, script=self.script, command=self.command, **settings)
            other.settings["PARLEY_NODE_NAME"] = f"node-{number}"
            self.others.append(other)

    async def _start(self, port: int) -> Self:
        self.data.mkdir(parents=True, exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
        environment |= {
            "PARLEY_PORT": str(port),
            "PARLEY_DATA_DIR": str(self.data),
            "PARLEY_REGISTRATIONS_PER_HOUR": "0",
            "INTERNAL_SECRET": INTERNAL_SECRET,
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONUNBUFFERED": "1",
        } | self.settings
        if ON_POSTGRES and "PARLEY_STORE_URL" not in self.settings:
            environment["PARLEY_STORE_URL"] = await database_for(self.data / "parley.db")
            environment.setdefault("PARLEY_MASTER_KEY", MASTER_KEY)
        with self.log.open("ab") as log:
            start = log.tell()
            self.process = await self._begin(environment, log)
        until = monotonic() + START_S
        while monotonic() < until:
            said = self.said = self.log.read_bytes()[start:].decode()
            listening = re.search(r"listens on (http://[^\s\"\\]+)", said)
            if listening:
                self.base = listening.group(1)
                return self
            assert self.process.returncode is None, f"the gateway ended with {self.process.returncode}:\n{said}"
            await asyncio.sleep(0.01)
        raise AssertionError(f"the gateway did not start in {START_S} s:\n{said}")

    async def _begin(self, environment: dict[str, str], log: BinaryIO) -> Process:
        if self.command:
            return await asyncio.create_subprocess_exec(
                *self.command, env=environment, stdout=log, stderr=log, cwd=CHECKOUT
            )
        return await forked(self.script, self.arguments, environment, self.log)

    async def kill(self) -> None:
        """Kill it, and its other nodes, with SIGKILL."""
        for other in self.others:
            await other.kill()
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """End it, and its other nodes, in an orderly way; return its exit status."""
        for other in self.others:
            assert await other.stop() == 0
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), STOP_S)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Open a client without a user; with other nodes, each of its requests goes through a random one."""
        timeout = aiohttp.ClientTimeout(sock_connect=60, sock_read=60)  # streams may take longer as a whole
        base, connector = self.base, aiohttp.TCPConnector(limit=0)
        if self.others:
            ports = [int(node.base.rpartition(":")[2]) for node in (self, *self.others)]
            base, connector = f"http://localhost:{ports[0]}", connector_over(lambda: ports, random.Random())
        jar = aiohttp.DummyCookieJar()  # tests send the cookies that they mean to
        async with aiohttp.ClientSession(timeout=timeout, connector=connector, cookie_jar=jar) as http:
            yield Client(http, base, nodes=[node.base for node in self.nodes])


async def forked(
    script: Path, arguments: Sequence[str], environment: dict[str, str], log: Path, errors: Path | str = ""
) -> ForkedProcess:
    """Have the fork server run a script as a child of this process would run it; `errors` is a file for its stderr."""
    umask = os.umask(0)
    os.umask(umask)
    start = Start(str(script), tuple(arguments), environment, str(CHECKOUT), umask, str(log), str(errors))
    return await ForkedProcess.start(start)


async def ran(folder: Path, *arguments: str, script: Path = SERVER, **settings: str) -> tuple[int, str]:
    """Run `server.py`, or another script, to its end with its log in a folder; return exit status and output."""
    status, said, _ = await ran_apart(folder, *arguments, script=script, apart=False, **settings)
    return status, said


async def ran_apart(
    folder: Path, *arguments: str, script: Path = SERVER, apart: bool = True, **settings: str
) -> tuple[int, str, str]:
    """Run `server.py`, or another script, to its end; return its exit status, its stdout and its stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")} | settings
    log = folder / f"{next(_runs)}.run.log"
    errors = log.with_suffix(".errors") if apart else log
    process = await forked(script, arguments, environment, log, errors)
    try:
        await asyncio.wait_for(process.wait(), START_S)
    finally:
        process.kill()
    return await process.wait(), log.read_text(), errors.read_text()


_runs = itertools.count(1)


@asynccontextmanager
async def running(
    data: Path, *, script: Path = PLAIN, arguments: Sequence[str] = (), command: Sequence[str] = (), **settings: str
) -> AsyncIterator[GatewayProcess]:
    """Run a gateway; it is stopped in any case."""
    gateway = GatewayProcess(data, script=script, arguments=arguments, command=command, **settings)
    try:
        yield await gateway.start()
    finally:
        if gateway.process is not None and gateway.process.returncode is None:
            await gateway.stop()
