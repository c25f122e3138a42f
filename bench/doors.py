"""Doors of open protocols beside AP_Chat: requests per second, and the time until a streamed reply begins.

64 sessions of one user, each with an agent of its own, whose plan has an audit log. A round is a run of each door in
turn; ratios are taken within a round. Chat completions without a history begin a conversation each; with the client's
own id they go on with one. The first piece is timed with one client that asks AP_Chat and the door in turn.
"""

import asyncio
import json
import shutil
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from bench.bare_echo import PATH
from bench.commands import commands_to
from bench.http import QUESTION, Load, Run, write_lines
from bench.report import BenchError, table, verdict
from bench.servers import Server, gateway

SESSIONS = 64
CHAT = "AP_Chat"
RATE_MARK = 0.8
"""The smallest share of AP_Chat's requests per second that chat completions should reach."""
FIRST_PIECE_MARK = 1.5
"""The largest multiple of AP_Chat's time until the first piece that chat completions should take."""
FIRST_PIECES = 300

COMPLETIONS = "/v1/chat/completions"
AGENTS = [f"scout-{number:02}" for number in range(SESSIONS)]


def _completion(agent: str, **more: Any) -> dict[str, Any]:
    return {"model": agent, "messages": [{"role": "user", "content": QUESTION}], **more}


DOORS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    CHAT: (PATH, lambda _: {"service": "AP_Chat", "content": QUESTION}),
    "AP_Chat, target.conversation": (
        PATH,
        lambda agent: {
            "service": "AP_Chat",
            "target": {"agent": agent, "conversation": "default"},
            "content": QUESTION,
        },
    ),
    "chat completions, new": (COMPLETIONS, _completion),
    "chat completions, named": (
        COMPLETIONS,
        lambda agent: _completion(agent, metadata={"conversation_id": f"of-{agent}"}),
    ),
    "responses, new": ("/v1/responses", lambda agent: {"model": agent, "input": QUESTION}),
}
"""The path of each row and the body for an agent."""


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk is missing, or a request was refused.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name:
        folder = Path(name)
        with gateway(folder) as parley:
            tokens = asyncio.run(_set_up(parley.base))
            _print(_rounds(_loads(folder, parley, tokens), seconds, rounds))
            _print_first_pieces(asyncio.run(_first_pieces(parley.base, tokens[0])))


def prepare(folder: Path, parley: Server, bare: Server) -> dict[str, Load]:
    """Set up the sessions and write their requests, for bench/pairs.py."""
    del bare
    return _loads(folder, parley, asyncio.run(_set_up(parley.base)))


async def _set_up(base: str) -> list[str]:
    async with commands_to(base) as gateway:
        return await gateway.sessions("bench-user", AGENTS)


def _loads(folder: Path, parley: Server, tokens: list[str]) -> dict[str, Load]:
    who = folder / "tokens"
    write_lines(who, tokens)
    loads: dict[str, Load] = {}
    for number, (name, (path, body)) in enumerate(DOORS.items()):
        bodies = folder / f"bodies-{number}"
        # as many as tokens, so that each session asks its own agent
        write_lines(bodies, [json.dumps(body(agent), separators=(",", ":")) for agent in AGENTS])
        loads[name] = Load(parley, who, bodies, path=path)
    return loads


def _rounds(loads: dict[str, Load], seconds: float, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = defaultdict(list)
    for _ in range(rounds):
        for name, load in loads.items():
            load.run(1)  # reads the conversations that the row before has pushed out of memory
            run = load.run(seconds)
            if run.refused or run.broken:
                raise BenchError(f"{name}: {run.refused} answers were not 2xx, {run.broken} connections failed")
            runs[name].append(run)
    return runs


def _print(runs: dict[str, list[Run]]) -> None:
    rows: list[list[str]] = []
    for name, measured in runs.items():
        share = statistics.median(run.rate / chat.rate for run, chat in zip(measured, runs[CHAT], strict=True))
        rate, p50, cpu = (statistics.median(getattr(run, what) for run in measured) for what in ("rate", "p50", "cpu"))
        told = verdict(share, RATE_MARK) if name.startswith("chat completions") else ""
        rows.append([name, f"{rate:,.0f}", f"{p50:.2f}", f"{cpu:.0f}", f"{share:.2f}", told])
    head = ["", "requests/s", "p50 ms", "CPU µs", "of AP_Chat", ""]
    table(f"Doors: wrk -t1 -c{SESSIONS}, medians of {len(runs[CHAT])} rounds", head, rows)


# streams


async def _first_pieces(base: str, token: str) -> dict[str, list[float]]:
    """Time the first piece of streamed replies in turn, in ms."""
    asked = {
        CHAT: (PATH, {"service": "AP_Chat", "content": QUESTION}, b"event: delta"),
        "chat completions": (COMPLETIONS, _completion(AGENTS[0], stream=True), b'"content":"'),
    }
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(FIRST_PIECES):
        for name, (path, body, piece) in asked.items():
            times[name].append(await _first_piece(base, token, path, body, piece))
    return times


async def _first_piece(base: str, token: str, path: str, body: dict[str, Any], piece: bytes) -> float:
    address, sent = urlsplit(base), json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nAccept: text/event-stream\r\nConnection: close\r\n"
        f"Content-Length: {len(sent)}\r\n\r\n"
    )
    started = perf_counter()
    writer.write(head.encode() + sent)
    try:
        await asyncio.wait_for(reader.readuntil(piece), 10)
    except (asyncio.IncompleteReadError, TimeoutError) as error:
        raise BenchError(f"{path} streamed no piece: {error}") from None
    finally:
        writer.close()
    return (perf_counter() - started) * 1000


def _print_first_pieces(times: dict[str, list[float]]) -> None:
    chat = statistics.median(times[CHAT])
    rows: list[list[str]] = []
    for name, measured in times.items():
        p50 = statistics.median(measured)
        told = "" if name == CHAT else verdict(p50 / chat, FIRST_PIECE_MARK, at_most=True)
        rows.append([name, f"{p50:.2f}", f"{p50 / chat:.2f}", told])
    table(f"First pieces of {FIRST_PIECES} streamed replies each, in turn", ["", "p50 ms", "of AP_Chat's", ""], rows)
