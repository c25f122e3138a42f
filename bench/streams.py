"""Streams of one zone to many readers: completeness, order and lag.

The gateway is a process of its own, and so are the readers: raw connections whose bytes are read with one regular
expression. A message carries the time at which it was sent, of the clock that all processes of a machine share; its
lag is the time until a reader has it. Posts are sent on schedule whether or not earlier ones have been answered.
Messages of the first seconds aren't timed, but must arrive as well.
"""

import asyncio
import multiprocessing
import re
import resource
import tempfile
import time
from array import array
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import orjson
import uvloop

from bench.bare_echo import PATH
from bench.report import BenchError, percentile, say, table
from bench.servers import Server, gateway

READERS = (100, 1_000)
RATE = 200
"""Messages per second."""
WARM_UP_S = 2.0
PATIENCE_S = 20.0
"""Time limit for the last message after it was sent, and for the start of a stream."""
DOMAIN, AGENT, PASSWORD = "bench-domain", "bench-agent", "correct horse battery"
TEXT = "The lantern at the harbour is lit from dusk to dawn, as the keeper wrote."

_message = re.compile(rb'\ndata: \{"type":"message".*?"content":"(\d+) .*?"seq":(\d+),')


@dataclass(frozen=True, slots=True)
class Following:
    """A task for readers: the zone to follow, and the expected messages 1 to `last`, timed from `first_timed` on."""

    address: tuple[str, int]
    request: bytes
    readers: int
    first_timed: int
    last: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Followed:
    """The readers' result; lags are in ms, over all readers and timed messages."""

    p50: float
    p99: float
    longest: float
    received: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Phase:
    """The result for a number of readers: their lags, and the gateway's processor time and memory in MiB."""

    readers: int
    followed: Followed
    cpu: float
    readers_cpu: float
    posted_p99: float
    before: float
    following: float
    after: float


def measure(seconds: float) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: a reader missed a message or had one out of order, a request was refused, a stream ended.
    """
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder, gateway(Path(folder)) as server:
        phases = asyncio.run(_measure(server, seconds))
    table(
        f"Streams: readers of one zone, {RATE} messages/s for {seconds:g} s; from just before a post to its receipt",
        ["", "lag p50 ms", "p99 ms", "longest", "post p99 ms", "gateway", "readers", "RSS MiB before", "with", "after"],
        [
            [
                f"{phase.readers:,} readers",
                *(f"{lag:.0f}" for lag in (phase.followed.p50, phase.followed.p99, phase.followed.longest)),
                f"{phase.posted_p99:.1f}",
                *(f"{share:.0%} of a core" for share in (phase.cpu, phase.readers_cpu)),
                *(f"{rss:.0f}" for rss in (phase.before, phase.following, phase.after)),
            ]
            for phase in phases
        ],
    )
    say("")
    received = sum(phase.followed.received for phase in phases)
    say(f"{received:,} messages were received, by every reader each of them once and in order")


async def _measure(server: Server, seconds: float) -> list[Phase]:
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as http:
        speaker = Speaker(http, server.base)
        await speaker.set_up()
        return [await _phase(server, speaker, readers, seconds) for readers in READERS]


async def _phase(server: Server, speaker: "Speaker", readers: int, seconds: float) -> Phase:
    """Post in a new zone that this number of readers follow."""
    zone = f"zone-{readers}"
    await speaker.send("ZN_Create", target={"domain": DOMAIN}, vx={"name": zone})
    before = server.rss_mib()
    timed, untimed = round(RATE * seconds), round(RATE * WARM_UP_S)
    address = urlsplit(server.base)
    following = Following(
        (address.hostname or "", address.port or 0),
        speaker.request_to_follow(zone),
        readers,
        untimed + 1,
        untimed + timed,
        WARM_UP_S + seconds + PATIENCE_S,
    )
    with _reading(following) as pipe:
        await _said(pipe)  # every stream has begun
        with_readers = server.rss_mib()
        started = time.monotonic()
        await speaker.post(zone, untimed, started)
        cpu, since = server.cpu_s(), time.monotonic()
        took = await speaker.post(zone, timed, started + WARM_UP_S)
        share = (server.cpu_s() - cpu) / (time.monotonic() - since)
        followed: Followed = await _said(pipe)
    await asyncio.sleep(1)
    readers_cpu = followed.cpu_s / (WARM_UP_S + seconds)
    return Phase(readers, followed, share, readers_cpu, percentile(took, 99), before, with_readers, server.rss_mib())


class Speaker:
    """Posts messages as one user with one session."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self._http = http
        self._url = base + PATH
        self._token = ""

    async def send(self, service: str, **body: Any) -> Any:
        """Send a command; return its answer.

        Raises:
            BenchError: it was refused.
        """
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        data = orjson.dumps({"service": service, **body})
        headers["Content-Type"] = "application/json"
        async with self._http.post(self._url, data=data, headers=headers) as response:
            answer = orjson.loads(await response.read())
        if response.status != 200:
            raise BenchError(f"{service} was answered {answer['status']}")
        return answer

    async def set_up(self) -> None:
        """Register, log on, and found a domain."""
        await self.send("US_Create", vx={"name": "bench-user", "secret": PASSWORD})
        answer = await self.send("US_LogOn", target={"user": "bench-user"}, vx={"secret": PASSWORD})
        self._token = answer["content"][0]["token"]
        await self.send("AP_Create", vx={"name": AGENT, "description": "Founds the domain"})
        await self.send("DM_Create", target={"agent": AGENT}, vx={"name": DOMAIN, "description": "Where many listen"})

    def request_to_follow(self, zone: str) -> bytes:
        """Return the request for a zone's stream."""
        body = orjson.dumps({"target": {"domain": DOMAIN, "zone": zone}})
        head = f"POST {PATH}/zone/stream HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer {self._token}\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    async def post(self, zone: str, count: int, started: float) -> list[float]:
        """Post a number of messages on schedule; return the time to each acknowledgement in ms."""
        posts: list[asyncio.Task[float]] = []
        for number in range(count):
            await asyncio.sleep(started + number / RATE - time.monotonic())
            posts.append(asyncio.create_task(self._post(zone)))
        return await asyncio.gather(*posts)

    async def _post(self, zone: str) -> float:
        sent = time.monotonic_ns()
        await self.send("ZN_Post", target={"domain": DOMAIN, "zone": zone}, content=f"{sent} {TEXT}")
        return (time.monotonic_ns() - sent) / 1e6


@contextmanager
def _reading(following: Following) -> Generator[Connection]:
    """Run readers in a process of their own, which reports through a pipe."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_read_all, args=(following, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()


async def _said(pipe: Connection) -> Any:
    """Return the next report of the readers' process.

    Raises:
        BenchError: a reader failed, or the process ended without a report.
    """
    try:
        said = await asyncio.to_thread(pipe.recv)
    except EOFError:
        raise BenchError("the readers' process broke off") from None
    if isinstance(said, str):
        raise BenchError(said)
    return said


# in the readers' process


def _read_all(following: Following, pipe: Connection) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_follow(following, pipe))
        except (BenchError, OSError) as error:
            pipe.send(str(error))


async def _follow(following: Following, pipe: Connection) -> None:
    """Open all streams and report; wait for the last message of all and report the result."""
    loop = asyncio.get_running_loop()
    crowd = Crowd(following)
    for _ in range(following.readers):
        await loop.create_connection(lambda: Reader(crowd), *following.address)
    await crowd.wait(crowd.begun, PATIENCE_S, "their streams")
    pipe.send(None)
    cpu = time.process_time()
    await crowd.wait(crowd.done, following.limit_s, "all messages")
    cpu = time.process_time() - cpu
    lags = sorted(crowd.lags)
    received = following.readers * following.last
    pipe.send(Followed(percentile(lags, 50), percentile(lags, 99), lags[-1], received, cpu))


class Crowd:
    """The state of all readers: the numbers that have begun and ended, and their lags in ms."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self.begun = asyncio.Semaphore(0)
        self.done = asyncio.Semaphore(0)
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lags = array("d")
        self._known: tuple[bytes, list[tuple[int, int]]] = b"", []

    def fail(self, what: str) -> None:
        """Record the failure of a reader, which ends the run."""
        if not self.failed.done():
            self.failed.set_exception(BenchError(what))

    def messages_in(self, data: bytes) -> list[tuple[int, int]]:
        """Return seq and time of each message in received bytes; cached, because readers mostly receive the same."""
        if data != self._known[0]:
            self._known = data, [(int(seq), int(sent)) for sent, seq in _message.findall(data)]
        return self._known[1]

    async def wait(self, all_of_them: asyncio.Semaphore, limit_s: float, what: str) -> None:
        """Wait until all readers have reached this state.

        Raises:
            BenchError: one failed, or some were too late.
        """
        here = 0

        async def count() -> None:
            nonlocal here
            while here < self.following.readers:
                await all_of_them.acquire()
                here += 1

        counting = asyncio.create_task(count())
        await asyncio.wait((counting, self.failed), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if self.failed.done():
            self.failed.result()
        if not counting.done():
            raise BenchError(f"only {here} of {self.following.readers} readers had {what} in time")


class Reader(asyncio.Protocol):
    """One stream; it checks that every message arrives once and in order."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._rest = b""
        self._seq = 0
        self._has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast(asyncio.WriteTransport, transport).write(self._crowd.following.request)

    def data_received(self, data: bytes) -> None:
        """Handle complete events and keep the rest."""
        now, crowd = time.monotonic_ns(), self._crowd
        if self._rest:
            data = self._rest + data
        end = data.rfind(b"\n\n") + 2
        self._rest = b"" if data.endswith(b"\n\n\r\n") else data[end:] if end > 1 else data
        if end == 1:
            return
        if not self._has_begun:
            if not data.startswith(b"HTTP/1.1 200 "):
                crowd.fail(f"a reader was answered {data[:200]!r}")
            self._has_begun = True
            crowd.begun.release()
        first_timed = crowd.following.first_timed
        for seq, sent in crowd.messages_in(data[:end]):
            if seq != self._seq + 1:
                crowd.fail(f"a reader had message {seq} after {self._seq}")
            self._seq = seq
            if seq >= first_timed:
                crowd.lags.append((now - sent) / 1e6)
        if self._seq == crowd.following.last:
            crowd.done.release()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record a failure, because no stream ends by itself."""
        self._crowd.fail(f"a stream ended after message {self._seq}: {exc or 'no error'}")
