"""The rows of the audit log."""

from pathlib import Path

import pytest

from persistence import audit, users
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.disk import open_store, rows


def entry(user_id: str) -> Unit:
    return Unit((audit.insert(user_id, 1, "ses_1", "127.0.0.1", "AP_Chat", "{}", 0, "request-1"),), (7,))


@pytest.mark.parametrize("units", [1, 20], ids=["one by one", "many in a statement"])
async def test_an_entry_of_a_user_that_is_gone_is_left_out_and_fails_no_unit(tmp_path: Path, units: int):
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(UserRow("usr_1", "ada", None, None, "hash", "scale", None, 0)),)))
        outcomes: list[Exception | None] = []
        for _ in range(units):
            store.submit(entry("usr_gone"), outcomes.append)
            store.submit(entry("usr_1"), outcomes.append)
        await store.commit(entry("usr_1"))
        assert outcomes == [None] * 2 * units
        assert await rows(store, "SELECT user_id, count(*) FROM audit GROUP BY user_id") == [("usr_1", units + 1)]
