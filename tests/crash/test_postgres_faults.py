"""A gateway whose PostgreSQL restarts, crashes, loses connections and has a full disk, under load."""

import asyncio
import os
import random
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.support import postgres
from tests.support.gateway import GatewayProcess, running
from tests.support.load import OFFLINE, Crowd, crowd, verify_rows
from tests.support.postgres import Cluster
from tests.support.stores import TEMPLATE, postgres_only

pytestmark = postgres_only

AGENTS = 20
SPARE_MIB = 160
"""The room for a server on the disk that fills up."""

SMALL = {"max_wal_size": "32MB", "min_wal_size": "32MB", "shared_buffers": "8MB"}
"""Settings of a server that fits there."""

Fault = Callable[[Cluster, random.Random], Awaitable[None]]


async def restart_fast(cluster: Cluster, _: random.Random) -> None:
    await cluster.restart("fast")


async def restart_immediate(cluster: Cluster, _: random.Random) -> None:
    await cluster.restart("immediate")


async def stay_away(cluster: Cluster, rng: random.Random) -> None:
    """Stop the server for as long as units wait, and longer."""
    await cluster.down(rng.choice(["fast", "immediate"]))
    await asyncio.sleep(rng.choice([1, 4, 7]))
    await cluster.up()


async def end_writer(cluster: Cluster, _: random.Random) -> None:
    await cluster.kill_backends(database_of(cluster), "parley writer%")


async def end_all(cluster: Cluster, _: random.Random) -> None:
    await cluster.kill_backends(database_of(cluster))


async def kill_a_backend(cluster: Cluster, _: random.Random) -> None:
    """Kill the writer's process, upon which the server ends all others and recovers."""
    connection = await cluster.connect()
    pid = await connection.fetchval("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'parley writer%'")
    await connection.close()
    if pid is not None:  # it may just be connecting
        os.kill(pid, signal.SIGKILL)


FAULTS: tuple[Fault, ...] = (restart_fast, restart_immediate, stay_away, end_writer, end_all, kill_a_backend)


def database_of(cluster: Cluster) -> str:
    """Return the name of the gateway's database."""
    (name,) = cluster.made - {TEMPLATE}
    return name


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cluster], Cluster]:
    """Give the test's gateway a server of its own in place of the one that tests share."""

    def use(cluster: Cluster) -> Cluster:
        monkeypatch.setattr(postgres, "_shared", [cluster])
        return cluster

    return use


async def served_again(cluster: Cluster, clients: Crowd, acting: "asyncio.Task[int]") -> float:
    """Wait until the server takes connections, and then until a change is acknowledged; return the seconds between."""
    for _ in range(1_200):
        try:
            await (await cluster.connect()).close()
            break
        except Exception:
            await asyncio.sleep(0.05)
    began, before = monotonic(), clients.acknowledged
    while clients.acknowledged == before and not acting.done():  # it ends early if all clients are in doubt
        await asyncio.sleep(0.01)
    return monotonic() - began


async def survives(
    cluster: Cluster, gateway: GatewayProcess, clients: Crowd, rng: random.Random, faults: list[Fault]
) -> list[str]:
    """Have faults happen under load, one after another, and check after each what clients were told."""
    pauses: list[str] = []
    for fault in faults:
        over, before = asyncio.Event(), clients.acknowledged
        acting = asyncio.create_task(clients.act(lambda over=over: not over.is_set()))
        await asyncio.sleep(0.2 + rng.random() / 2)
        while clients.acknowledged == before and not acting.done():  # also on a slow machine
            await asyncio.sleep(0.05)
        await fault(cluster, rng)
        pause = await served_again(cluster, clients, acting)
        await asyncio.sleep(0.2)
        over.set()
        doubts = await acting
        await clients.verify()
        assert clients.acknowledged > before
        pauses.append(f"{fault.__name__}: serves after {pause:.2f} s, {doubts} in doubt")
    await verify_rows(gateway, clients)
    return pauses


@pytest.mark.parametrize("number", [len(FAULTS), pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
async def test_what_was_acknowledged_survives_the_faults_of_the_database(
    tmp_path: Path, own: Callable[[Cluster], Cluster], number: int
):
    seed = random.SystemRandom().randrange(1_000_000)
    rng = random.Random(seed)
    faults = [FAULTS[at % len(FAULTS)] for at in range(number)]
    rng.shuffle(faults)
    cluster = own(await Cluster.start())
    try:
        async with (
            running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
            crowd(gateway, AGENTS, seed) as clients,
        ):
            print(f"seed {seed}", *await survives(cluster, gateway, clients, rng, faults), sep="\n")  # noqa: T201
            assert "stores nothing any more" not in gateway.log.read_text()
    finally:
        cluster.stop()


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a small file system; skip the test where that is not allowed."""
    folder = Path(tempfile.mkdtemp(prefix="parley-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={SPARE_MIB}m,mode=0777", "tmpfs", str(folder)]
    try:
        folder.chmod(0o755)  # the server runs as another user
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this account may not mount a file system")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
    finally:
        folder.rmdir()


def refusals(clients: Crowd) -> int:
    """Count the chats that were refused because nothing could be stored."""
    return sum(code != OFFLINE for talk in clients.talks for code in talk.refused.values())


def fill(disk: Path) -> Path:
    """Write a file, or more of it, until no byte is left."""
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65_536)
        except OSError:
            pass
        try:
            while True:
                file.write(b"\0")
        except OSError:
            pass
    return ballast


@pytest.mark.parametrize("times", [2, pytest.param(8, marks=pytest.mark.soak)])
async def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path, own: Callable[[Cluster], Cluster], times: int):
    with small_disk() as disk:
        cluster = own(await Cluster.start(SMALL, disk))
        try:
            async with (
                running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
                crowd(gateway, AGENTS, 5) as clients,
            ):
                for _ in range(times):
                    over, refused = asyncio.Event(), refusals(clients)
                    acting = asyncio.create_task(clients.act(lambda over=over: not over.is_set()))
                    await asyncio.sleep(0.3)
                    ballast = fill(disk)
                    await asyncio.sleep(2)
                    while refusals(clients) == refused and not acting.done():  # also on a slow machine
                        fill(disk)  # a checkpoint gives room back
                        await asyncio.sleep(0.05)
                    ballast.unlink()
                    await cluster.ensure_up()  # it gives up where it can't recover
                    pause = await served_again(cluster, clients, acting)
                    over.set()
                    await acting
                    await clients.verify()
                    print(f"serves after {pause:.2f} s")  # noqa: T201
                    assert refusals(clients) > refused
                await verify_rows(gateway, clients)
        finally:
            cluster.stop()
