"""Webhooks: throughput, latency, the cost of waiting deliveries, and isolation from bad receivers.

The receiver is a process of its own that answers 204 (bench/bare_receiver.py). The gateway's core runs without its HTTP
side in a fresh process for each measurement, and so does the yardstick: aiohttp posting the same bodies to the same
receiver in as many loops as the core has attempts in flight, storing nothing. Only figures of one round are compared.
"""

import asyncio
import secrets
import socket
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from yarl import URL

from actors.core import Core, CoreOptions, WebhookOptions
from actors.egress.outbound import Outbound
from actors.engines.recall import RecallEngine
from actors.ids import new_id, system_clock
from actors.sealing import Sealer
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, CreateEndpoint, SendTest, Wake
from actors.webhooks.schedule import MAX_IN_FLIGHT
from actors.wire import iso
from bench.population import in_own_process
from bench.report import BenchError, percentile, rss_mib, say, table, verdict
from bench.servers import bare_receiver
from config.tuning import tune
from persistence import users
from persistence.sqlite.store import SqliteStore
from persistence.store import Unit
from persistence.users import UserRow

USER = "usr_" + 32 * "0"
ENDPOINTS = 4
EVENTS = 2_500
"""Number of events in the throughput runs; each goes to all endpoints."""
RATE = 300
"""Events per second for the measurement of latency."""
WAITING = 100_000
DATA: dict[str, Any] = {
    "user_id": USER,
    "deployment_id": "agt_" + 32 * "0",
    "action": "updated",
    "agent": "scout",
    "data": {},
}

THROUGHPUT_MARK = 0.5
LATENCY_MARK_MS = 25.0
MEMORY_MARK_MIB = 100.0
ISOLATION_MARK = 2.0

Noted = list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Latencies:
    """The latency from commit to receiver in ms, and the memory of the process."""

    p50: float
    p99: float
    before_mib: float
    after_mib: float


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: an event did not arrive, or a row does not say so.
    """
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name, bare_receiver(Path(name)) as receiver:
        base = receiver.base
        _throughput(base, Path(name), rounds)
        _latency(base, Path(name), seconds)
        _isolation(base, Path(name), seconds, rounds)


def _throughput(base: str, folder: Path, rounds: int) -> None:
    rows: list[list[str]] = []
    shares: list[float] = []
    for number in range(rounds):
        bare, bare_us = in_own_process(_post_all, base)
        durable, durable_us = in_own_process(_deliver_all, base, folder / f"throughput-{number}.db")
        shares.append(durable / bare)
        figures = [f"{bare:,.0f}", f"{bare_us:.0f}", f"{durable:,.0f}", f"{durable_us:.0f}", f"{durable / bare:.2f}"]
        rows.append([f"round {number + 1}", *figures])
    in_flight = ENDPOINTS * MAX_IN_FLIGHT
    table(
        f"{EVENTS:,} events to {ENDPOINTS} endpoints; up to {in_flight} requests in flight; 1/s",
        ["", "bare aiohttp", "CPU µs", "durable deliveries", "CPU µs", "share"],
        rows,
    )
    share = statistics.median(shares)
    print()
    say(f"share of the bare loop, median: {share:.2f}: {verdict(share, THROUGHPUT_MARK)}")


def _latency(base: str, folder: Path, seconds: float) -> None:
    alone = in_own_process(_at_a_rate, base, folder / "alone.db", seconds, 0, ())
    crowded = in_own_process(_at_a_rate, base, folder / "crowded.db", seconds, WAITING, ())
    table(
        f"{RATE} events/s to one endpoint: from the commit to the receiver",
        ["", "p50 ms", "p99 ms", "RSS MiB before", "RSS MiB after"],
        [
            [what, f"{found.p50:.1f}", f"{found.p99:.1f}", f"{found.before_mib:.0f}", f"{found.after_mib:.0f}"]
            for what, found in (("nothing else waits", alone), (f"{WAITING:,} deliveries wait", crowded))
        ],
    )
    print()
    say(f"p99: {alone.p99:.1f} ms: {verdict(alone.p99, LATENCY_MARK_MS, at_most=True)}")
    say(f"p99 with {WAITING:,} waiting: {crowded.p99:.1f} ms: {verdict(crowded.p99, LATENCY_MARK_MS, at_most=True)}")
    cost = (crowded.after_mib - crowded.before_mib) - (alone.after_mib - alone.before_mib)
    cost = max(cost, crowded.after_mib - alone.after_mib)
    say(f"memory of {WAITING:,} waiting deliveries: {cost:.0f} MiB: {verdict(cost, MEMORY_MARK_MIB, at_most=True)}")


def _isolation(base: str, folder: Path, seconds: float, rounds: int) -> None:
    rows: list[list[str]] = []
    ratios: list[float] = []
    for number in range(rounds):
        without = in_own_process(_at_a_rate, base, folder / f"without-{number}.db", seconds, 0, ())
        bad = (f"{base}/hang", f"http://127.0.0.1:{_closed_port()}/")
        beside = in_own_process(_at_a_rate, base, folder / f"beside-{number}.db", seconds, 0, bad)
        ratios.append(beside.p99 / without.p99)
        rows.append([f"round {number + 1}", f"{without.p99:.1f}", f"{beside.p99:.1f}", f"{ratios[-1]:.2f}"])
    table(
        f"{RATE} events/s to one endpoint, and to two more of which one hangs and one refuses: p99 ms of the first",
        ["", "without the two", "beside them", "ratio"],
        rows,
    )
    print()
    ratio = statistics.median(ratios)
    say(f"ratio, median: {ratio:.2f}: {verdict(ratio, ISOLATION_MARK, at_most=True)}")


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# functions that run in a process of their own


async def _report(base: str) -> Noted:
    async with aiohttp.ClientSession() as session, session.get(f"{base}/report") as response:
        return orjson.loads(await response.read())


async def _post_all(base: str) -> tuple[float, float]:
    """Post the core's deliveries without storing; return requests per second, and processor µs of each."""
    tune()
    await _report(base)
    bodies = [
        (
            endpoint,
            orjson.dumps({"id": secrets.token_hex(18), "type": "webhook.test", "created_at": iso(0), "data": data}),
        )
        for data in ({**DATA, "n": number} for number in range(EVENTS))
        for endpoint in range(ENDPOINTS)
    ]
    waiting = iter(bodies)
    urls = [URL(f"{base}/hook/{endpoint}") for endpoint in range(ENDPOINTS)]
    timeout = aiohttp.ClientTimeout(total=15)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def post() -> None:
            for endpoint, body in waiting:
                headers = {"Content-Type": "application/json"}
                async with session.post(urls[endpoint], data=body, headers=headers) as response:
                    await response.read()
                    if response.status != 204:
                        raise BenchError(f"the receiver answered {response.status}")

        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(post() for _ in range(ENDPOINTS * MAX_IN_FLIGHT)))
        took, cpu = time.perf_counter() - started, time.process_time() - cpu
    _check_arrivals(await _report(base), EVENTS, ENDPOINTS)
    return len(bodies) / took, cpu / len(bodies) * 1e6


@asynccontextmanager
async def _core(path: Path) -> AsyncGenerator[Core]:
    """Run a core with one user; the dispatcher starts with the first `Wake`."""
    store = await SqliteStore.open(path)
    options = CoreOptions(webhooks=WebhookOptions(outbound=Outbound(allow_insecure=True)))
    core = Core(store, RecallEngine(), Sealer(bytes(32)), options)
    if not await store.fetch(users.by_id(USER)):
        await store.commit(Unit((users.insert(UserRow(USER, "bench", None, None, "", "enterprise", None, 0)),)))
    try:
        yield core
    finally:
        await core.close(10)


async def _endpoint(core: Core, url: str) -> None:
    await core.directory.ask("webhooks", USER, CreateEndpoint(url, ("webhook.test",), True, None))


async def _deliver_all(base: str, path: Path) -> tuple[float, float]:
    """Deliver stored events until the last outcome is stored; return the same as `_post_all`."""
    tune()
    await _report(base)
    async with _core(path) as core:
        for endpoint in range(ENDPOINTS):
            await _endpoint(core, f"{base}/hook/{endpoint}")
        for first in range(0, EVENTS, 100):
            await asyncio.gather(*(_emit(core, number) for number in range(first, first + 100)))
        started, cpu = time.perf_counter(), time.process_time()
        await core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake())
        while core.deliveries.states.get("succeeded", 0) < EVENTS * ENDPOINTS or _unstored(core):
            await asyncio.sleep(0.005)
        took, cpu = time.perf_counter() - started, time.process_time() - cpu
    _check_arrivals(await _report(base), EVENTS, ENDPOINTS)
    _check_rows(path, EVENTS * ENDPOINTS)
    return EVENTS * ENDPOINTS / took, cpu / (EVENTS * ENDPOINTS) * 1e6


def _unstored(core: Core) -> int:
    """Return the number of deliveries without a stored outcome."""
    found = core.directory.inspect(DISPATCHER, DISPATCHER_KEY)
    assert found is not None
    return sum(lane["open"] for lane in found[1]["lanes"])


async def _emit(core: Core, number: int) -> int:
    """Emit an event; return the time of its commit."""
    await core.directory.ask("webhooks", USER, SendTest("webhook.test", {**DATA, "n": number}))
    return time.monotonic_ns()


async def _at_a_rate(base: str, path: Path, seconds: float, waiting: int, bad: Sequence[str]) -> Latencies:
    """Emit events at `RATE` and measure the arrival of each at the one good endpoint."""
    async with _core(path) as core:
        for url in bad:
            await _endpoint(core, url)
        await _endpoint(core, f"{base}/hook/0")
        if waiting:
            await _endpoint(core, f"http://127.0.0.1:{_closed_port()}/")
            await _endpoint(core, f"http://127.0.0.1:{_closed_port()}/later")
    if waiting:
        _add_waiting(path, waiting)
    tune()
    before = rss_mib()
    async with _core(path) as core:
        await core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake())
        await asyncio.sleep(1.0)  # opens connections, and the breakers of bad receivers
        for number in range(50):
            await _emit(core, 1_000_000 + number)
        await asyncio.sleep(0.5)
        await _report(base)
        stored: dict[int, int] = {}
        emitting: list[asyncio.Task[None]] = []

        async def emit(number: int) -> None:
            stored[number] = await _emit(core, number)

        started = time.perf_counter()
        count = int(seconds * RATE)
        for number in range(count):
            delay = started + number / RATE - time.perf_counter()
            if delay > 0:
                await asyncio.sleep(delay)
            emitting.append(asyncio.create_task(emit(number)))
        await asyncio.gather(*emitting)
        await asyncio.sleep(0.5)
        after = rss_mib()
        noted = await _report(base)
    arrived = {number: at for _, number, at in noted}
    if arrived.keys() < stored.keys():
        raise BenchError(f"{len(stored.keys() - arrived.keys())} events did not arrive")
    taken = [max(0.0, (arrived[number] - at) / 1e6) for number, at in stored.items()]
    return Latencies(percentile(taken, 50), percentile(taken, 99), before, after)


def _add_waiting(path: Path, count: int) -> None:
    """Add deliveries to the last two endpoints: half are due but undeliverable, half are due in an hour."""
    now = system_clock()
    with closing(sqlite3.connect(path)) as connection, connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM endpoints ORDER BY number DESC LIMIT 2")]
        data = orjson.dumps(DATA).decode()
        connection.executemany(
            "INSERT INTO events (place, id, user_id, type, data, created_at) VALUES (?, ?, ?, 'webhook.test', ?, ?)",
            ((1_000_000 + place, f"waiting-{place}", USER, data, now) for place in range(count)),
        )
        connection.executemany(
            "INSERT INTO deliveries (id, user_id, endpoint, event, state, due, created_at)"
            " VALUES (?, ?, ?, ?, 'retrying', ?, ?)",
            (
                (new_id("dlv"), USER, numbers[place % 2], 1_000_000 + place, now + (place % 2) * 3_600_000, now)
                for place in range(count)
            ),
        )


def _check_arrivals(noted: Noted, events: int, endpoints: int) -> None:
    distinct = {(endpoint, number) for endpoint, number, _ in noted}
    if len(distinct) != events * endpoints:
        raise BenchError(f"{events * endpoints - len(distinct)} deliveries did not arrive")


def _check_rows(path: Path, count: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        ((found, attempts),) = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM attempts WHERE error IS NULL) FROM deliveries"
            " JOIN events ON events.place = deliveries.event WHERE state = 'succeeded' AND type = 'webhook.test'"
        )
    if found != count or attempts < count:
        raise BenchError(f"of {count} deliveries {found} are stored as succeeded, with {attempts} attempts")
