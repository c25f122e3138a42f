"""On PostgreSQL, a batch that shares the lock and one that has it alone leave what one after the other leaves.

Each shared write is run with each exclusive unit that concerns the same rows, by two nodes: each batch is cut at every
statement by the whole other one, and both take turns. Shared writes are stored by a function of the session, which is
cut within, and by several messages. All tables and the outcomes have to be those of one of the two
serial orders.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import asyncpg
import pytest

from persistence import (
    agents,
    audit,
    banks,
    censoring,
    conversations,
    credentials,
    deliveries,
    delivery_log,
    documents,
    domains,
    endpoints,
    events,
    failed_runs,
    idempotency_records,
    memories,
    offers,
    own_conversations,
    quotas,
    quotes,
    reindexing,
    run_keys,
    search_index,
    users,
    zones,
)
from persistence.agents import AgentChanges
from persistence.banks import BankChanges
from persistence.deliveries import Recovery, ResultRow
from persistence.domains import DomainChanges
from persistence.events import EventRow
from persistence.failed_runs import FailedRun
from persistence.memories import Choice
from persistence.postgres.migrate import migrate
from persistence.search_index import IndexedText
from persistence.store import FOREIGN_KEY, ROWS, Unit, Write
from tests.support import postgres
from tests.support.interleaving import Arena, Result, cuts
from tests.support.statements import (
    ADA,
    API_KEY,
    ATTIC,
    BOB,
    DOCUMENT,
    HOME,
    HOOK,
    KEPT,
    KEY,
    LATER,
    LOBBY,
    MOON,
    MULE,
    NOTES,
    OFF,
    OWL,
    SCOUT,
    SECTIONS,
    SESSION,
    SOME,
    SUN,
    Step,
)
from tests.support.stores import postgres_only

pytestmark = postgres_only

SECRET = "the secret of the moon"
QUOTING = json.dumps([{"bank": "Notes", "name": "moon", "quote": SECRET}])
NOW = 1_000


class Refused(Exception):
    """A constraint refused a unit that names it."""


def an_event(id: str, user_id: str) -> tuple[Write, Write]:
    """Make the writes of an event with its deliveries, as `Outbox.emit` does."""
    kind = EventRow(id, user_id, "x.y", {"of": id}, NOW)
    return events.insert(kind), deliveries.fan_out(id, f"dlv_of_{id}".ljust(20, "0"), "x.*", NOW)


def an_entry(user_id: str) -> Write:
    return audit.insert(user_id, NOW, "ses_1", "::1", "AP_Chat", "{}", 0, f"req_of_{user_id}")


def a_chat(conversation: int, seq: int, *, reply: str = "You said: hello", sources: str | None = None) -> list[Write]:
    """Make the writes of a message with its reply."""
    said = conversations.append(conversation, seq, f"msg_{conversation}{seq}", "user", "Ada", "hello", None, NOW)
    seq += 1
    return [
        said,
        conversations.append(conversation, seq, f"msg_{conversation}{seq}", "agent", "Scout", reply, sources, NOW),
    ]


STATE: tuple[Write, ...] = (
    *(users.insert(user) for user in (ADA, BOB)),
    *(agents.insert(agent) for agent in (SCOUT, MULE, OWL)),
    users.add_to_roster("usr_2", "agt_1", 1),
    domains.insert(HOME),
    *(domains.insert_zone("dom_1", zone) for zone in (LOBBY, ATTIC)),
    domains.put_membership("dom_1", "agt_1", "member", 1),
    domains.put_membership("dom_1", "agt_2", "member", 1),
    *(credentials.insert(session) for session in (SESSION, LATER, API_KEY)),
    credentials.insert(replace(SESSION, id="ses_b", user_id="usr_2", token_hash=b"b")),
    credentials.select_agent("ses_1", "agt_1"),
    credentials.select_agent("ses_b", "agt_1"),
    conversations.begin(1, "usr_1", "agt_1"),
    conversations.begin(2, "usr_2", "agt_1"),
    *a_chat(1, 1, reply=f"You said: {SECRET}", sources=QUOTING),
    *a_chat(2, 1),
    run_keys.remember("key", "msg_11", 1, "print", 1),
    zones.append("zon_1", 1, 1, "msg_z1", "user", "Ada", "hello", None, 1),
    zones.append("zon_1", 2, 2, "msg_z2", "agent", "Scout", f"You said: {SECRET}", QUOTING, 1),
    zones.append("zon_2", 3, 1, "msg_z3", "user", "Ada", "hello", None, 1),
    *banks.insert(NOTES, "v1"),
    banks.attach("bnk_1", "agt_1", "admin", 1),
    offers.put("bnk_1", "agt_2", "read", 1, []),
    *documents.add(DOCUMENT, "a text"),
    documents.begin("doc_1", 2),
    *(memories.add("bnk_1", row) for row in (MOON._replace(text=SECRET), SUN)),
    *search_index.add(101, [IndexedText(1, "moon", 0, ["secret", "moon"]), IndexedText(2, "sun", 0, ["sun"])]),
    quotes.quote(1, 1, 2, 0),
    quotes.quote_in_zone(1, "zon_1", 2, 0),
    search_index.begin_for_conversation(201, 1, "v1"),
    search_index.begin_for_zone(301, "zon_1", "v1"),
    idempotency_records.keep("ses_1", KEY, "usr_1", 10, 0, KEPT),
    idempotency_records.quote([1], "ses_1", KEY),
    idempotency_records.show(["agt_1", "dom_1", "zon_1", "bnk_1"], "ses_1", KEY),
    quotas.reserve("usr_1", 1, 64, 0),
    an_entry("usr_1"),
    *(endpoints.insert(endpoint, 9) for endpoint in (HOOK, SOME, OFF)),
    endpoints.insert(replace(HOOK, number=4, id="whe_4", user_id="usr_2"), 9),
    endpoints.insert(replace(HOOK, number=5, id="whe_5", active=False, deleted=True), 9),
    *an_event("evt_1", "usr_1"),
    *an_event("evt_2", "usr_1"),
    Write("UPDATE deliveries SET id = 'dlv_1' WHERE place = 1", ()),
    *deliveries.record([ResultRow(1, "exhausted", None, 1, 2, 500, 1, "status", None)]),
    deliveries.begin_recovery(1, 0, 99),
)
"""Ada with an agent, a domain, a bank and webhooks; Bob talks with her agent, too. Its parts are touched below."""

SHARED: Mapping[Any, tuple[Sequence[Write], Sequence[Write]]] = {
    conversations.append: (a_chat(1, 3), a_chat(2, 3)),
    zones.append: (
        [zones.append("zon_1", 4, 3, "msg_z4", "user", "Ada", "and more", None, NOW)],
        [zones.append("zon_2", 5, 2, "msg_z5", "agent", "Scout", "more", None, NOW)],
    ),
    quotas.reserve: ([quotas.reserve("usr_1", 2, 128, 80)], [quotas.reserve("usr_2", 2, 64, 0)]),
    audit.insert: ([*a_chat(1, 3), an_entry("usr_1")], [an_entry("usr_2")]),
    events.insert: ([an_event("evt_8", "usr_1")[0]], [an_event("evt_9", "usr_2")[0]]),
    deliveries.fan_out: (an_event("evt_8", "usr_1"), an_event("evt_9", "usr_2")),
    conversations.begin_other: (
        [conversations.begin_other(4, "usr_1", "agt_1", title="Trip", at=NOW), *a_chat(4, 1)],
        [conversations.begin_other(5, "usr_2", "agt_1", opening="ab", cut=2), *a_chat(5, 1)],
    ),
    run_keys.remember: (
        [*a_chat(1, 3), run_keys.remember("key", "msg_13", 1, "print", NOW)],
        [*a_chat(2, 3), run_keys.remember("key 2", "msg_23", 2, "print", NOW)],
    ),
    run_keys.name: (
        [*a_chat(1, 3), run_keys.name("name", "msg_13", 1)],
        [*a_chat(2, 3), run_keys.name("name 2", "msg_23", 2)],
    ),
    run_keys.show: (
        [*a_chat(1, 3), run_keys.show("m-1", "msg_13", 1)],
        [*a_chat(2, 3), run_keys.show("m-2", "msg_23", 2)],
    ),
}
"""For each function whose writes share the lock, the writes of two units that it is part of."""

A_QUOTING_CHAT = (*a_chat(1, 3, reply=f"Again: {SECRET}", sources=QUOTING), quotes.quote(1, 1, 4, 0))

EXCLUSIVE: Mapping[str, Sequence[Write]] = {
    "a memory is censored": censoring.censor("bnk_1", Choice("moon"), NOW),
    "a bank is censored": censoring.censor("bnk_1", Choice(), NOW),
    "a memory is removed": memories.remove("bnk_1", Choice("moon")),
    "a memory is loaded": (
        memories.replace(SUN._replace(text="The sun shines.", updated_at=NOW)),
        *search_index.add(101, [IndexedText(2, "sun", 0, ["sun", "shines"])]),
    ),
    "a bank is destroyed": (banks.delete("bnk_1"),),
    "a bank is changed": (banks.update("bnk_1", BankChanges(description="new"), NOW),),
    "an offer is accepted": offers.accept("bnk_1", "agt_2", "read", NOW),
    "an agent is detached": (banks.detach("bnk_1", "agt_1"), offers.withdraw("bnk_1", "agt_1", ["read"])),
    "an agent is destroyed": (
        *domains.leave_all("agt_1"),
        *agents.destroy("agt_1", NOW),
        *an_event("evt_7", "usr_1"),
    ),
    "an agent goes offline": (agents.set_online("agt_1", False, NOW),),
    "an agent is changed": (agents.update("agt_1", AgentChanges("scout-2", None, None, None), NOW),),
    **{
        f"{who} is destroyed": (
            *domains.leave_all_of(id),
            *agents.destroy_all_of(id, NOW),
            users.delete(id),
            idempotency_records.delete_of_user(id),
            censoring.DUE,
        )
        for who, id in (("the owner", "usr_1"), ("the visitor", "usr_2"))
    },
    "a plan is changed": (users.update(replace(ADA, plan="scale")), *an_event("evt_7", "usr_1")),
    "a password is changed": (
        users.update(replace(ADA, secret_hash="new")),
        credentials.delete_others("usr_1", "ses_1"),
    ),
    "a session ends": (credentials.delete("ses_1"),),
    "a key is revoked": (credentials.delete_key("key_1", "usr_1"), an_entry("usr_1")),
    "a session is used": (credentials.touch("ses_1", NOW),),
    "another agent is selected": (credentials.select_agent("ses_1", "agt_3"),),
    "the roster loses an agent": (
        users.remove_from_roster("usr_2", "agt_1"),
        credentials.unselect_agent("agt_1", "usr_2"),
    ),
    "sessions expire": (
        credentials.delete_unused_since(80),
        idempotency_records.delete_older(80),
    ),
    "a domain is destroyed": (domains.delete("dom_1"), censoring.DUE),
    "a domain is changed": (domains.update("dom_1", DomainChanges("home-2", "new", None, None), NOW),),
    "a zone is destroyed": (domains.delete_zone("zon_1"), censoring.DUE),
    "a zone is made": (domains.insert_zone("dom_1", replace(LOBBY, id="zon_3", name="cellar")),),
    "an agent joins": (
        domains.put_membership("dom_1", "agt_3", "member", NOW),
        zones.membership_changed("dom_1", 9, "{}"),
    ),
    "an agent leaves": (domains.delete_membership("dom_1", "agt_2"), zones.membership_changed("dom_1", 9, "{}")),
    "a conversation begins": (conversations.begin(3, "usr_2", "agt_3"), *a_chat(3, 1)),
    "a conversation is destroyed": own_conversations.erase(1, "usr_1"),
    "keys of runs are forgotten": (run_keys.delete_older(NOW),),
    "a chat is stored again": (*a_chat(1, 3), credentials.touch("ses_1", NOW)),
    "a chat quotes a memory": A_QUOTING_CHAT,
    "a chat may repeat a quote": (*a_chat(2, 3), *a_chat(1, 3), quotes.echo(1, [2], 4, NOW)),
    "a chat has a key": (*a_chat(1, 3), idempotency_records.keep("ses_1", b"2", "usr_1", NOW, 0, KEPT)),
    "a run fails": (a_chat(1, 3)[0], failed_runs.remember(FailedRun("msg_13", 5001, 502, "It failed.", 2), 1)),
    "a failed run gets its reply": (a_chat(1, 2)[1], failed_runs.forget("msg_12")),
    "an answer is kept": (
        idempotency_records.keep("ses_1", b"2", "usr_1", NOW, 0, KEPT),
        idempotency_records.quote_alike("conversation", 1, 2, "ses_1", b"2"),
        idempotency_records.show(["agt_1", "dom_1", "zon_1", "bnk_1"], "ses_1", b"2"),
    ),
    "messages are indexed": (
        conversations.unchanged(1, [(1, "hello")]),
        *search_index.add(201, [IndexedText(1, "", 1, ["hello"])]),
        search_index.advance(201, 0, 2),
    ),
    "messages of a zone are indexed": (
        zones.unchanged("zon_1", [(1, "hello")]),
        *search_index.add(301, [IndexedText(1, "", 1, ["hello"])]),
        search_index.advance(301, 0, 2),
    ),
    "a conversation is indexed anew": (search_index.begin_anew(201, "v1", 0, "v2"),),
    "a bank is indexed anew": (
        reindexing.are_as_read("bnk_1", [(1, SECRET)]),
        *search_index.add(101, [IndexedText(1, "moon", 0, ["moon", "secret", "anew"])]),
    ),
    "a document is split": documents.finish("doc_1", ["a text"], NOW),
    "an endpoint is made": (endpoints.insert(replace(HOOK, number=7, id="whe_7"), 9), *an_event("evt_7", "usr_1")),
    "an endpoint is enabled": (
        endpoints.update(replace(OFF, active=True), active_too=True),
        deliveries.cancel(3, 2**62),
    ),
    "an endpoint is switched off": (
        endpoints.update(replace(HOOK, active=False), active_too=True),
        deliveries.cancel(1, 500),
        *an_event("evt_7", "usr_1"),
    ),
    "an endpoint is given up": (endpoints.disable(1, HOOK.url, "gone", NOW), deliveries.cancel(1, 500)),
    "an endpoint is deleted": (
        endpoints.delete(1, NOW),
        deliveries.cancel(1, 500),
        *an_event("evt_7", "usr_1"),
    ),
    "deleted endpoints go": (endpoints.drop_deleted(),),
    "an endpoint fails": (endpoints.set_failing_since(1, HOOK.url, NOW),),
    "attempts are recorded": deliveries.record([ResultRow(2, "succeeded", None, 1, NOW, 200, 1, None, "ok")]),
    "a delivery is repeated": (deliveries.repeat("dlv_1", "dlv_new", NOW),),
    "deliveries are recovered": (
        deliveries.repeat_all([1], "dlv_0123456789abcdef", NOW),
        deliveries.end_recovery(Recovery(1, 1, 0, 0, 99)),
    ),
    "old events go": (
        deliveries.cancel(1, 500),
        deliveries.cancel(2, 500),
        delivery_log.forget_events([1, 2, 3], NOW + 1),
    ),
}
"""Units that have the lock alone, by what happens, as the actors make them."""


def unit(writes: Sequence[Write]) -> Unit:
    """Make a unit of writes that names the constraints which some of them have."""
    errors = {ROWS: Refused, FOREIGN_KEY: Refused} if any(write.rows is not None for write in writes) else {}
    return Unit(tuple(writes), (), errors)


def batches_of(write: Any) -> Iterator[list[Unit]]:
    """Make a batch of one unit, and one of two units that are joined."""
    one, other = (Unit(tuple(writes)) for writes in SHARED[write])
    yield [one]
    yield [one, other]


QUOTED_AND_CENSORED = [[unit(A_QUOTING_CHAT)], [unit(EXCLUSIVE["a memory is censored"])]]

WITHOUT_LOCK = """
    CREATE OR REPLACE FUNCTION parley_begin(node_ text, batch_ bigint, shared boolean) RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN UPDATE fences SET batch = batch_ WHERE node = node_; END $$
"""


@asynccontextmanager
async def opened(name: str) -> AsyncIterator[Arena]:
    url = await (await postgres.shared()).database(name)
    connection = await asyncpg.connect(url)
    await migrate(connection)
    await connection.close()
    arena = await Arena.open(url, STATE)
    yield arena
    await arena.close()


@pytest.fixture(scope="module")
async def arena() -> AsyncIterator[Arena]:
    async with opened("interleavings") as arena:
        yield arena


@pytest.fixture(scope="module")
async def unlocked() -> AsyncIterator[Arena]:
    """The same without the advisory lock."""
    async with opened("interleavings_unlocked") as arena:
        await arena.execute(WITHOUT_LOCK)
        yield arena


@pytest.fixture(params=[True, False], ids=["by a function", "by messages"])
def at_once(request: pytest.FixtureRequest, arena: Arena, unlocked: Arena) -> bool:
    for one in (arena, unlocked):
        one.store_at_once(request.param)
    return request.param


async def serial_results(arena: Arena, batches: Sequence[Sequence[Unit]]) -> tuple[list[Result], tuple[int, int]]:
    """Return what the two serial orders leave, and how many statements each batch takes at most."""
    found: list[Result] = []
    most = (0, 0)
    for first in (0, 1):
        found.append(await arena.run(batches, [first] * 200))
        most = (max(most[0], arena.lengths[0]), max(most[1], arena.lengths[1]))
    return found, most


async def unlike_serial(arena: Arena, batches: Sequence[Sequence[Unit]], cut: Sequence[int] = (0, 1)) -> list[str]:
    """Run two batches in the orders of `cuts`; tell of those whose result no serial order has."""
    serial, lengths = await serial_results(arena, batches)
    wrong: list[str] = []
    for order in cuts(lengths, cut):
        result = await arena.run(batches, order)
        if arena.conflicts:
            wrong.append(f"{order[:40]}: {arena.conflicts}")
        elif result not in serial:
            wrong.append(f"{order[:40]}: {difference(result, serial)}")
    return wrong


def difference(result: Result, serial: Sequence[Result]) -> str:
    """Tell how a result differs from each of the serial ones."""
    return " / ".join(
        f"{result.outcomes} instead of {other.outcomes}"
        + "".join(
            f"\n{name}: {rows} for {other.tables[name]}"
            for name, rows in result.tables.items()
            if rows != other.tables[name]
        )
        for other in serial
    )


def made(step: Step) -> Sequence[Any]:
    """Make the statements of a step, with 1 in place of what a store numbers by itself."""
    statements = step.made(lambda _: [(1,)])
    return statements if isinstance(statements, tuple) else ()


def test_each_shared_write_has_a_case():
    many_of: dict[Any, set[str]] = {}
    for step in chain.from_iterable(SECTIONS.values()):
        many = {write.many for write in made(step) if isinstance(write, Write) and write.many is not None}
        if many:
            many_of.setdefault(step.of, set()).update(many)
    assert set(many_of) == set(SHARED)
    for of, cases in SHARED.items():
        assert all(many_of[of] & {write.many for write in writes} for writes in cases)


async def test_each_unit_changes_something_by_itself(arena: Arena, at_once: bool):
    nothing = [Unit(())]
    for what, writes in EXCLUSIVE.items():
        result = await arena.run([nothing, [unit(writes)]], [])
        assert result.outcomes[1] == ("stored",), what
        assert result.tables != arena.first_state, what
        assert "false" in arena.sides[1].statements[0], f"this shares the lock: {what}"
    for of in SHARED:
        for batch in batches_of(of):
            result = await arena.run([batch, nothing], [0] * 20)
            assert set(result.outcomes[0]) == {"stored"}, of
            assert result.tables != arena.first_state, of
            expected = "SELECT pg_temp." if at_once else "BEGIN; SELECT parley_begin('node 0', "
            assert arena.sides[0].statements[0].startswith(expected), of
            assert at_once == ("gate 1" in arena.sides[0].statements), of  # the first one is behind parley_begin
            assert at_once or ", true)" in arena.sides[0].statements[0], f"this has the lock alone: {of}"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("what", EXCLUSIVE)
async def test_a_shared_write_and_an_exclusive_unit_leave_what_a_serial_order_leaves(arena: Arena, what: str):
    exclusive = [unit(EXCLUSIVE[what])]
    for of in SHARED:
        alone, joined = batches_of(of)
        assert await unlike_serial(arena, [alone, exclusive]) == [], of
        assert await unlike_serial(arena, [joined, exclusive], cut=[0]) == [], of  # the other's statements are the same


@pytest.mark.usefixtures("at_once")
async def test_a_censored_text_does_not_come_back_in_a_message_that_quotes_it(arena: Arena):
    assert await unlike_serial(arena, QUOTED_AND_CENSORED) == []


@pytest.mark.usefixtures("at_once")
async def test_without_the_lock_a_censored_text_comes_back(unlocked: Arena):
    """So the test before can fail."""
    wrong = await unlike_serial(unlocked, QUOTED_AND_CENSORED)
    assert any(SECRET in told for told in wrong)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("what", ["an endpoint is given up", "an endpoint is deleted", "old events go"])
async def test_without_the_lock_a_shared_write_meets_an_exclusive_unit_halfway(unlocked: Arena, what: str):
    """So the test of all pairs can fail."""
    (batch, _) = batches_of(deliveries.fan_out)
    assert await unlike_serial(unlocked, [batch, [unit(EXCLUSIVE[what])]]) != []
