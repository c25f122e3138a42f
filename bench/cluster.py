"""Chats on 1, 2 and 3 nodes, and the cost of a hop: requests per second, and processor time of each kind of process.

The clusters of 1, 2 and 3 nodes run for the whole time, each with a database of its own in one PostgreSQL and a NATS
server of its own; they are loaded in turn. Each is measured under the load of one node, spread evenly over its nodes,
and under a load that grows with it: as many users and connections for each node as one node has. Every user sends
through every node, so of n nodes only one request in n arrives at its home. Then the load that grows goes through
HAProxy with the configuration of deploy/, which sends each user to its home. The hop is measured in the cluster of two:
the same users through the node that is their home, and through the other one.
"""

import asyncio
import shutil
import statistics
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from actors.runtime.cluster.shards import shard_of
from actors.sessions.tokens import token_hash
from bench.commands import commands_to
from bench.http import CONNECTIONS, PLAN, QUESTION, SESSIONS, Load, Run, write_chats, write_lines
from bench.private_postgres import private_postgres, stored_in
from bench.report import BenchError, say, table, verdict
from bench.servers import Server, cpu_s_of_tree, gateway
from tests.support.haproxy import NoHaproxy, in_front_of
from tests.support.nats import NatsServer, NoNats
from tests.support.postgres import Cluster as Postgres

SIZES = (1, 2, 3)
OF_HOP = 2
"""The size of the cluster in which the hop is measured."""
NODES_MARK = 1.35
"""The largest multiple of one node's processor time for a chat that three nodes should take."""
HOP_CPU_MARK = 100.0
"""The processor time in µs, over all processes, that a chat through another node should take at most in addition."""
HOP_P50_MARK = 1.0
"""The time in ms that a chat through another node should take at most in addition, with one client."""


class Cpu(NamedTuple):
    """Processor time by kind of process, in s so far or in µs for each request."""

    nodes: float
    postgres: float
    nats: float
    proxy: float

    @property
    def total(self) -> float:
        """The time of all processes."""
        return sum(self)


@dataclass(slots=True)
class Nodes:
    """The nodes of one cluster, HAProxy, their NATS server, the PostgreSQL of all clusters, and the users' tokens."""

    nodes: list[Server]
    proxy: Server
    nats: NatsServer
    postgres: Postgres
    folder: Path
    tokens: list[str]

    def cpu(self) -> Cpu:
        """Return the processor time so far, in s."""
        nats = Server("", self.nats.pid).cpu_s()
        nodes = sum(node.cpu_s() for node in self.nodes)
        return Cpu(nodes, cpu_s_of_tree(self.postgres.pid), nats, self.proxy.cpu_s())

    def load(self, node: Server, tokens: list[str], name: str, connections: int) -> Load:
        """Return chats of users through one node."""
        file, chats = self.folder / f"tokens-{name}", self.folder / "chats"
        write_lines(file, tokens)
        write_chats(chats, [QUESTION])
        return Load(node, file, chats, connections)


class Measured(NamedTuple):
    """Runs at the same time, together: chats per second, processor time in µs of a chat, and the median p50 in ms."""

    rate: float
    cpu: Cpu
    p50: float


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk, PostgreSQL, NATS or HAProxy is missing, a request was refused, or a connection failed.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with (
        tempfile.TemporaryDirectory(prefix="parley-bench-") as folder,
        private_postgres() as postgres,
        ExitStack() as stack,
    ):
        clusters = {size: stack.enter_context(_running(postgres, Path(folder), size)) for size in SIZES}
        _measure_sizes(clusters, seconds, rounds)
        _measure_hop(clusters[OF_HOP], seconds, rounds)


@contextmanager
def _running(postgres: Postgres, folder: Path, size: int) -> Generator[Nodes]:
    """Run a cluster with its users."""
    own = folder / str(size)
    own.mkdir()
    try:
        nats = NatsServer({"max_payload": "8MB"})
    except NoNats as missing:
        raise BenchError(str(missing)) from None
    asyncio.run(nats.up())
    try:
        settings = stored_in(asyncio.run(postgres.database(f"bench{size}"))) | {"PARLEY_NATS_URL": nats.url}
        with ExitStack() as stack:
            nodes = [
                stack.enter_context(gateway(own / f"n{number}", PARLEY_NODE_NAME=f"n{number}", **settings))
                for number in range(size)
            ]
            asyncio.run(_wait_for_even_shards(postgres, f"bench{size}", size))
            tokens = asyncio.run(_set_up(nodes[0].base, SESSIONS * size))
            try:
                proxy = stack.enter_context(in_front_of({f"n{at}": node.base for at, node in enumerate(nodes)}))
            except NoHaproxy as missing:
                raise BenchError(str(missing)) from None
            yield Nodes(nodes, Server(proxy.base, proxy.pid), nats, postgres, own, tokens)
    finally:
        asyncio.run(nats.stop())


async def _set_up(base: str, users: int) -> list[str]:
    async with commands_to(base) as commands:
        return await commands.crowd([f"talker-{number:03}" for number in range(users)], PLAN)


OWNERS = "SELECT shards.id, owner FROM shards JOIN nodes ON nodes.id = owner"


async def _wait_for_even_shards(postgres: Postgres, database: str, size: int) -> None:
    """Wait until every node has its share."""
    connection = await postgres.connect(database)
    try:
        for _ in range(300):
            owners = [row["owner"] for row in await connection.fetch(OWNERS)]
            if len(set(owners)) == size and min(map(owners.count, set(owners))) > len(owners) // (2 * size):
                return
            await asyncio.sleep(0.1)
    finally:
        await connection.close()
    raise BenchError(f"{size} nodes did not share the shards")


def _together(cluster: Nodes, loads: list[Load], seconds: float) -> Measured:
    before = cluster.cpu()
    with ThreadPoolExecutor(len(loads)) as pool:
        under_way = [pool.submit(load.run, seconds) for load in loads]
        runs: list[Run] = [run.result() for run in under_way]
    after = cluster.cpu()
    for run in runs:
        if run.refused or run.broken:
            raise BenchError(f"{run.refused} answers were not 2xx, {run.broken} connections failed")
    chats = sum(run.requests for run in runs)
    cpu = Cpu(*((now - then) / chats * 1e6 for now, then in zip(after, before, strict=True)))
    return Measured(sum(run.rate for run in runs), cpu, statistics.median(run.p50 for run in runs))


class Row(NamedTuple):
    """A cluster under a load."""

    size: int
    connections: int
    """Of each node."""
    users: int
    """Of all nodes."""
    proxied: bool = False
    """Whether HAProxy sends the users to their homes."""

    @property
    def title(self) -> str:
        """The row's name."""
        title = f"{self.size} {'node' if self.size == 1 else 'nodes'}, {self.connections} connections each"
        return f"{title}, HAProxy" if self.proxied else title


ONE, ONE_PROXIED = Row(1, CONNECTIONS, SESSIONS), Row(1, CONNECTIONS, SESSIONS, proxied=True)
ROWS = (
    ONE,
    *(Row(size, CONNECTIONS // size, SESSIONS) for size in SIZES[1:]),
    *(Row(size, CONNECTIONS, SESSIONS * size) for size in SIZES[1:]),
    *(Row(size, CONNECTIONS, SESSIONS * size, proxied=True) for size in SIZES),
)


def _measure_sizes(clusters: dict[int, Nodes], seconds: float, rounds: int) -> None:
    loads = {row: _loads(clusters[row.size], row) for row in ROWS}
    measured: dict[Row, list[Measured]] = {row: [] for row in ROWS}
    for number in range(rounds + 1):
        for row in ROWS if number % 2 else reversed(ROWS):
            measured[row].append(_together(clusters[row.size], loads[row], seconds if number else 1))
        if number:
            say(
                f"round {number} of {rounds}: "
                + ", ".join(f"{row.title} {measured[row][-1].rate:,.0f}/s" for row in ROWS)
            )
    cells: list[list[str]] = []
    for row in ROWS:
        base = measured[ONE_PROXIED if row.proxied else ONE]
        ratio = statistics.median(
            some.cpu.total / one.cpu.total for some, one in zip(measured[row][1:], base[1:], strict=True)
        )
        cells.append(
            [
                row.title,
                f"{_median(measured[row], lambda run: run.rate):,.0f}",
                *_cpu_cells(measured[row]),
                f"{ratio:.2f}",
                verdict(ratio, NODES_MARK, at_most=True) if row.size == max(SIZES) else "",
            ]
        )
    table(
        f"Nodes: AP_Chat of one question, medians of {rounds} rounds",
        ["", "requests/s", "nodes µs", "PostgreSQL µs", "NATS µs", "HAProxy µs", "all µs", "of one", ""],
        cells,
    )


def _loads(cluster: Nodes, row: Row) -> list[Load]:
    """Return the loads of a cluster's nodes, which begin with other users each."""
    share = row.users // row.size
    tokens = cluster.tokens[: row.users]
    if row.proxied:
        return [cluster.load(cluster.proxy, tokens, "proxied", row.connections * row.size)]
    return [
        cluster.load(
            node, tokens[number * share :] + tokens[: number * share], f"{number}-of-{row.users}", row.connections
        )
        for number, node in enumerate(cluster.nodes)
    ]


def _measure_hop(cluster: Nodes, seconds: float, rounds: int) -> None:
    owned = asyncio.run(_tokens_by_owner(cluster))
    home = cluster.nodes[0]
    tokens = next(tokens for node, tokens in owned.items() if node.startswith("n0-"))
    rows: list[list[str]] = []
    for connections in (1, CONNECTIONS):
        near, far = (cluster.load(node, tokens, f"hop-{node.pid}", connections) for node in (home, cluster.nodes[1]))
        runs: dict[str, list[Measured]] = {"near": [], "far": []}
        for number in range(rounds + 1):
            for name, load in (("near", near), ("far", far))[:: 1 if number % 2 else -1]:
                runs[name].append(_together(cluster, [load], seconds if number else 1))
        pairs = list(zip(runs["far"][1:], runs["near"][1:], strict=True))
        cpu = statistics.median(far.cpu.total - near.cpu.total for far, near in pairs)
        p50 = statistics.median(far.p50 - near.p50 for far, near in pairs)
        for name, through in (("near", "its home"), ("far", "another node")):
            rows.append(
                [
                    f"{connections} connections, through {through}"
                    if connections > 1
                    else f"1 connection, through {through}",
                    f"{_median(runs[name], lambda run: run.rate):,.0f}",
                    f"{_median(runs[name], lambda run: run.p50):.2f}",
                    *_cpu_cells(runs[name]),
                    ""
                    if name == "near"
                    else f"+{cpu:.0f} µs {verdict(cpu, HOP_CPU_MARK, at_most=True)}"
                    + (f", +{p50:.2f} ms {verdict(p50, HOP_P50_MARK, at_most=True)}" if connections == 1 else ""),
                ]
            )
    table(
        f"Hop: AP_Chat of one question in a cluster of {OF_HOP}, medians of {rounds} rounds",
        [
            *("", "requests/s", "p50 ms", "nodes µs", "PostgreSQL µs", "NATS µs", "HAProxy µs", "all µs"),
            "more than through its home",
        ],
        rows,
    )


async def _tokens_by_owner(cluster: Nodes) -> dict[str, list[str]]:
    """Return the tokens of one node's users by the node that is their home."""
    connection = await cluster.postgres.connect(f"bench{OF_HOP}")
    try:
        owners = {row["id"]: row["owner"] for row in await connection.fetch(OWNERS)}
        ids = {row["token_hash"]: row["id"] for row in await connection.fetch("SELECT id, token_hash FROM credentials")}
    finally:
        await connection.close()
    found: dict[str, list[str]] = {}
    for token in cluster.tokens[:SESSIONS]:
        found.setdefault(owners[shard_of(ids[token_hash(token)])], []).append(token)
    return found


def _median(measured: list[Measured], figure: Callable[[Measured], float]) -> float:
    return statistics.median(figure(one) for one in measured[1:])


def _cpu_cells(measured: list[Measured]) -> list[str]:
    """Return the medians of the processor times: of nodes, PostgreSQL, NATS, and of all together."""
    times = [(*run.cpu, run.cpu.total) for run in measured[1:]]
    return [f"{statistics.median(column):.0f}" for column in zip(*times, strict=True)]
