"""Several nodes with a store of their own on one database: quotas over take-overs, and the master key of two starts."""

import asyncio
import base64
import random
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest

from actors.core import Core, CoreOptions
from actors.engines.recall import RecallEngine
from actors.errors import ServiceError
from actors.quotas.messages import COUNT, QUOTA
from actors.sealing import Sealer
from actors.users.passwords import PasswordHasher
from config.master_key import MasterKeyError
from config.settings import load_settings
from persistence.ledger import NodeRow
from persistence.postgres.ledger import PostgresLedger
from persistence.postgres.store import PostgresStore
from server import prepare_sealer
from tests.support.core import CHEAP, make_user
from tests.support.stores import database_for, postgres_only

pytestmark = [postgres_only, pytest.mark.usefixtures("patient_ledgers")]

TTL_S = 0.5
LIMIT = 600
BLOCK = LIMIT // 100
TAKE_OVERS = 6


@dataclass
class Database:
    """A database with nodes on it; `stack` closes them."""

    url: str
    admin: asyncpg.Connection
    stack: AsyncExitStack
    served: int = 0
    """The number of requests that were counted and answered, by any node."""
    ledgers: dict[str, PostgresLedger] = field(default_factory=dict[str, PostgresLedger])

    async def store(self) -> tuple[NodeRow, PostgresStore]:
        ledger = PostgresLedger(self.url, TTL_S)
        self.stack.push_async_callback(ledger.close)
        row = await ledger.join("node", "1", 1, "")
        await ledger.set_draining(False)
        self.ledgers[row.id] = ledger
        store = await PostgresStore.open(self.url, cluster=row)
        self.stack.push_async_callback(store.close)
        return row, store

    async def node(self) -> tuple[NodeRow, Core]:
        row, store = await self.store()
        core = Core(
            store, RecallEngine(), Sealer(bytes(32)), CoreOptions(), hasher=PasswordHasher(threads=1, cost=CHEAP)
        )
        self.stack.push_async_callback(core.stop, 1)
        return row, core

    async def take_over(self, dead: NodeRow, heir: NodeRow) -> None:
        """Let a node's lease expire, and have another one fence it."""
        await self.admin.execute("UPDATE nodes SET expires = clock_timestamp() - interval '1 s' WHERE id = $1", dead.id)
        async with asyncio.timeout(30):
            while not await self.ledgers[heir.id].take_over(dead.id, {}):
                await asyncio.sleep(0.05)

    async def request(self, core: Core, user_id: str) -> None:
        """Have a request counted, and answered once its count is covered by the stored bound, as admission does."""
        try:
            status = await core.directory.ask(QUOTA, user_id, COUNT)
            if status.admitted and status.stored is not None:
                await status.stored
        except ServiceError:
            return
        self.served += status.admitted


def new_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


@asynccontextmanager
async def database(folder: Path) -> AsyncIterator[Database]:
    url = await database_for(folder / "nodes.db")
    async with AsyncExitStack() as stack:
        admin = await asyncpg.connect(url)
        stack.push_async_callback(admin.close)
        yield Database(url, admin, stack)


@pytest.mark.parametrize("seed", range(3))
async def test_over_take_overs_a_user_gets_no_more_than_its_limit_and_loses_a_block_for_each_at_most(
    tmp_path: Path, seed: int
):
    chance = random.Random(seed)
    async with database(tmp_path) as on:
        row, core = await on.node()
        user = await make_user(core, plan="enterprise", limit=LIMIT)
        for _ in range(TAKE_OVERS):
            heir, heirs = await on.node()
            ended = asyncio.Event()

            async def load(of: Core, ended: asyncio.Event = ended) -> None:
                while not ended.is_set():
                    await asyncio.gather(*(on.request(of, user.id) for _ in range(chance.randint(1, 12))))
                    await asyncio.sleep(chance.uniform(0, 0.02))

            loads = [asyncio.create_task(load(core))]
            await asyncio.sleep(chance.uniform(0, 0.03))
            await on.take_over(row, heir)
            loads.append(asyncio.create_task(load(heirs)))  # the dead one goes on: only the fence stops it
            await asyncio.sleep(chance.uniform(0, 0.03))
            ended.set()
            await asyncio.gather(*loads)
            assert on.served < LIMIT
            row, core = heir, heirs
        await asyncio.gather(*(on.request(core, user.id) for _ in range(2 * LIMIT)))
        assert LIMIT - TAKE_OVERS * BLOCK <= on.served <= LIMIT


async def test_two_nodes_that_start_at_once_agree_on_the_master_key_or_one_is_refused(tmp_path: Path):
    async with database(tmp_path) as on:
        stores = [(await on.store())[1] for _ in range(2)]
        for round in range(10):
            await on.admin.execute("DELETE FROM master_key")
            first, second = new_key(), new_key()
            keys = (first, second) if round % 2 else (first, first)
            settings = [load_settings({"PARLEY_STORE_URL": on.url, "PARLEY_MASTER_KEY": key}) for key in keys]
            outcomes = await asyncio.gather(*map(prepare_sealer, stores, settings), return_exceptions=True)
            refused = [outcome for outcome in outcomes if isinstance(outcome, MasterKeyError)]
            assert len(refused) == round % 2
            assert sum(isinstance(outcome, Sealer) for outcome in outcomes) == 2 - round % 2
            assert await on.admin.fetchval("SELECT count(*) FROM master_key") == 1
