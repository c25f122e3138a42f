"""The dispatcher's queries: their results, and that none reads all waiting deliveries."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import orjson
import pytest

from persistence import deliveries, delivery_log
from persistence.dialect import SQLITE
from persistence.sqlite.migrate import MIGRATIONS
from persistence.store import Query, Write
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

USER = "usr_1f"
WAITING = 3_000


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    """A database with two endpoints, the first with thousands of waiting deliveries, the second with a few."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for file in sorted(MIGRATIONS.glob("*.sql")):
            connection.executescript(file.read_text(encoding="utf-8"))
        connection.execute(
            "INSERT INTO users (id, name, name_key, secret_hash, plan, created_at) VALUES (?, 'a', 'a', '', 'free', 0)",
            (USER,),
        )
        for number, events in ((1, '["quota.*"]'), (2, '["webhook.test"]'), (3, "[]")):
            connection.execute(
                "INSERT INTO endpoints (number, id, user_id, url, events, active, secrets, created_at, updated_at)"
                " VALUES (?, ?, ?, '', ?, ?, x'', 0, 0)",
                (number, f"whe_{number}", USER, events, number < 3),
            )
        connection.execute("BEGIN")
        for number in range(WAITING):
            kind, pattern = ("webhook.test", "") if number % 1000 == 0 else ("quota.request.rejected", "quota.*")
            connection.execute(
                "INSERT INTO events (id, user_id, type, data, created_at) VALUES (?, ?, ?, '{}', ?)",
                (f"e{number}", USER, kind, number),
            )
            run(connection, deliveries.fan_out(f"e{number}", "dlv_0123456789ab7def", pattern, number))
        connection.execute("COMMIT")
        connection.execute("ANALYZE")
        yield connection


def run(database: sqlite3.Connection, *writes: Write) -> int:
    return [database.execute(SQLITE.text(write.sql), write.params).rowcount for write in writes][-1]


def fetch(database: sqlite3.Connection, query: Query[Any]) -> list[Any]:
    return [query.build(tuple(row)) for row in database.execute(SQLITE.text(query.sql), query.params)]


def plan(database: sqlite3.Connection, query: Query[Any] | Write) -> str:
    rows = database.execute(f"EXPLAIN QUERY PLAN {SQLITE.text(query.sql)}", query.params)
    return "\n".join(row[3] for row in rows)


def test_an_event_goes_to_the_active_endpoints_whose_filter_takes_it(database: sqlite3.Connection):
    counts = dict(database.execute("SELECT endpoint, count(*) FROM deliveries GROUP BY endpoint").fetchall())
    assert counts == {1: WAITING - 3, 2: 3}


def test_ids_made_by_the_store_are_uuids_near_their_user(database: sqlite3.Connection):
    event = ["e0", "dlv_0123456789ab7def", "", 9]
    run(database, deliveries.fan_out(*event), deliveries.repeat_all(range(1, 10), "dlv_0123456789ab7def", 9))
    fan_out = deliveries.fan_out(*event)
    assert fan_out.many is not None
    database.execute(SQLITE.text(fan_out.many), (orjson.dumps([event]).decode(),))
    ids = [row[0] for row in database.execute("SELECT id FROM deliveries")]
    assert len(set(ids)) == len(ids) == WAITING + 11
    made = [id for id in ids if id.startswith("dlv_0123456789ab7def")]
    assert len(made) == WAITING + 11
    assert all(re.fullmatch(rf"dlv_[0-9a-f]{{16}}[89ab][0-9a-f]{{13}}{USER[-2:]}", id) for id in made)


def test_each_endpoint_is_found_with_what_is_due_first_however_many_wait(database: sqlite3.Connection):
    assert fetch(database, deliveries.waiting_endpoints(0, 10)) == [[(1, 1), (2, 0)]]
    assert fetch(database, deliveries.waiting_of([USER, "usr_none"])) == [[(1, 1), (2, 0)]]
    (found,) = fetch(database, deliveries.due_first([1, 2], 5))
    assert [(row.endpoint, row.due) for row in found] == [(1, n) for n in range(1, 6)] + [(2, 0), (2, 1000), (2, 2000)]


@pytest.mark.parametrize(
    "query",
    [
        deliveries.waiting_endpoints(0, 5),
        deliveries.waiting_of([USER]),
        deliveries.due_first([1, 2], 5),
        deliveries.cancel(1, 10),
        deliveries.to_recover(deliveries.Recovery(1, 1, 0, 0, 9), 5),
        deliveries.failed_since(1, 0),
        delivery_log.listed_for(USER, 1, None, None, 2**62, 50),
        delivery_log.listed_for(USER, None, None, None, 2**62, 50),
        delivery_log.of_user(USER, "dlv_1"),
        delivery_log.attempts_of([1]),
        delivery_log.old_events(5, 10),
        *deliveries.record([deliveries.ResultRow(1, "succeeded", None, 1, 0, 200, 1, None, None)]),
        delivery_log.forget_events([1], 0),
    ],
)
def test_no_query_reads_a_whole_table_or_all_that_waits(database: sqlite3.Connection, query: Query[Any] | Write):
    steps = plan(database, query).splitlines()
    scans = [
        step for step in steps if step.startswith(("SCAN deliveries", "SCAN events", "SCAN attempts", "SCAN endpoints"))
    ]
    assert not scans, steps


def test_endpoints_with_waiting_deliveries_are_listed_in_pages(database: sqlite3.Connection):
    assert fetch(database, deliveries.waiting_endpoints(0, 1)) == [[(1, 1)]]
    assert fetch(database, deliveries.waiting_endpoints(1, 1)) == [[(2, 0)]]
    assert fetch(database, deliveries.waiting_endpoints(2, 1)) == [[]]


@pytest.mark.parametrize("query", [deliveries.waiting_endpoints(0, 5), deliveries.waiting_of([USER])])
def test_endpoints_are_looked_at_in_a_few_steps_however_many_deliveries_wait(
    database: sqlite3.Connection, query: Query[Any]
):
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return steps > 400

    database.set_progress_handler(step, 1)
    assert fetch(database, query) == [[(1, 1), (2, 0)]]


def test_a_disabled_endpoint_is_found_by_its_number_not_by_its_user(database: sqlite3.Connection):
    database.execute("UPDATE endpoints SET active = 0 WHERE number = 2")
    assert fetch(database, deliveries.waiting_of([USER])) == [[(1, 1)]]
    assert fetch(database, deliveries.waiting_endpoints(0, 10)) == [[(1, 1), (2, 0)]]


def result(place: int, state: str, due: int | None, number: int = 1) -> deliveries.ResultRow:
    error = None if state == "succeeded" else "timeout"
    return deliveries.ResultRow(place, state, due, number, 5, 200 if error is None else None, 7, error, "text")


def test_outcomes_are_stored_with_their_log_but_a_cancelled_delivery_stays_cancelled(database: sqlite3.Connection):
    run(database, deliveries.cancel(2, 2))
    cancelled = [row[0] for row in database.execute("SELECT place FROM deliveries WHERE state = 'cancelled'")]
    retried, gone = 10, 99_999
    rows = [
        result(cancelled[0], "succeeded", None),
        result(cancelled[1], "retrying", 77),
        result(retried, "retrying", 77),
        result(gone, "succeeded", None),
    ]
    run(database, *deliveries.record(rows))
    states = dict(database.execute("SELECT place, state || ' ' || attempts FROM deliveries WHERE attempts").fetchall())
    assert states == {cancelled[0]: "succeeded 1", cancelled[1]: "cancelled 1", retried: "retrying 1"}
    assert database.execute("SELECT due FROM deliveries WHERE place = ?", (retried,)).fetchone() == (77,)
    assert database.execute("SELECT count(*) FROM attempts").fetchone() == (3,)


def test_a_place_is_never_given_twice(database: sqlite3.Connection):
    database.execute("DELETE FROM deliveries WHERE place >= ?", (WAITING - 5,))
    run(database, deliveries.fan_out("e0", "dlv_0123456789ab7def", "", 9))
    assert database.execute("SELECT max(place) FROM deliveries").fetchone() == (WAITING + 1,)
