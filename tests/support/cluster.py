"""Several gateways on one database and one NATS server, as real processes with links that fail, and their client."""

import asyncio
import random
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.support import nats
from tests.support.gateway import MASTER_KEY, PLAIN, Client, GatewayProcess
from tests.support.nats import NatsServer
from tests.support.postgres import SUPERUSER, shared
from tests.support.relay import SOCKET, Link, linked
from tests.support.spread import connector_over
from tests.support.stores import database_for

TIMEOUT_S = 60.0


@asynccontextmanager
async def spread_over(ports: Callable[[], Sequence[int]], rng: random.Random) -> AsyncIterator[Client]:
    """Open a client whose every request goes to one of some ports, and to another one if the first does not listen."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector_over(ports, rng)) as http:
        yield Client(http, f"http://localhost:{ports()[0]}")


@dataclass(slots=True)
class Node:
    """One gateway, with its links to the database and to NATS."""

    gateway: GatewayProcess
    to_postgres: Link
    to_nats: Link
    frozen: bool = False
    leaving: bool = False

    @property
    def name(self) -> str:
        return self.gateway.settings["PARLEY_NODE_NAME"]

    @property
    def port(self) -> int:
        port = urlsplit(self.gateway.base).port
        assert port is not None
        return port

    @property
    def serves(self) -> bool:
        """Whether a client may try it: it has begun to listen, and its process runs."""
        return bool(self.gateway.base) and not self.ended and not self.frozen

    @property
    def ended(self) -> bool:
        return self.gateway.process is None or self.gateway.process.returncode is not None

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Open a client of this node alone."""
        async with self.gateway.client() as client:
            yield client

    async def kill(self) -> None:
        """Kill it, as a loss of power does."""
        await self.gateway.kill()

    def freeze(self) -> None:
        """Stop its process in its tracks, as a pause of its machine does."""
        self._signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)
        self.frozen = False

    async def term(self) -> int:
        """Take it out of the proxy and end it in an orderly way; return its exit status."""
        self.leaving = True
        await asyncio.sleep(0.3)  # until requests that had begun to connect have arrived
        return await self.gateway.stop()

    def mend(self) -> None:
        """Let it run, with both links whole."""
        if self.frozen:
            self.thaw()
        self.to_postgres.mend()
        self.to_nats.mend()

    def _signal(self, number: signal.Signals) -> None:
        assert self.gateway.process is not None
        self.gateway.process.send_signal(number)


@dataclass(slots=True)
class Nodes:
    """The nodes that have been started, with those that ended since."""

    data: Path
    """Stands for the database; see `tests/support/stored.py`."""
    nats: NatsServer
    rng: random.Random
    script: Path
    settings: dict[str, str]
    stack: AsyncExitStack
    all: list[Node] = field(default_factory=list)

    @property
    def live(self) -> list[Node]:
        return [node for node in self.all if not node.ended]

    def one(self) -> Node:
        """Return a random node of those that run."""
        return self.rng.choice([node for node in self.live if node.serves and not node.leaving])

    async def join(self) -> Node:
        """Start one more, under a name that none had before."""
        number = len(self.all) + 1
        to_postgres = await self.stack.enter_async_context(linked((await shared()).folder / SOCKET))
        to_nats = await self.stack.enter_async_context(linked(self.nats.port))
        database = urlsplit(await database_for(self.data / "parley.db")).path
        settings = {
            "PARLEY_STORE_URL": f"postgresql://{SUPERUSER}@127.0.0.1:{to_postgres.port}{database}?sslmode=disable",
            "PARLEY_NATS_URL": f"nats://127.0.0.1:{to_nats.port}",
            "PARLEY_NODE_NAME": f"node-{number}",
            "PARLEY_MASTER_KEY": MASTER_KEY,
        }
        folder = self.data.parent / f"node-{number}"
        gateway = GatewayProcess(folder, script=self.script, **settings, **self.settings)
        node = Node(gateway, to_postgres, to_nats)
        self.all.append(node)
        await gateway.start()
        return node

    def logs(self) -> str:
        """What all nodes have written, without the lines of requests that succeeded."""
        return "\n".join(
            f"--- {node.name}\n" + re.sub(r"(?m)^\S+Z 200 0 .*\n", "", node.gateway.log.read_text())
            for node in self.all
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Open a client whose requests go through random nodes."""
        async with spread_over(lambda: [node.port for node in self.live if node.serves], self.rng) as client:
            yield client

    @asynccontextmanager
    async def by_proxy(self) -> AsyncIterator[Client]:
        """Open a client whose requests go through random nodes but those that are stopping, as by a proxy."""

        def ports() -> list[int]:
            return [node.port for node in self.live if node.serves and not node.leaving]

        async with spread_over(ports, self.rng) as client:
            yield client

    async def stop(self) -> None:
        """End all of them, whatever was done to them."""
        for node in self.live:
            node.mend()
            await node.gateway.kill()


@asynccontextmanager
async def nodes(
    folder: Path, count: int = 3, *, seed: int = 0, script: Path = PLAIN, **settings: str
) -> AsyncIterator[Nodes]:
    """Run some nodes; afterwards they are killed, and so is their NATS server.

    Args:
        folder: takes their logs, and stands for their database.
        count: the number of nodes at first.
        seed: of the choices of nodes.
        script: the gateway.
        settings: of every node, beside those that make it a node.
    """
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats.running({"max_payload": "8MB"}))
        made = Nodes(folder / "data", server, random.Random(seed), script, settings, stack)
        stack.push_async_callback(made.stop)
        first = await made.join()  # it makes the tables
        assert first
        for _ in range(count - 1):
            await made.join()
        yield made


def of_node(answer: Any, node: Node) -> bool:
    """Whether an entry of a debug route is of a node, whose id is its name and digits."""
    return str(answer["node"]).rpartition("-")[0] == node.name
