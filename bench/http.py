"""Requests per second of durable AP_Chat and AP_Read, compared with a bare Sanic echo of the same bodies.

One `wrk` thread with 64 connections, one server process each. A round is eight short runs: echo of the reads' bodies,
AP_Read, echo of the chats' bodies, AP_Chat with everyday talk, AP_Chat with one question over and over; then, by 64
sessions of one user whose plan has an audit log: AP_Chat with one question, AP_Chat of all in one zone, MB_Recall in
one bank. Only figures of one round are compared, because the machine may be slower in the next; the result is the
median over the rounds.

Everyday talk is the row that counts: people's sentences, of which none is said twice in a conversation, so an agent's
knowledge changes all the time and no answer is remembered. No question is asked twice of the bank, either.
"""

import asyncio
import json
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bare_echo import PATH
from bench.commands import commands_to
from bench.messages import everyday_questions, everyday_statements, spoken_messages
from bench.report import BenchError, say, table, verdict
from bench.servers import CHECKOUT, Server, bare_echo, gateway

CONNECTIONS = 64
SESSIONS = 64
"""Number of sessions, each with its own selected agent, and so of concurrent conversations."""
PLAN = "builder"
"""The plan of the 64 users who read and of the 64 who chat: 10,000 requests a day each, counted, and no audit log."""
BODIES = 2_767
"""Number of distinct messages; a prime, so that a session sends each once in its first 2,767 requests."""
QUESTIONS = 100_003
"""Number of distinct questions to the bank; more than a run sends, and each run goes on where the last one ended."""
QUESTION = "Who keeps the notes of the week, and how many of them are there?"
"""A question that the agents' descriptions answer."""
DOMAIN, BANK, HOST = "bench-domain", "bench-bank", "bench-host"


BARE_READ = "bare echo of reads"
READ = "AP_Read"
BARE_CHAT = "bare echo of chats"
CHAT = "AP_Chat, durable, one question"
VARIED_CHAT = "AP_Chat, durable, everyday talk"
AUDITED_CHAT = "AP_Chat, one question, one user, audited"
ZONE_CHAT = "AP_Chat in one zone, one user, audited"
RECALL = "MB_Recall of 1,000 memories"
MEMORIES = 1_000
YARDSTICKS = {
    READ: BARE_READ,
    VARIED_CHAT: BARE_CHAT,
    CHAT: BARE_CHAT,
    AUDITED_CHAT: BARE_CHAT,
    ZONE_CHAT: BARE_CHAT,
    RECALL: BARE_CHAT,
}
"""The row that each row is compared with."""
MARKS = {READ: 0.6, VARIED_CHAT: 0.4, CHAT: 0.44, ZONE_CHAT: 0.3, RECALL: 0.25}
"""The smallest share of the yardstick's requests per second that a row should reach."""
P99_MARKS = {READ: 4.0, VARIED_CHAT: 4.0, CHAT: 4.0, RECALL: 10.0}
"""The largest multiple of the yardstick's p99 that a row should have."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run of wrk; times are in ms."""

    requests: int
    rate: float
    p50: float
    p99: float
    cpu: float
    """Processor time of the server's process per request, in µs; other load of the machine hardly changes it."""
    refused: int
    """Number of answers other than 2xx."""
    broken: int
    """Number of failed connections and time-outs."""


@dataclass(slots=True)
class Load:
    """A server with the files of tokens and bodies for it; each run goes on with the bodies after the last one's."""

    server: Server
    tokens: Path
    bodies: Path
    connections: int = CONNECTIONS
    sent: int = 0
    path: str = PATH

    def run(self, seconds: float) -> Run:
        """Send requests over all connections for some seconds."""
        command = ["wrk", "-t1", f"-c{self.connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s"]
        command += [
            "-s",
            str(CHECKOUT / "bench" / "wrk.lua"),
            self.server.base + self.path,
            "--",
            str(self.tokens),
            str(self.bodies),
            str(self.sent),
        ]
        cpu_before = self.server.cpu_s()
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=False)
        _, found, result = ended.stdout.partition("RESULT ")
        if ended.returncode or not found:
            raise BenchError(f"wrk ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        said = json.loads(result)
        self.sent += said["requests"] + self.connections  # those under way at the end included
        return Run(
            requests=said["requests"],
            rate=said["requests"] / said["duration"] * 1e6,
            p50=said["p50"] / 1000,
            p99=said["p99"] / 1000,
            cpu=(self.server.cpu_s() - cpu_before) / max(1, said["requests"]) * 1e6,
            refused=said["refused"],
            broken=said["broken"],
        )


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk is missing, a request was refused, or rows are missing.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name:
        folder = Path(name)
        with gateway(folder) as parley, bare_echo(folder) as bare:
            loads = prepare(folder, parley, bare)
            runs = _rounds(loads, seconds, rounds)
        _print(runs)
        with closing(sqlite3.connect(f"file:{folder / 'data' / 'parley.db'}?mode=ro", uri=True)) as connection:
            stored = connection.execute(COUNT_MESSAGES).fetchone()
        require_stored(stored, runs[VARIED_CHAT] + runs[CHAT] + runs[AUDITED_CHAT])


def prepare(folder: Path, parley: Server, bare: Server) -> dict[str, Load]:
    """Set up the sessions and write their requests; return them in the order of a round."""
    chat, chats, reads = folder / "chat", folder / "chats", folder / "reads"
    zone_chat, recalls = folder / "zone-chat", folder / "recalls"
    files = readers, talkers, askers, sessions = tuple(
        folder / f"tokens-of-{who}" for who in ("readers", "talkers", "askers", "sessions")
    )
    names = [f"reader-{number:02}" for number in range(SESSIONS)]
    for file, tokens in zip(files, asyncio.run(_set_up(parley.base, names)), strict=True):
        write_lines(file, tokens)
    chat.write_text(_line(service="AP_Chat", content=QUESTION), encoding="ascii")
    write_chats(chats, spoken_messages(BODIES))
    zone_chat.write_text(
        _line(service="AP_Chat", target={"domain": DOMAIN, "agent": HOST}, content=QUESTION), encoding="ascii"
    )
    write_recalls(recalls, BANK, everyday_questions(QUESTIONS))
    reads.write_text(
        "".join(_line(service="AP_Read", target={"agent": names[place % SESSIONS]}) for place in range(BODIES)),
        encoding="ascii",
    )
    return {
        BARE_READ: Load(bare, readers, reads),
        READ: Load(parley, readers, reads),
        BARE_CHAT: Load(bare, talkers, chat),
        VARIED_CHAT: Load(parley, talkers, chats),
        CHAT: Load(parley, askers, chat),
        AUDITED_CHAT: Load(parley, sessions, chat),
        ZONE_CHAT: Load(parley, sessions, zone_chat),
        RECALL: Load(parley, sessions, recalls),
    }


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines for wrk.lua."""
    file.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def write_chats(file: Path, messages: Iterable[str]) -> None:
    """Write messages as bodies of AP_Chat."""
    file.write_text("".join(_line(service="AP_Chat", content=text) for text in messages), encoding="ascii")


def write_recalls(file: Path, bank: str, questions: Iterable[str]) -> None:
    """Write questions to a bank as bodies of MB_Recall."""
    target = {"bank": bank}
    file.write_text(
        "".join(_line(service="MB_Recall", target=target, content=text) for text in questions), encoding="ascii"
    )


def _line(**body: Any) -> str:
    return json.dumps(body, separators=(",", ":")) + "\n"


async def _set_up(base: str, readers: list[str]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Register readers, talkers, askers, and one user with many sessions, a zone and a bank; return their tokens."""
    async with commands_to(base) as gateway:
        send = gateway.send
        reading = await gateway.crowd(readers, PLAN)
        talking = await gateway.crowd([f"talker-{number:02}" for number in range(SESSIONS)], PLAN)
        asking = await gateway.crowd([f"asker-{number:02}" for number in range(SESSIONS)], PLAN)
        tokens = await gateway.sessions("bench-user", [f"scout-{number:02}" for number in range(SESSIONS)])
        owner = tokens[0]
        # The agents of the other rows have neither domain nor bank.
        await send("AP_Create", owner, vx={"name": HOST, "description": "Keeps the notes of the week, one of many."})
        await send("AP_LogOn", owner, target={"agent": HOST})
        await send("DM_Create", owner, target={"agent": HOST}, vx={"name": DOMAIN, "description": "Where all talk"})
        bank = {"bank": BANK, "agent": HOST}
        await send("MB_Create", owner, target=bank, vx={"name": BANK, "description": "What all know"})
        for number, text in enumerate(everyday_statements(MEMORIES)):
            await send("MB_Load", owner, target=bank, vx={"name": f"note {number}"}, content=text)
        await send("MB_Unload", owner, target=bank)  # so that zone chats show the cost of a zone
        return reading, talking, asking, tokens


def _rounds(loads: dict[str, Load], seconds: float, rounds: int) -> dict[str, list[Run]]:
    """Run everything once to warm up, then for all rounds; the warm-up is the first run of each."""
    runs: dict[str, list[Run]] = defaultdict(list)
    for number in range(rounds + 1):
        for what, load in loads.items():
            run = load.run(seconds if number else 1)
            runs[what].append(run)
            if run.refused or run.broken:
                raise BenchError(f"{what}: {run.refused} answers were not 2xx, {run.broken} connections failed")
        if number:
            shown = ", ".join(f"{what} {runs[what][-1].rate:,.0f}/s" for what in loads)
            say(f"round {number} of {rounds}: {shown}")
    return runs


def _print(runs: dict[str, list[Run]]) -> None:
    rows: list[list[str]] = []
    for what, measured in runs.items():
        timed = measured[1:]
        rate, p50, p99, cpu = (
            statistics.median(getattr(run, name) for run in timed) for name in ("rate", "p50", "p99", "cpu")
        )
        refused = sum(run.refused for run in measured)
        row = [what, f"{rate:,.0f}", f"{p50:.2f}", f"{p99:.2f}", f"{cpu:.0f}", str(refused)]
        pairs = list(zip(timed, runs[YARDSTICKS.get(what, what)][1:], strict=True))
        share = statistics.median(run.rate / bare.rate for run, bare in pairs)
        slower = statistics.median(run.p99 / bare.p99 for run, bare in pairs)
        row += [f"{share:.2f}", verdict(share, MARKS[what]) if what in MARKS else ""]
        row += [f"{slower:.1f}", verdict(slower, P99_MARKS[what], at_most=True) if what in P99_MARKS else ""]
        rows.append(row)
    table(
        f"HTTP: wrk -t1 -c{CONNECTIONS}, medians of {len(runs[CHAT]) - 1} rounds",
        ["", "requests/s", "p50 ms", "p99 ms", "CPU µs", "not 2xx", "of bare", "", "p99 of bare's", ""],
        rows,
    )


COUNT_MESSAGES = """
    SELECT (SELECT count(*) FROM messages), (
        SELECT count(*) FROM (
            SELECT count(*) AS messages, max(seq) AS newest FROM messages GROUP BY conversation_id
        ) AS conversations WHERE newest <> messages
    )"""
"""Counts the stored messages, and the conversations that have a gap."""


def require_stored(counts: tuple[int, int], chats: list[Run], where: str = "") -> None:
    """Compare the counts by `COUNT_MESSAGES` with the acknowledged chats; `where` begins the line about them.

    wrk does not count chats in progress at the end of a run, so a few more may be stored.

    Raises:
        BenchError: rows are missing, there are too many, or a conversation has a gap.
    """
    stored, wrong = counts
    acknowledged = sum(run.requests for run in chats)
    more = stored - 2 * acknowledged
    say("")
    say(
        f"{where}{acknowledged:,} chats acknowledged, {stored:,} messages stored: "
        f"{more / 2:g} chats were under way at the end of a run"
    )
    if wrong or not 0 <= more <= 2 * CONNECTIONS * len(chats):
        raise BenchError(f"stored and acknowledged chats differ; {wrong} conversations have a gap")
