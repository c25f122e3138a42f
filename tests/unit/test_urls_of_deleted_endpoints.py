"""Events of endpoints that were deleted for good before an upgrade lose their URLs by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from persistence.store import Store, Write
from tests.support.disk import rows, value
from tests.support.stores import upgraded

SECRET = "https://example.com/secret"
ENDPOINTS = {"whe_live": 0, "whe_deleted": 1}
"""Whether they are deleted; of a third one not even the row is left."""
TOLD = ("created", "updated", "deleted")


def user() -> Write:
    sql = (
        "INSERT INTO users (id, name, name_key, secret_hash, plan, created_at)"
        " VALUES ('usr_1', 'ada', 'ada', '', 'free', 0)"
    )
    return Write(sql, ())


def endpoint(number: int, id: str, deleted: int) -> Write:
    sql = (
        "INSERT INTO endpoints (number, id, user_id, url, events, active, deleted, secrets, created_at, updated_at)"
        " VALUES (?, ?, 'usr_1', ?, '[]', 0, ?, ?, 0, 0)"
    )
    return Write(sql, (number, id, "" if deleted else SECRET, deleted, b""))


def event(number: int, kind: str, data: dict[str, Any]) -> Write:
    sql = "INSERT INTO events (id, user_id, type, data, created_at) VALUES (?, 'usr_1', ?, ?, 0)"
    return Write(sql, (f"evt_{number}", kind, json.dumps(data, separators=(",", ":"))))


async def told(store: Store) -> list[tuple[str, Any]]:
    found = await rows(store, "SELECT type, data FROM events ORDER BY place")
    return [(kind, json.loads(data)) for kind, data in found]


@pytest.mark.parametrize("with_events", [True, False])
async def test_the_upgrade_takes_the_urls_of_deleted_endpoints_out_of_their_events(tmp_path: Path, with_events: bool):
    before = [
        (f"webhook.endpoint.{what}", {"endpoint_id": id, "url": SECRET, "events": [], "active": True, "reason": None})
        for id in (*ENDPOINTS, "whe_gone")
        for what in TOLD
    ]
    before.append(("webhook.test", {"url": SECRET, "nul": "\0"}))
    events = [event(number, kind, data) for number, (kind, data) in enumerate(before)] if with_events else []
    endpoints = [endpoint(number, id, deleted) for number, (id, deleted) in enumerate(ENDPOINTS.items(), 1)]
    store = await upgraded(tmp_path / "old.db", "no_urls_of_deleted_endpoints", user(), *endpoints, *events)
    try:
        expected = [
            (kind, data | {"url": None} if data.get("endpoint_id") in ("whe_deleted", "whe_gone") else data)
            for kind, data in before
        ]
        assert await told(store) == (expected if with_events else [])
        assert await value(store, "SELECT due FROM erasure") == with_events
    finally:
        await store.close()
