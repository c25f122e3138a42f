"""How SQLite finds conversations: without reading those of the user with other agents."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from persistence import conversations, own_conversations, push_configs
from persistence.dialect import SQLITE
from persistence.sqlite.store import SqliteStore
from persistence.store import Query


async def plan_of(folder: Path, query: Query[Any]) -> list[str]:
    """Return the steps by which SQLite runs a query on an empty database."""
    path = folder / "parley.db"
    await (await SqliteStore.open(path)).close()
    with closing(sqlite3.connect(path)) as database:
        return [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {SQLITE.text(query.sql)}", query.params)]


@pytest.mark.parametrize(
    "query",
    [
        conversations.opened_with("usr_1", "agt_1", "digest", "", 2, 2),
        own_conversations.messages_between("agt_1", "usr_1"),
        own_conversations.listed("usr_1", ["agt_1"], 0, None, 10),
    ],
)
async def test_conversations_with_one_agent_are_found_by_user_and_agent(tmp_path: Path, query: Query[object]):
    plan = await plan_of(tmp_path, query)
    assert "SEARCH conversations USING INDEX conversations_agent (agent_id=? AND user_id=?)" in plan


async def test_due_push_configs_are_found_without_a_look_at_all_messages(tmp_path: Path):
    plan = await plan_of(tmp_path, push_configs.due_at(0, ("", ""), 10))
    assert not [step for step in plan if step.startswith("SCAN said")]
