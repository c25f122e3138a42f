"""Rows that the store numbers have the order of their units, also where one statement stores many units."""

import random
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from persistence import audit, deliveries, endpoints, events, users
from persistence.endpoints import EndpointRow
from persistence.events import EventRow
from persistence.store import Unit, Write
from persistence.users import UserRow
from tests.support import postgres
from tests.support.disk import Disk, open_store, rows
from tests.support.stores import ON_POSTGRES, database_for

USERS = 40
UNITS = 300

PLANS = [
    "enable_nestloop = on",
    *(["enable_nestloop = off", "enable_hashjoin = off"] if ON_POSTGRES else []),
]
"""Settings by which PostgreSQL joins in other ways, as it does by itself where tables have other sizes."""


def user(number: int) -> tuple[Write, ...]:
    id = f"usr_{number:02x}"
    row = UserRow(id, f"ada{number}", None, None, "hash", "scale", None, 0)
    return (users.insert(row), *(endpoint(id, 2 * number + n) for n in (1, 2)))


def endpoint(user_id: str, number: int) -> Write:
    row = EndpointRow(number, f"whe_{number}", user_id, "", (), True, False, "", b"", None, None, 0, 0)
    return endpoints.insert(row, 2)


def change(number: int, user_id: str) -> Unit:
    """Make a unit with an entry of the audit log, an event and its deliveries."""
    return Unit(
        (
            audit.insert(user_id, number, "ses_1", "127.0.0.1", "AP_Chat", "{}", 0, "request-1"),
            events.insert(EventRow(f"event-{number}", user_id, "test", {}, number)),
            deliveries.fan_out(f"event-{number}", "dlv_0123456789ab7def", "", number),
        )
    )


@pytest.mark.parametrize("plan", PLANS)
async def test_rows_of_one_statement_are_numbered_in_the_order_of_their_units(tmp_path: Path, plan: str):
    if ON_POSTGRES:
        name = urlsplit(await database_for(tmp_path / "test.db")).path.removeprefix("/")
        await (await postgres.shared()).execute(f'ALTER DATABASE "{name}" SET {plan}')
    disk = Disk()
    chosen = random.Random(1)
    async with open_store(tmp_path, disk) as store:
        await store.commit(Unit(tuple(write for number in range(USERS) for write in user(number))))
        disk.hold()
        store.submit(Unit((Write("UPDATE health SET checks = checks + 1", ()),)), lambda _: None)
        await disk.reached()
        outcomes: list[Exception | None] = []
        for number in range(UNITS):
            store.submit(change(number, f"usr_{chosen.randrange(USERS):02x}"), outcomes.append)
        disk.let_go()
        await store.commit(Unit(()))
        assert outcomes == [None] * UNITS
        in_order = [(number,) for number in range(UNITS)]
        assert await rows(store, "SELECT at FROM audit ORDER BY place") == in_order
        assert await rows(store, "SELECT created_at FROM events ORDER BY place") == in_order
        made = await rows(store, "SELECT created_at, endpoint FROM deliveries ORDER BY place")
        assert made == sorted(made)
        assert len(made) == 2 * UNITS
