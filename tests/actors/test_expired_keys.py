"""Sessions, API keys and users of sandbox keys end at their time, by a clock that the test moves, over restarts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.core import CoreOptions
from actors.jobs.expiry import keep_house
from persistence.store import Unit, Write
from tests.support.clock import DAY_MS, MovableClock
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway, commanded
from tests.support.operator import SECRET, on_plan, set_plan
from tests.support.stores import opened

KEYS = "/api/api-keys"
SANDBOX = "/api/dev/sandbox-key"


@dataclass
class Clocked:
    """A core with its bus and its housekeeping that issues sandbox keys, and whose clock can be moved."""

    folder: Path
    clock: MovableClock
    running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self) -> None:
        options = CoreOptions(registrations_per_hour=0, sandbox_keys=True)
        self.gateway: CoreGateway = await self.running.enter_async_context(
            commanded(self.folder, options=options, clock=self.clock)
        )
        housekeeping = asyncio.create_task(keep_house(self.gateway.core))
        self.running.callback(housekeeping.cancel)

    async def restart(self, meanwhile: Callable[[Path], Awaitable[None]] | None = None) -> None:
        await self.running.aclose()
        if meanwhile is not None:
            await meanwhile(self.folder / "parley.db")
        await self.start()

    def use(self, client: Client) -> Client:
        """Return a client with the same credential, at the core that runs now."""
        return CommandClient(self.gateway, client.token, client.name)

    @property
    def nobody(self) -> Client:
        return CommandClient(self.gateway)

    async def sandbox(self) -> Client:
        answer = await self.nobody.request("POST", SANDBOX)
        assert answer.http == 201, answer.body
        return self.nobody.as_user(answer.body["key"])


@pytest.fixture
async def clocked(tmp_path: Path, clock: MovableClock) -> AsyncIterator[Clocked]:
    clocked = Clocked(tmp_path, clock)
    await clocked.start()
    yield clocked
    await clocked.running.aclose()


async def make_key(owner: Client, **more: Any) -> tuple[dict[str, Any], Client]:
    """Make an API key; return its record and a client with it."""
    answer = await owner.request("POST", KEYS, json={"name": "a key", **more})
    assert answer.http == 201, answer.body
    return answer.body, owner.as_user(answer.body["key"], owner.name)


async def test_a_key_ends_at_its_time_and_not_for_lack_of_use(clocked: Clocked):
    owner = await on_plan(await clocked.nobody.register("lovelace"), "builder")
    _, short = await make_key(owner, expires_in_days=2)
    made, endless = await make_key(owner)
    clocked.clock.now += 2 * DAY_MS - 60_000
    (await owner.command("US_Read")).refused(2001, 401)  # unused sessions end
    (await short.command("US_Read")).ok()
    clocked.clock.now += 61_000
    assert "expired" in (await short.command("US_Read")).refused(2001, 401).note
    (await endless.command("US_Read")).ok()
    clocked.clock.now += 4_000 * DAY_MS
    await clocked.restart()
    owner = await clocked.nobody.log_on("lovelace")
    short, endless = clocked.use(short), clocked.use(endless)
    (await short.command("US_Read")).refused(2001, 401)
    (await endless.command("US_Read")).ok()
    listed = (await owner.request("GET", KEYS)).body["api_keys"]
    (entry,) = [key for key in listed if key["id"] == made["id"]]
    used_at = datetime.fromisoformat(entry["last_used_at"]).timestamp() * 1000
    assert abs(used_at - clocked.clock.now) < 60_000


async def test_a_use_after_the_clock_was_set_back_counts_as_the_last_one(clocked: Clocked):
    right = clocked.clock.now
    clocked.clock.now += 400 * DAY_MS
    user = await clocked.nobody.register("lovelace")
    clocked.clock.now = right
    (await user.command("US_Read")).ok()
    await clocked.restart()
    clocked.clock.now += DAY_MS
    (await clocked.use(user).command("US_Read")).refused(2001, 401)


async def test_users_of_sandbox_keys_are_removed_after_30_days_without_use_or_when_revoked(clocked: Clocked):
    unused, used, revoked = keys = [await clocked.sandbox() for _ in range(3)]
    names = [(await key.command("US_Read")).ok().profile[0]["name"] for key in keys]
    await unused.agent("left-agent", access="public")
    lovelace = await on_plan(await clocked.nobody.register("lovelace"), "builder")
    await lovelace.register("an-imitator")
    clocked.clock.now += 20 * DAY_MS
    (await used.command("US_Read")).ok()
    clocked.clock.now += 10 * DAY_MS + 60_000
    path = f"{KEYS}/{await _id_of(revoked)}"
    assert (await revoked.request("DELETE", path)).http == 204
    await clocked.restart(partial(rename, "an-imitator", "sandbox-imitator"))
    unused, used, revoked = (clocked.use(key) for key in keys)
    lovelace = await clocked.nobody.log_on("lovelace")
    for _ in range(600):
        there = [(await set_plan(lovelace, name, "free")).http for name in names]
        if there == [404, 200, 404]:
            break
        await asyncio.sleep(0.05)
    assert there == [404, 200, 404]
    (await used.command("US_Read")).ok()
    for key in (unused, revoked):
        (await key.command("US_Read")).refused(2001, 401)
    (await lovelace.command("AP_Read", target={"agent": "left-agent"})).refused(3000, 404)
    await clocked.nobody.log_on("sandbox-imitator")


async def rename(name: str, to: str, path: Path) -> None:
    """Give a user a name that was allowed before it was reserved."""
    store = await opened(path)
    rename = Write("UPDATE users SET name = ?1, name_key = ?1 WHERE name = ?2", (to, name), rows=1)
    await store.commit(Unit((rename,)))
    await store.close()


async def _id_of(key: Client) -> str:
    """Return the id of a sandbox key's credential, from the live actors."""
    name = (await key.command("US_Read")).ok().context["user"]
    actors = (await key.request("GET", "/debug/actors?kind=key", headers=SECRET)).body["actors"]
    for actor in actors:
        page = await key.request("GET", f"/debug/actors/key/{actor['key']}", headers=SECRET)
        if page.body["state"]["user"] == name:
            return actor["key"]
    raise AssertionError("the key has no live actor")
