"""Speed at scale: MB_Recall in a bank of 100,000 memories, and chats in conversations of 100,000 messages.

Users, bank and conversations are made over HTTP; then the gateway stops, and the rest of the rows is stored directly.
Messages that the gateway has not indexed yet are indexed when it serves again, and the runs wait for that.
"""

import asyncio
import random
import sqlite3
import statistics
import time
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from actors.ids import new_id, system_clock
from bench.commands import commands_to
from bench.http import CONNECTIONS, Load, Run, write_chats, write_lines, write_recalls
from bench.messages import everyday_messages
from bench.recall import LARGE, RANKS, add_memories, made_up_memories, made_up_question, made_up_words
from bench.report import BenchError, say, table, verdict
from bench.servers import bare_echo, gateway
from persistence import agents, banks, conversations, search_index
from persistence.dialect import SQLITE
from persistence.sqlite.store import SqliteStore
from persistence.store import Unit

BANK = "large-bank"
SHORT, LONG = 200, 100_000
"""The number of messages in a conversation before the runs."""
CONVERSATIONS = {SHORT: 64, LONG: 2}
"""The number of conversations of each length: many short ones, so that none grows long during the runs."""
READ_AFTER = 36_000
"""The number of chats after which the gateway has read the long conversations into memory, and both are long."""
STORED = {SHORT: SHORT, LONG: LONG - 2 * READ_AFTER // CONVERSATIONS[LONG]}
"""The number of messages stored before these chats."""
CHATTING = 4
"""The number of connections of chats."""
QUESTIONS = 20_011
MESSAGES = 50_021
INDEXING_S = 400.0
"""Limit of the wait until the gateway has indexed the messages stored directly."""

P99_MARK = 60.0
LENGTH_MARK = 1.1

BARE = "bare echo of questions"
RECALL = f"MB_Recall of {LARGE:,} memories"
CHAT_IN_SHORT = f"AP_Chat, everyday talk, after {SHORT} messages"
CHAT_IN_LONG = f"AP_Chat, everyday talk, after {LONG:,} messages"
CHAT_AT_FIRST = f"AP_Chat, everyday talk, after {STORED[LONG]:,} messages that are not in memory"


class Talk(NamedTuple):
    """A conversation: the agent's name, the user's name, and a token of the user's session."""

    agent: str
    user: str
    token: str


def measure(folder: Path, seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: a request was refused, or a server did not start.
    """
    with gateway(folder) as parley:
        reader, talks = asyncio.run(_set_up(parley.base))
    database = folder / "data" / "parley.db"
    began = time.perf_counter()
    numbers = asyncio.run(_fill(database, talks))
    say("")
    took = time.perf_counter() - began
    say(f"{LARGE:,} memories and {CONVERSATIONS[LONG]} x {STORED[LONG]:,} messages stored in {took:.0f} s")
    with gateway(folder) as parley, bare_echo(folder) as bare:
        _wait_until_indexed(database, numbers[LONG])
        asked, reading, chats = folder / "asked", folder / "reading", folder / "everyday"
        write_recalls(asked, BANK, _questions(QUESTIONS))
        write_lines(reading, [reader])
        write_chats(chats, everyday_messages(MESSAGES))
        loads = {BARE: Load(bare, reading, asked), RECALL: Load(parley, reading, asked)}
        for what, length in ((CHAT_IN_SHORT, SHORT), (CHAT_IN_LONG, LONG)):
            tokens = folder / f"talking-after-{length}"
            write_lines(tokens, [talk.token for talk in talks[length]])
            loads[what] = Load(parley, tokens, chats, connections=CHATTING)
        runs: dict[str, list[Run]] = {what: [] for what in loads}
        for number in range(rounds + 1):
            for what, load in loads.items():
                run = _run(load, what, seconds if number else 1)
                if number:  # the first warms up
                    runs[what].append(run)
                elif what == CHAT_IN_LONG:
                    runs[CHAT_AT_FIRST] = [_run(load, what, 2)]
                    while load.sent < READ_AFTER:
                        _run(load, what, 5)
    _print(runs)


def _run(load: Load, what: str, seconds: float) -> Run:
    run = load.run(seconds)
    if run.refused or run.broken:
        raise BenchError(f"{what}: {run.refused} answers were not 2xx, {run.broken} connections failed")
    return run


def _print(runs: dict[str, list[Run]]) -> None:
    rows: list[list[str]] = []
    for what, timed in runs.items():
        figures = [statistics.median(getattr(run, name) for run in timed) for name in ("rate", "p50", "p99", "cpu")]
        rows.append(
            [what, *(f"{figure:,.{places}f}" for figure, places in zip(figures, (0, 2, 2, 0), strict=True)), ""]
        )
    table(
        f"At scale: wrk -t1 -c{CONNECTIONS} for the bank, -c{CHATTING} for chats, medians of {len(runs[BARE])} rounds",
        ["", "requests/s", "p50 ms", "p99 ms", "CPU µs", ""],
        rows,
    )
    slower = statistics.median(run.p99 / bare.p99 for run, bare in zip(runs[RECALL], runs[BARE], strict=True))
    longer = statistics.median(
        after.cpu / before.cpu for after, before in zip(runs[CHAT_IN_LONG], runs[CHAT_IN_SHORT], strict=True)
    )
    say("")
    say(f"{RECALL}: p99 {slower:.1f} of bare's: {verdict(slower, P99_MARK, at_most=True)}")
    judged = verdict(longer, LENGTH_MARK, at_most=True)
    say(f"a chat after {LONG:,} messages: {longer:.2f} of the processor time of one after {SHORT}: {judged}")


async def _set_up(base: str) -> tuple[str, dict[int, list[Talk]]]:
    """Make a bank, and a conversation begun for each agent; return a token for the bank, and the talks by length."""
    async with commands_to(base) as gateway:
        (reader,) = await gateway.sessions("reader", ["librarian"])
        bank = {"bank": BANK, "agent": "librarian"}
        await gateway.send("MB_Create", reader, target=bank, vx={"name": BANK, "description": "A large one"})
        talks: dict[int, list[Talk]] = {}
        for length in (SHORT, LONG):
            names = [f"after-{length}-{number:02}" for number in range(CONVERSATIONS[length])]
            tokens = await gateway.crowd(names, "enterprise")
            for token in tokens:
                await gateway.send("AP_Chat", token, content="hello")
            talks[length] = [Talk(name, f"{name}-owner", token) for name, token in zip(names, tokens, strict=True)]
        return reader, talks


async def _fill(database: Path, talks: dict[int, list[Talk]]) -> dict[int, list[int]]:
    """Store the memories and messages; return the conversations' numbers by length."""
    store = await SqliteStore.open(database)
    try:
        (bank_id,) = await store.fetch(banks.id_by_name(BANK))
        (bank,) = await store.fetch(banks.by_id(bank_id))
        await add_memories(store, bank, made_up_memories(random.Random(1), made_up_words(), LARGE))
        return {
            length: [await _talk_on(store, talk, STORED[length]) for talk in some] for length, some in talks.items()
        }
    finally:
        await store.close()


async def _talk_on(store: SqliteStore, talk: Talk, length: int) -> int:
    """Lengthen a conversation that has one chat to a number of messages; return the conversation's number."""
    (agent_id,) = await store.fetch(agents.id_by_name(talk.agent))
    (agent,) = await store.fetch(agents.by_id(agent_id))
    ((conversation_id, last_seq),) = await store.fetch(conversations.between(agent_id, agent.owner_id))
    at = system_clock()
    said = enumerate(everyday_messages(length // 2, seed=length), 1)
    while some := list(islice(said, 1_000)):
        writes = [
            conversations.append(conversation_id, seq, new_id("msg", agent_id), role, name, text, None, at)
            for number, message in some
            for seq, role, name, text in (
                (last_seq + 2 * number - 1, "user", talk.user, message),
                (last_seq + 2 * number, "agent", talk.agent, "Noted: I will remember that in this conversation."),
            )
            if seq <= length
        ]
        await store.commit(Unit(tuple(writes)))
    return conversation_id


def _wait_until_indexed(database: Path, numbers: Iterable[int]) -> None:
    """Wait until what left the windows is indexed; say so if the gateway does not index it in time."""
    began = time.perf_counter()
    waiting = list(numbers)
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        while waiting and time.perf_counter() - began < INDEXING_S:
            time.sleep(0.2)
            waiting = [number for number in waiting if not _is_indexed(connection, number)]
    done = "indexed" if not waiting else f"{len(waiting)} conversations were not indexed"
    say(f"{done} after {time.perf_counter() - began:.0f} s")


def _is_indexed(connection: sqlite3.Connection, conversation_id: int) -> bool:
    query = search_index.of_conversation(conversation_id)
    rows = connection.execute(SQLITE.text(query.sql), query.params).fetchall()
    return bool(rows) and query.build(tuple(rows[0])).reached >= STORED[LONG] - 2 * SHORT


def _questions(count: int) -> list[str]:
    """Return distinct questions of words of all frequencies."""
    chance, words, kinds = random.Random(3), made_up_words(), list(RANKS.values())
    found: dict[str, None] = {}
    while len(found) < count:
        found[made_up_question(chance, words, chance.choice(kinds))] = None
    return list(found)
