"""Duration of failed log-ons: unknown users compared with wrong passwords, because a difference reveals names."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp

from bench.bare_echo import PATH
from bench.commands import commands_to
from bench.report import BenchError, say, table
from bench.servers import gateway

UNKNOWN, WRONG = "unknown user", "wrong password"


def measure(tries: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: a log-on was answered with anything but 2002.
    """
    # Each attempt comes from an address of its own, so that no throttle applies.
    with (
        tempfile.TemporaryDirectory(prefix="parley-bench-") as name,
        gateway(Path(name), PARLEY_TRUSTED_PROXIES="127.0.0.1") as server,
    ):
        times = asyncio.run(_tries(server.base, tries))
    rows: list[list[str]] = []
    for what, taken in times.items():
        low, median, high = statistics.quantiles(taken, n=4)
        rows.append([what, f"{median:.2f}", f"{low:.2f} to {high:.2f}", f"{min(taken):.2f}", ""])
    table(f"Log-on: {tries} tries of each kind, in turn", ["", "median ms", "middle half", "least", ""], rows)
    ratio = statistics.median(times[UNKNOWN]) / statistics.median(times[WRONG])
    halves = [
        statistics.median(times[WRONG][start::2]) / statistics.median(times[WRONG][1 - start :: 2]) for start in (0, 1)
    ]
    say("")
    say(f"unknown user / wrong password: {ratio:.3f}; every other wrong password / the rest: {max(halves):.3f} (noise)")


async def _tries(base: str, tries: int) -> dict[str, list[float]]:
    """Send failing log-ons of both kinds in turn; return their durations in ms."""
    times: dict[str, list[float]] = {UNKNOWN: [], WRONG: []}
    async with commands_to(base) as commands:
        await commands.sessions("lovelace", [])
        for number in range(2 * tries + 8):
            what, user = ((UNKNOWN, "somebody"), (WRONG, "lovelace"))[number % 2]
            seconds = await _fail(commands.http, base, user, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
            if number >= 8:  # the first ones warm up
                times[what].append(seconds * 1000)
    return times


async def _fail(http: aiohttp.ClientSession, base: str, user: str, address: str) -> float:
    body = {"service": "US_LogOn", "target": {"user": user}, "vx": {"secret": "not the password"}}
    began = time.perf_counter()
    async with http.post(base + PATH, json=body, headers={"X-Forwarded-For": address}) as response:
        answer = await response.json()
    took = time.perf_counter() - began
    if answer["status"]["internal_code"] != 2002:
        raise BenchError(f"a log-on was answered {answer['status']}")
    return took
