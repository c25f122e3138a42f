"""AP_Chat beside readers of GET /debug/stream: what it costs that operators look.

Runs of the same chats without and with three readers take turns; ratios are taken within a pair. The readers are in a
process of this bench, and the processor time is the gateway's.
"""

import asyncio
import shutil
import socket
import statistics
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from bench.commands import commands_to
from bench.http import PLAN, QUESTION, SESSIONS, Load, Run, write_chats, write_lines
from bench.report import BenchError, say, table, verdict
from bench.servers import INTERNAL_SECRET, Server, gateway

READERS = 3
CPU_MARK = 1.03
"""The largest multiple of a chat's processor time that it should take beside the readers."""


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk is missing, a request was refused, or a reader got no event.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name:
        folder = Path(name)
        with gateway(folder) as parley:
            load = _load(folder, parley)
            load.run(1)
            pairs = [_pair(parley, load, seconds, number) for number in range(rounds)]
    _print(pairs)


def _load(folder: Path, parley: Server) -> Load:
    async def set_up() -> list[str]:
        async with commands_to(parley.base) as commands:
            return await commands.crowd([f"talker-{number:02}" for number in range(SESSIONS)], PLAN)

    tokens, chats = folder / "tokens", folder / "chats"
    write_lines(tokens, asyncio.run(set_up()))
    write_chats(chats, [QUESTION])
    return Load(parley, tokens, chats)


def _pair(parley: Server, load: Load, seconds: float, number: int) -> tuple[Run, Run]:
    """Return the runs without and with readers, which take turns to be first."""

    def run(readers: int) -> Run:
        with _reading(parley, readers):
            measured = load.run(seconds)
        if measured.refused or measured.broken:
            raise BenchError(f"{measured.refused} answers were not 2xx, {measured.broken} connections failed")
        return measured

    if number % 2:
        with_readers = run(READERS)
        return run(0), with_readers
    return run(0), run(READERS)


@contextmanager
def _reading(parley: Server, readers: int) -> Generator[None]:
    """Follow the stream with some connections, which are read as events come."""
    with ExitStack() as stack, ThreadPoolExecutor(READERS) as pool:
        connections = [
            stack.enter_context(closing(HTTPConnection(urlsplit(parley.base).netloc))) for _ in range(readers)
        ]
        for connection in connections:
            connection.request("GET", "/debug/stream", headers={"X-Internal-Secret": INTERNAL_SECRET})
            answer = connection.getresponse()
            if not answer.readline().startswith(b"data: "):
                raise BenchError("a reader got no event")
            pool.submit(_drain, answer)
        try:
            yield
        finally:
            for connection in connections:
                connection.sock.shutdown(socket.SHUT_RDWR)


def _drain(answer: HTTPResponse) -> None:
    while answer.readline():
        pass


def _print(pairs: list[tuple[Run, Run]]) -> None:
    ratios = sorted(beside.cpu / alone.cpu for alone, beside in pairs)
    ratio = statistics.median(ratios)
    rows = [
        [
            name,
            f"{statistics.median(run.rate for run in runs):,.0f}",
            f"{statistics.median(run.cpu for run in runs):.0f}",
        ]
        for name, runs in zip(("without readers", f"beside {READERS} readers"), zip(*pairs, strict=True), strict=True)
    ]
    table(f"AP_Chat of one question beside /debug/stream, {len(pairs)} pairs", ["", "requests/s", "CPU µs"], rows)
    say("")
    judged = verdict(ratio, CPU_MARK, at_most=True)
    say(f"beside readers {ratio:.3f} of the processor time ({ratios[0]:.2f} to {ratios[-1]:.2f}): {judged}")
