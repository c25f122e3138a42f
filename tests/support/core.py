"""A gateway without HTTP: the actors in this process over a real store."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from actors.core import Core, CoreOptions
from actors.engines.recall import RecallEngine
from actors.engines.turn import Engine
from actors.ids import Clock, new_id, system_clock
from actors.sealing import Sealer
from actors.users.passwords import HashCost, PasswordHasher
from persistence import users
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.stores import opened

CHEAP = HashCost(memory_kib=8, iterations=1)
"""Minimal parameters of Argon2id, because OWASP's cost 20 ms of processor time each and few tests concern hashing."""


@asynccontextmanager
async def open_core(
    folder: Path,
    clock: Clock = system_clock,
    options: CoreOptions | None = None,
    before_commit: Callable[[], None] | None = None,
    engine: Engine | None = None,
    hasher: PasswordHasher | None = None,
) -> AsyncIterator[Core]:
    """Run a core with its database in a folder."""
    store = await opened(folder / "parley.db", before_commit=before_commit)
    hasher = hasher or PasswordHasher(cost=CHEAP)
    core = Core(store, engine or RecallEngine(), Sealer(bytes(32)), options or CoreOptions(), clock, hasher=hasher)
    try:
        yield core
    finally:
        await core.close(5)


async def make_user(
    core: Core, name: str | None = None, plan: str = "enterprise", limit: int | None = None, secret_hash: str = "hash"
) -> UserRow:
    """Store a user."""
    id = new_id("usr")
    user = UserRow(id, name or id, None, None, secret_hash, plan, limit, 0)
    await core.store.commit(Unit((users.insert(user),)))
    return user
