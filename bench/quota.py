"""The cost of the quota: requests per second with and without the quota step, and on a plan with a limit.

Two gateways, one of them without the step (`bench/uncounted.py`), take turns of short runs, in reverse order in every
other round. Ratios are taken within a round, and the result is their median with quartiles, because the step takes a
few microseconds, far less than the variation of a shared machine between runs.

Counting costs most if one user alone saturates the gateway: 64 concurrent requests use up a block of 64 at once, and
answers wait until the next block is stored. So it is measured with 64 users of one session each, and with one user of
64 sessions.
"""

import asyncio
import json
import shutil
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.commands import commands_to
from bench.http import QUESTION, SESSIONS, Load, Run
from bench.report import BenchError, say, table, verdict
from bench.servers import INTERNAL_SECRET, Server, gateway

MARK = 0.95
"""The required share of AP_Read's requests per second with the step."""
LIMIT = 10**12

UNCOUNTED_CROWD, CROWD = "64 users: AP_Read, not counted", "64 users: AP_Read"
UNCOUNTED, READ, LIMITED_READ = "one user: AP_Read, not counted", "one user: AP_Read", "one user: AP_Read, with a limit"
CHAT, LIMITED_CHAT = "one user: AP_Chat", "one user: AP_Chat, with a limit"
ORDER = (UNCOUNTED_CROWD, CROWD, UNCOUNTED, READ, LIMITED_READ, CHAT, LIMITED_CHAT)
COMPARED = {CROWD: UNCOUNTED_CROWD, READ: UNCOUNTED, LIMITED_READ: READ, LIMITED_CHAT: CHAT}
MARKED = (CROWD, READ)


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk is missing, or a request was refused.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name:
        folder = Path(name)
        with gateway(folder / "counted") as counted, gateway(folder / "not", "-m", "bench.uncounted") as uncounted:
            loads = asyncio.run(_prepare(folder, counted, uncounted))
            runs: dict[str, list[Run]] = defaultdict(list)
            for number in range(rounds + 1):
                for what in list(loads) if number % 2 else reversed(loads):
                    run = loads[what].run(seconds if number else 1)
                    if run.refused or run.broken:
                        raise BenchError(f"{what}: {run.refused} answers not 2xx, {run.broken} connections failed")
                    if number:  # the first round warms up
                        runs[what].append(run)
    _print(runs)


async def _prepare(folder: Path, counted: Server, uncounted: Server) -> dict[str, Load]:
    """Set up the users with their sessions and agents, and write their requests."""
    loads: dict[str, Load] = {}
    for server, what in ((uncounted, UNCOUNTED_CROWD), (counted, CROWD)):
        names = [f"crowd-{number:02}" for number in range(SESSIONS)]
        async with commands_to(server.base) as commands:
            found = await asyncio.gather(*(commands.sessions(f"user-of-{name}", [name]) for name in names))
        sent = _file(folder, f"{what}-tokens", [token for (token,) in found])
        reads = [_line(service="AP_Read", target={"agent": name}) for name in names]
        loads[what] = Load(server, sent, _file(folder, f"{what}-reads", reads))
    for server, user in ((uncounted, "uncounted"), (counted, "boundless"), (counted, "limited")):
        names = [f"{user}-{number:02}" for number in range(SESSIONS)]
        async with commands_to(server.base) as commands:
            tokens = await commands.sessions(user, names)
            if user == "limited":
                path = f"{server.base}/api/admin/users/{user}/plan"
                plan = {"plan": "enterprise", "limit": LIMIT}
                headers = {"X-Internal-Secret": INTERNAL_SECRET}
                async with commands.http.put(path, json=plan, headers=headers) as response:
                    if response.status != 200:
                        raise BenchError(f"the plan was answered {await response.text()}")
        reads = [_line(service="AP_Read", target={"agent": name}) for name in names]
        sent = _file(folder, f"{user}-tokens", tokens)
        read = Load(server, sent, _file(folder, f"{user}-reads", reads))
        chat = Load(server, sent, _file(folder, f"{user}-chats", [_line(service="AP_Chat", content=QUESTION)]))
        match user:
            case "uncounted":
                loads[UNCOUNTED] = read
            case "boundless":
                loads |= {READ: read, CHAT: chat}
            case _:
                loads |= {LIMITED_READ: read, LIMITED_CHAT: chat}
    return {what: loads[what] for what in ORDER}


def _line(**body: Any) -> str:
    return json.dumps(body, separators=(",", ":"))


def _file(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return path


def _print(runs: dict[str, list[Run]]) -> None:
    rows: list[list[str]] = []
    for what, measured in runs.items():
        rate, cpu = (statistics.median(getattr(run, name) for run in measured) for name in ("rate", "cpu"))
        row = [what, f"{rate:,.0f}", f"{cpu:.1f}"]
        if what in COMPARED:
            pairs = list(zip(measured, runs[COMPARED[what]], strict=True))
            low, share, high = statistics.quantiles([run.rate / other.rate for run, other in pairs], n=4)
            work = statistics.median(run.cpu / other.cpu for run, other in pairs)
            row += [COMPARED[what], f"{share:.3f}", f"{low:.3f} to {high:.3f}", f"{work:.3f}"]
            row.append(verdict(round(share, 3), MARK) if what in MARKED else "")
        else:
            row += [""] * 5
        rows.append(row)
    table(
        f"Quota: wrk -t1 -c64, medians of {len(runs[READ])} rounds in turn",
        ["", "requests/s", "CPU µs", "compared with", "requests/s", "middle half", "CPU", ""],
        rows,
    )
    say("")
    say("Ratios are of runs of one round; `middle half` is from the lower to the upper quartile.")
