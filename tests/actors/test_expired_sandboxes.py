"""The removal of users of expired sandbox keys: one that fails holds up no other."""

from actors.core import Core
from actors.jobs.expiry import remove_expired
from persistence.store import Query
from persistence.users import NO_PASSWORD, SANDBOX_PREFIX
from tests.support.clock import DAY_MS, MovableClock
from tests.support.core import make_user
from tests.support.disk import Disk


async def left(core: Core) -> int:
    (count,) = await core.store.fetch(Query("SELECT count(*) FROM users", (), lambda row: row[0]))
    return count


async def test_a_user_who_can_t_be_removed_holds_up_no_other(core: Core, disk: Disk, clock: MovableClock):
    clock.now += 60 * DAY_MS
    for number in range(3):
        await make_user(core, f"{SANDBOX_PREFIX}{number}", "free", secret_hash=NO_PASSWORD)
    first = disk.commits + 2  # after that of what else has expired
    disk.fails = lambda: disk.commits == first
    await remove_expired(core)
    assert await left(core) == 1
    await remove_expired(core)
    assert await left(core) == 0
