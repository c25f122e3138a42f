"""`make cluster`: PostgreSQL, NATS and several gateways of this machine, for a try. One Ctrl-C stops all.

All data is in one folder, and stays: the database, and the master key that the first start makes. Only processes and
files of its own are touched.
"""

import argparse
import asyncio
import base64
import errno
import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deploy.child import Child, say
from deploy.servers import CannotStart, Nats, Postgres

CHECKOUT = Path(__file__).resolve().parent.parent
KEY_FILE = "master.key"
START_S = 60.0
GATEWAY_GRACE_S = 30.0
"""Seconds for a gateway's orderly stop: it hands its work over, and answers requests under way."""
SERVER_GRACE_S = 15.0
MAX_NODES = 32


class Cluster:
    """The processes on this machine: `start`, then `stop`.

    Args:
        folder: where the data is.
        ports: one for each gateway.
        environment: the settings beside those that the cluster sets itself, as environment variables.
        server: the command of a gateway.
    """

    def __init__(
        self, folder: Path, ports: Sequence[int], environment: Mapping[str, str], server: Sequence[str]
    ) -> None:
        self.folder = folder.absolute()
        self.ports = ports
        self.gateways: list[Child] = []
        self.all_ended = asyncio.Event()
        self._environment = environment
        self._server = server
        self._postgres = Postgres(self.folder / "postgres")
        self._nats = Nats(self.folder / "nats")
        self._postgres.process.on_end = self._nats.process.on_end = self._server_gone

    async def start(self) -> None:
        """Start the servers, then all gateways at once.

        Raises:
            CannotStart: one of them does not start; `stop` ends the others.
        """
        for port in self.ports:
            require_free(port)
        self.folder.mkdir(parents=True, exist_ok=True)
        key = master_key(self.folder / KEY_FILE)
        await asyncio.gather(self._postgres.start(), self._nats.start())
        self.gateways = [self._gateway(number, port, key) for number, port in enumerate(self.ports, 1)]
        await asyncio.gather(*(gateway.start() for gateway in self.gateways))
        ready = await asyncio.gather(*(gateway.is_ready(START_S) for gateway in self.gateways))
        if not all(ready):
            late = self.gateways[ready.index(False)]
            raise CannotStart(f"{late.name} does not start; its lines above say why.")

    async def stop(self) -> None:
        """Stop the gateways, then NATS, then PostgreSQL."""
        await asyncio.gather(*(gateway.stop(GATEWAY_GRACE_S) for gateway in self.gateways))
        await self._nats.process.stop(SERVER_GRACE_S)
        await self._postgres.process.stop(SERVER_GRACE_S)

    def kill(self) -> None:
        """Kill the gateways, so that a stop need not wait for them."""
        for gateway in self.gateways:
            gateway.send(signal.SIGKILL)

    def _gateway(self, number: int, port: int, key: str) -> Child:
        name = f"gateway-{number}"
        own = {
            "PARLEY_PORT": str(port),
            "PARLEY_NODE_NAME": name,
            "PARLEY_STORE_URL": self._postgres.url,
            "PARLEY_NATS_URL": self._nats.url,
            "PARLEY_MASTER_KEY": key,
            "PARLEY_DATA_DIR": str(self.folder),
            "PYTHONUNBUFFERED": "1",
        }
        return Child(
            name, self._server, {**self._environment, **own}, CHECKOUT, re.compile("listens on"), on_end=self._gone
        )

    def _gone(self, gateway: Child) -> None:
        left = sum(other.status is None for other in self.gateways)
        say("cluster", f"{gateway.name} {gateway.end}; {left} of {len(self.gateways)} gateways are left")
        if not left:
            self.all_ended.set()

    def _server_gone(self, server: Child) -> None:
        say("cluster", f"{server.name} {server.end}, so everything stops")
        self.all_ended.set()


def require_free(port: int) -> None:
    """Make sure that a gateway can listen on a port of this machine.

    Raises:
        CannotStart: it is taken, or this account may not take it.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the gateway does, past connections that linger
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is taken by another program" if taken else f"can't be used ({error.strerror})"
            raise CannotStart(f"port {port} {why}: take other ports, for example PORT={port % 50000 + 1000}.") from None


def master_key(path: Path) -> str:
    """Return the key in a file; it is made the first time, readable by its owner alone, and durable before its use."""
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{key}\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return key


def greeting(cluster: Cluster) -> str:
    """Return the first lines for the person at the terminal."""
    addresses = " ".join(f"http://127.0.0.1:{port}" for port in cluster.ports)
    key = cluster.folder / KEY_FILE
    return f"""
The cluster is up: {addresses}
Each gateway serves every user. Data is in {cluster.folder}, sealed by {key.name} there. Ctrl-C stops all.
Its state: curl {addresses.split()[0]}/debug/cluster -H "X-Internal-Secret: $INTERNAL_SECRET"   (if that is set)
"""


async def run(cluster: Cluster) -> int:
    """Serve until SIGINT or SIGTERM, or until no gateway is left; return the exit status."""
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            cluster.kill()
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    status = 0
    asked, ended = asyncio.create_task(stopping.wait()), asyncio.create_task(cluster.all_ended.wait())
    starting = asyncio.create_task(cluster.start())
    try:
        await asyncio.wait([asked, starting], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            print(greeting(cluster), flush=True)
            await asyncio.wait([asked, ended], return_when=asyncio.FIRST_COMPLETED)
            status = 0 if stopping.is_set() else 1
    except CannotStart as error:
        print(f"The cluster can't start: {error}", file=sys.stderr, flush=True)
        status = 2
    finally:
        for task in (starting, asked, ended):
            task.cancel()
        await asyncio.gather(starting, asked, ended, return_exceptions=True)
        if stopping.is_set():
            say("cluster", "stopping")
        await cluster.stop()
    if status == 0:
        print("The cluster has stopped.", flush=True)
    return status


def main(arguments: Sequence[str]) -> int:
    """Read the command line, and run the cluster."""
    parser = argparse.ArgumentParser(prog="python -m deploy.cluster", description="Run a cluster on this machine.")
    parser.add_argument("--nodes", type=int, default=3, help="number of gateways (default: 3)")
    parser.add_argument("--port", type=int, default=8001, help="port of the first gateway (default: 8001)")
    parser.add_argument("--data", type=Path, default=Path("data/cluster"), help="folder (default: data/cluster)")
    given = parser.parse_args(arguments)
    if not 1 <= given.nodes <= MAX_NODES or not 1 <= given.port <= 65536 - given.nodes:
        parser.error(f"1 to {MAX_NODES} gateways, on ports from 1 to 65535")
    server = [sys.executable, str(CHECKOUT / "server.py"), "--development"]
    ports = range(given.port, given.port + given.nodes)

    async def serve() -> int:
        try:
            cluster = Cluster(given.data, ports, os.environ, server)
        except CannotStart as error:
            print(f"The cluster can't start: {error}", file=sys.stderr)
            return 2
        return await run(cluster)

    return asyncio.run(serve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
