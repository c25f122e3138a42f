"""Attachments and offers: memory and rows stay the same, old databases become new ones, banks come in order."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from actors.banks.attachments import LEVELS, Attachments
from actors.banks.messages import BankViewer, Grant
from actors.text import tokenizer
from persistence import agents, banks, offers, users
from persistence.agents import AgentRow
from persistence.banks import AttachmentRow, BankRow
from persistence.sqlite.migrate import MIGRATIONS
from persistence.store import Store, StoreUnavailable, Unit
from persistence.users import UserRow
from tests.support.disk import open_store, rows
from tests.support.stores import sqlite_only

OFFERS = int(next(MIGRATIONS.glob("*_offers.sql")).name[:4])
"""The number of the migration that made offers of attachments."""


def user(number: int) -> UserRow:
    return UserRow(f"usr_{number}", f"user-{number}", None, None, "hash", "free", None, 0)


def agent(number: int, owner: int) -> AgentRow:
    name = f"agent-{number}"
    return AgentRow(f"agt_{number}", f"usr_{owner}", f"user-{owner}", name, "", None, "agent", True, 0, 0)


def bank(number: int, owner: int, name: str) -> BankRow:
    return BankRow(number, f"bnk_{number}", f"usr_{owner}", f"user-{owner}", name, None, "public", 0, 0, 0, number)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store with a bank of user 1's, and an agent of each of two users."""
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(user(1)), users.insert(user(2)))))
        await store.commit(Unit((agents.insert(agent(1, 1)), agents.insert(agent(2, 2)))))
        await store.commit(Unit(banks.insert(bank(1, 1, "notes"), tokenizer.VERSION)))
        yield store


def states(found: list[AttachmentRow]) -> dict[tuple[str, str], AttachmentRow]:
    return {(row.agent_id, row.state): row for row in found}


@pytest.mark.parametrize("seed", range(4))
async def test_memory_and_rows_are_the_same_after_any_changes(store: Store, seed: int):
    random = Random(seed)
    kept = Attachments()
    for now in range(1, 150):
        number = random.choice((1, 2))
        agent_id = f"agt_{number}"
        what = random.choice(("owner", "another", "another", "accept", "detach"))
        if what == "accept":
            if (offer := kept.offered.get(agent_id)) is None:
                continue
            attachment = kept.accepted(offer, now)
            kept.drop(agent_id)
            kept.attached[agent_id] = attachment
            writes = list(offers.accept("bnk_1", agent_id, offer.permission, attachment.since))
        elif what == "detach":
            writes = [banks.detach("bnk_1", agent_id), offers.withdraw("bnk_1", agent_id, tuple(LEVELS))]
            kept.drop(agent_id)
        else:
            viewer = BankViewer(f"usr_{number if what == 'owner' else 3 - number}")
            permission = random.choice(tuple(LEVELS))
            grant = Grant(viewer, agent_id, f"usr_{number}", f"agent-{number}", permission, None)
            writes = kept.writes("bnk_1", grant, now)
            kept.grant(grant, now)
        await store.commit(Unit(tuple(writes)))
        found = await store.fetch(offers.all_of_bank("bnk_1"))
        assert states(found) == states([*kept.attached.values(), *kept.offered.values()]), (now, what)
        for id, offered in kept.offered.items():
            held = kept.attached.get(id)
            assert LEVELS[offered.permission] > LEVELS[held.permission if held else "none"]


async def test_what_is_accepted_is_just_what_was_offered(store: Store):
    await store.commit(Unit((offers.put("bnk_1", "agt_2", "read", 1, []),)))
    with pytest.raises(StoreUnavailable):
        await store.commit(Unit(offers.accept("bnk_1", "agt_2", "admin", 2)))
    assert await rows(store, "SELECT permission FROM attachments") == []
    await store.commit(Unit(offers.accept("bnk_1", "agt_2", "read", 2)))
    assert await rows(store, "SELECT permission, since FROM attachments") == [("read", 2)]
    assert await rows(store, "SELECT * FROM offers") == []


async def test_a_destroyed_agent_is_offered_nothing(store: Store):
    grant = Grant(BankViewer("usr_1"), "agt_2", "usr_2", "agent-2", "read", None)
    await store.commit(Unit(tuple(Attachments().writes("bnk_1", grant, 1))))
    await store.commit(Unit(agents.destroy("agt_2", 2)))
    assert await rows(store, "SELECT * FROM offers") == []
    with pytest.raises(StoreUnavailable):
        await store.commit(Unit(tuple(Attachments().writes("bnk_1", grant, 3))))
    assert await rows(store, "SELECT * FROM offers") == []


async def test_banks_are_looked_at_the_owner_s_first_then_by_the_age_of_the_attachment(store: Store):
    since = {"c-own": (2, 9), "a-own": (2, 8), "b-young": (1, 7), "d-old": (1, 3), "e-older": (1, 1)}
    for number, (name, (owner, at)) in enumerate(since.items(), 2):
        await store.commit(Unit(banks.insert(bank(number, owner, name), tokenizer.VERSION)))
        await store.commit(Unit((banks.attach(f"bnk_{number}", "agt_2", "read", at),)))
    found = await store.fetch(banks.recalled_by("agt_2", "usr_1", 4))
    assert [row.name for row in found] == ["a-own", "c-own", "e-older", "d-old"]
    found = await store.fetch(banks.of_agent("agt_2", "usr_1", 4))
    assert [row.name for row in found] == ["a-own", "b-young", "c-own", "d-old"]


OLD = """
INSERT INTO users (id, name, name_key, secret_hash, plan, created_at) VALUES
    ('usr_1', 'owner', 'owner', 'h', 'free', 0), ('usr_2', 'guest', 'guest', 'h', 'free', 0);
INSERT INTO agents (id, owner_id, name, name_key, description, access, online, created_at, updated_at) VALUES
    ('agt_own', 'usr_1', 'own', 'own', '', 'public', 1, 0, 0),
    ('agt_idle', 'usr_2', 'idle', 'idle', '', 'public', 1, 0, 0),
    ('agt_author', 'usr_2', 'author', 'author', '', 'public', 1, 0, 0),
    ('agt_nothing', 'usr_2', 'nothing', 'nothing', '', 'public', 1, 0, 0);
INSERT INTO banks (id, owner_id, name, name_key, access, created_at, updated_at) VALUES
    ('bnk_1', 'usr_1', 'notes', 'notes', 'agent', 0, 0), ('bnk_2', 'usr_1', 'other', 'other', 'agent', 0, 0);
INSERT INTO attachments (bank_id, agent_id, permission, since) VALUES
    ('bnk_1', 'agt_own', 'admin', 1), ('bnk_2', 'agt_own', 'none', 2),
    ('bnk_1', 'agt_idle', 'write', 3), ('bnk_1', 'agt_nothing', 'none', 4),
    ('bnk_1', 'agt_author', 'write', 5), ('bnk_2', 'agt_author', 'read', 6);
INSERT INTO memories (place, bank_id, id, name, text, author_id, censored, created_at, updated_at) VALUES
    (1, 'bnk_1', 'mem_1', 'mine', 'text', 'agt_own', 0, 0, 0),
    (2, 'bnk_1', 'mem_2', 'theirs', NULL, 'agt_author', 1, 0, 0);
"""


@sqlite_only
async def test_attachments_that_nobody_consented_to_become_offers(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "test.db")) as old:
        for file in sorted(MIGRATIONS.glob("*.sql")):
            if int(file.name[:4]) < OFFERS:
                old.executescript(file.read_text(encoding="utf-8"))
        old.executescript(f"{OLD} PRAGMA user_version = {OFFERS - 1};")
    async with open_store(tmp_path) as store:
        found = [
            (row.agent, row.permission, row.since, row.state)
            for bank_id in ("bnk_1", "bnk_2")
            for row in await store.fetch(offers.page_of_bank(bank_id, None, "", 9))
        ]
        assert found == [
            ("author", "write", 5, "attached"),  # it has written there
            ("idle", "write", 3, "offered"),
            ("own", "admin", 1, "attached"),
            ("author", "read", 6, "offered"),
            ("own", "none", 2, "attached"),
        ]
        assert await rows(store, "PRAGMA foreign_key_check") == []
        (offer,) = await store.fetch(offers.of_agent("agt_idle", 9))
        assert offer == ("notes", "owner", "write", 3)
