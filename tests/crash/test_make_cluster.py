"""`make cluster`: PostgreSQL, NATS and gateways of this machine, as somebody starts and stops them for a try."""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.support.gateway import CHECKOUT, Client
from tests.support.stores import postgres_only

pytestmark = [postgres_only, pytest.mark.timeout(180)]

START_S = 90
NODES = 2


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that PostgreSQL's account can reach too."""
    made = Path(tempfile.mkdtemp(prefix="parley-try-"))
    made.chmod(0o755)
    yield made / "cluster"
    shutil.rmtree(made)


def free_ports(number: int) -> int:
    """Return the first of some free ports in a row."""
    for first in range(18_001, 30_000, number):
        taken = False
        for port in range(first, first + number):
            with socket.socket() as probe:
                taken |= probe.connect_ex(("127.0.0.1", port)) == 0
        if not taken:
            return first
    raise AssertionError("no free ports")


async def begun(folder: Path, port: int) -> Process:
    """Start it as `make cluster` does, with its output in one pipe."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    command = (sys.executable, "-m", "deploy.cluster")
    options = ("--nodes", str(NODES), "--port", str(port), "--data", str(folder))
    return await asyncio.create_subprocess_exec(
        *command, *options, stdout=PIPE, stderr=STDOUT, cwd=CHECKOUT, env=environment
    )


async def up(process: Process) -> str:
    """Read its output until it serves."""
    assert process.stdout is not None
    said = ""
    async with asyncio.timeout(START_S):
        while "The cluster is up" not in said:
            line = await process.stdout.readline()
            assert line, f"it has ended:\n{said}"
            said += line.decode()
    return said


@asynccontextmanager
async def clusters(folder: Path, port: int) -> AsyncIterator[Process]:
    """Run a cluster; it has ended at the end in any case."""
    process = await begun(folder, port)
    try:
        await up(process)
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await process.communicate()


async def refused(folder: Path, port: int) -> str:
    """Start one that can't start; return what it says."""
    process = await begun(folder, port)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 2
    return said.decode()


def processes_of(folder: Path) -> dict[int, bytes]:
    """Return the processes that use a folder, with their command lines and environments."""
    found: dict[int, bytes] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is not ours
            said = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            if str(folder).encode() in said:
                found[int(place.name)] = said
    return found


async def test_every_gateway_serves_and_a_restart_keeps_the_data(folder: Path):
    port = free_ports(NODES)
    async with clusters(folder, port) as process, aiohttp.ClientSession() as http:
        first, last = (Client(http, f"http://127.0.0.1:{at}") for at in (port, port + NODES - 1))
        ada = await first.register("lovelace")
        await ada.agent("scout")
        (await last.as_user(ada.token).command("AP_Chat", target={"agent": "scout"}, content="The boat is red.")).ok()
        process.send_signal(signal.SIGINT)
        said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    ends = [said.index(end) for end in ("gateway-1 | Parley has stopped", "nats      |", "postgres  |")]
    assert ends == sorted(ends), said
    assert said.rstrip().endswith("The cluster has stopped.")
    assert processes_of(folder) == {}
    key = folder / "master.key"
    assert key.stat().st_mode & 0o077 == 0
    kept = key.read_bytes()
    async with clusters(folder, port), aiohttp.ClientSession() as http:
        again = await Client(http, f"http://127.0.0.1:{port}").log_on("lovelace")
        history = (await again.command("AP_History", target={"agent": "scout"})).ok().content
        assert history[0]["content"] == "The boat is red."
    assert key.read_bytes() == kept
    assert processes_of(folder) == {}


async def test_a_killed_gateway_leaves_the_others_and_a_killed_cluster_leaves_nothing(folder: Path):
    port = free_ports(NODES)
    async with clusters(folder, port) as process, aiohttp.ClientSession() as http:
        (second,) = [pid for pid, said in processes_of(folder).items() if b"PARLEY_NODE_NAME=gateway-2" in said]
        os.kill(second, signal.SIGKILL)
        assert process.stdout is not None
        said = ""
        async with asyncio.timeout(90):
            while "gateway-2 was killed by SIGKILL; 1 of 2 gateways are left" not in said:
                said += (await process.stdout.readline()).decode()
            while (await Client(http, f"http://127.0.0.1:{port}").request("GET", "/api/health")).http != 200:
                await asyncio.sleep(0.1)
        process.kill()
        await process.wait()
    async with asyncio.timeout(60):
        while processes_of(folder):
            await asyncio.sleep(0.1)


async def test_without_its_database_all_of_it_ends(folder: Path):
    async with clusters(folder, free_ports(NODES)) as process:
        os.kill(int((folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert "postgres was killed by SIGKILL, so everything stops" in said.decode()
    assert processes_of(folder) == {}


async def test_a_taken_port_is_named_and_nothing_is_started(folder: Path):
    first = free_ports(NODES)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first + 1))
        other.listen()
        said = await refused(folder, first)
    assert f"The cluster can't start: port {first + 1} is taken by another program" in said
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another account")
async def test_a_folder_that_is_closed_to_postgresql_is_told_with_the_remedy(folder: Path):
    closed_folder = folder.parent / "closed"
    closed_folder.mkdir(mode=0o700)
    said = await refused(closed_folder / "cluster", free_ports(NODES))
    closed = re.search(r"chmod o\+x (/\S+)'", said)
    assert closed is not None, said
    assert not Path(closed.group(1)).stat().st_mode & 0o001
    assert processes_of(folder.parent) == {}


async def test_without_room_for_the_path_of_a_socket_another_folder_is_asked_for(folder: Path):
    said = await refused(folder / ("long" * 25), free_ports(NODES))
    assert "too long for a Unix socket: take another one (DATA=...)" in said
