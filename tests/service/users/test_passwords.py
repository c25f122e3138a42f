"""Attempts at passwords share one set of limits for all commands, and no flood locks others out."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES
from tests.support.clock import DAY_MS, ClockFile
from tests.support.gateway import PASSWORD, Answer, Client, GatewayProcess, running
from tests.support.operator import on_plan
from tests.support.stored import read, traces

WRONG = "not the password"
OTHER = "another horse battery"
own_password_apart = pytest.mark.one_node(reason="a user's home counts attempts at the user's own password apart")
user_limit_per_node = pytest.mark.one_node(reason="each node allows a user its hundred failures from everywhere")
_addresses = (f"198.18.{high}.{low}" for high in itertools.count() for low in range(1, 255))


def at(address: str | None = None) -> dict[str, str]:
    """Return headers of a caller at an address; by default, at one that no other test uses."""
    return {"X-Forwarded-For": address or next(_addresses)}


async def log_on(client: Client, name: str, secret: str, headers: dict[str, str]) -> Answer:
    return await client.command("US_LogOn", target={"user": name}, vx={"secret": secret}, headers=headers)


async def destroy(user: Client, secret: str, headers: dict[str, str]) -> Answer:
    return await user.command("US_Destroy", vx={"secret": secret}, headers=headers)


async def change(user: Client, secret: str, headers: dict[str, str]) -> Answer:
    return await user.command("US_Update", vx={"secret": secret}, headers=headers)


async def registered(client: Client, name: str) -> Client:
    """Register a user with many requests and log it on, from an address of its own."""
    vx = {"name": name, "secret": PASSWORD}
    (await client.command("US_Create", vx=vx, headers=at())).ok()
    token = (await log_on(client, name, PASSWORD, at())).ok().content[0]["token"]
    return await on_plan(Client(client.http, client.base, token, name), "enterprise")


# callers


async def test_the_user_is_destroyed_and_its_password_changed_by_who_has_logged_on_only(proxied: Client, unique: str):
    user = await registered(proxied, unique)
    made = await user.request("POST", "/api/api-keys", json={"name": "a key"})
    key = Client(user.http, user.base, made.body["key"], unique)
    for _ in range(12):  # not an attempt: the password is not checked
        for secret in (PASSWORD, WRONG):
            (await destroy(key, secret, at("198.51.100.1"))).refused(2003, 403)
            (await change(key, secret, at("198.51.100.1"))).refused(2003, 403)
    (await log_on(proxied, unique, PASSWORD, at("198.51.100.1"))).ok()


# the limits


@own_password_apart
async def test_wrong_passwords_of_us_destroy_count_as_failed_log_ons(proxied: Client, unique: str):
    user, here = await registered(proxied, unique), at()
    for number in range(10):
        attempt = destroy(user, WRONG, here) if number % 2 else log_on(proxied, unique, WRONG, here)
        (await attempt).refused(2002, 401)
    for answer in (
        await destroy(user, WRONG, here),
        await destroy(user, PASSWORD, here),
        await change(user, OTHER, here),
        await log_on(proxied, unique, PASSWORD, here),
    ):
        assert answer.refused(4001, 429).http == 429
        assert 200 <= int(answer.headers["Retry-After"]) <= 300
    (await user.command("US_Update", vx={"description": "d"}, headers=here)).ok()
    (await change(user, OTHER, at())).ok()
    (await destroy(user, OTHER, at())).ok()


@own_password_apart
async def test_wrong_passwords_of_us_destroy_count_against_the_address(proxied: Client, unique: str):
    users, here = [await registered(proxied, f"{unique}-{number}") for number in range(4)], at()
    for user in users[:3]:
        for _ in range(10):
            (await destroy(user, WRONG, here)).refused(2002, 401)
    (await destroy(users[3], PASSWORD, here)).refused(4001, 429)
    (await destroy(users[3], PASSWORD, at())).ok()


async def test_attempts_of_us_destroy_at_once_don_t_slip_through(proxied: Client, unique: str):
    user, here = await registered(proxied, unique), at()
    answers = await asyncio.gather(*(destroy(user, WRONG, here) for _ in range(40)))
    assert sorted(answer.code for answer in answers) == [*[2002] * 10, *[4001] * 30]


@own_password_apart
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2001:db8:{0}:1::1", "2001:db8:{0}:1:ffff:ffff:ffff:ffff"),
        ("::ffff:198.51.101.{0}", "198.51.101.{0}"),
    ],
)
async def test_addresses_that_are_one_caller_s_have_one_count(proxied: Client, unique: str, first: str, second: str):
    user, here, number = await registered(proxied, unique), at, next(_numbers)
    for _ in range(10):
        (await log_on(proxied, unique, WRONG, here(first.format(number)))).refused(2002, 401)
    (await log_on(proxied, unique, PASSWORD, here(second.format(number)))).refused(4001, 429)
    (await destroy(user, PASSWORD, here(second.format(number)))).refused(4001, 429)
    (await log_on(proxied, unique, PASSWORD, here(f"2001:db8:{number}:2::1"))).ok()


_numbers = itertools.count(1)


# the limit of a user for all addresses


async def fail_everywhere(client: Client, name: str) -> Counter[int]:
    """Try wrong passwords of a user from 12 addresses, 10 from each, at once; return the codes with their counts."""
    places = [at() for _ in range(12)]
    answers = await asyncio.gather(*(log_on(client, name, WRONG, place) for place in places for _ in range(10)))
    return Counter(answer.code for answer in answers)


@user_limit_per_node
async def test_a_hundred_failures_from_everywhere_stop_a_user_but_where_it_logged_on_of_late(
    proxied: Client, unique: str
):
    user, home, abroad = await registered(proxied, unique), at("2001:db8:aaaa:1::1"), at()
    (await log_on(proxied, unique, PASSWORD, home)).ok()
    assert await fail_everywhere(proxied, unique) == {2002: 100, 4001: 20}
    for answer in (
        await log_on(proxied, unique.upper(), PASSWORD, abroad),
        await destroy(user, PASSWORD, abroad),
        await change(user, OTHER, abroad),
    ):
        answer.refused(4001, 429)
    neighbour = at("2001:db8:aaaa:1::2")
    (await log_on(proxied, unique, WRONG, neighbour)).refused(2002, 401)
    (await log_on(proxied, unique, PASSWORD, neighbour)).ok()
    (await change(user, OTHER, home)).ok()
    (await destroy(user, OTHER, home)).ok()


@user_limit_per_node
async def test_a_hundred_failures_at_a_name_that_nobody_has_are_answered_as_those_at_a_user(
    proxied: Client, unique: str
):
    assert await fail_everywhere(proxied, unique) == {2002: 100, 4001: 20}
    (await log_on(proxied, unique, WRONG, at())).refused(4001, 429)


@dataclass
class Clocked:
    """A gateway with movable clocks behind a proxy."""

    gateway: GatewayProcess
    nobody: Client
    clock: ClockFile

    async def restart(self) -> None:
        assert await self.gateway.stop() == 0
        await self.gateway.start()
        self.nobody.base = self.gateway.base

    async def places(self, columns: str = "place") -> list[Any]:
        """Return the stored addresses of log-ons."""
        return await read(self.gateway, f"SELECT {columns} FROM logon_places")


@pytest.fixture
async def clocked(tmp_path: Path) -> AsyncIterator[Clocked]:
    clock = ClockFile(tmp_path / "clock")
    settings = {"TEST_CLOCK": str(clock.path), "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as nobody,
    ):
        yield Clocked(gateway, nobody, clock)


@user_limit_per_node
async def test_a_place_is_known_for_30_days_and_over_restarts(clocked: Clocked):
    await registered(clocked.nobody, "lovelace")
    early, late = at(), at()
    (await log_on(clocked.nobody, "lovelace", PASSWORD, early)).ok()
    clocked.clock.move(DAY_MS)
    (await log_on(clocked.nobody, "lovelace", PASSWORD, late)).ok()
    clocked.clock.move(29 * DAY_MS + 1000)
    assert await fail_everywhere(clocked.nobody, "lovelace") == {2002: 100, 4001: 20}
    (await log_on(clocked.nobody, "lovelace", PASSWORD, early)).refused(4001, 429)
    (await log_on(clocked.nobody, "lovelace", PASSWORD, late)).ok()
    assert len(await clocked.places()) == 3
    await clocked.restart()  # which forgets the failures, and starts housekeeping at once
    while len(await clocked.places()) != 1:
        await asyncio.sleep(0.01)
    assert await fail_everywhere(clocked.nobody, "lovelace") == {2002: 100, 4001: 20}
    (await log_on(clocked.nobody, "lovelace", PASSWORD, early)).refused(4001, 429)
    (await log_on(clocked.nobody, "lovelace", PASSWORD, late)).ok()


async def test_where_a_user_logged_on_is_stored_as_a_digest_and_goes_with_it(clocked: Clocked):
    user = await registered(clocked.nobody, "lovelace")
    other = await registered(clocked.nobody, "babbage")
    home = "203.0.113.77"
    for each in ("lovelace", "lovelace", "babbage"):
        (await log_on(clocked.nobody, each, PASSWORD, at(home))).ok()
    places = await clocked.places("user_id, place, last_at")
    assert Counter(len(place) for _, place, _ in places) == {32: 4}
    assert len({place for _, place, _ in places}) == 3
    (await destroy(user, PASSWORD, at())).ok()
    assert len({user_id for user_id, _, _ in await clocked.places("user_id, place, last_at")}) == 1
    (await destroy(other, PASSWORD, at())).ok()
    assert await clocked.places() == []
    assert await clocked.gateway.stop() == 0
    assert not await traces(clocked.gateway.data, home)


# time


async def test_limits_count_time_that_passes_whatever_the_time_of_day_is_set_to(clocked: Clocked):
    await registered(clocked.nobody, "lovelace")
    here = at()
    for _ in range(10):
        (await log_on(clocked.nobody, "lovelace", WRONG, here)).refused(2002, 401)
    clocked.clock.move(DAY_MS)
    (await log_on(clocked.nobody, "lovelace", PASSWORD, here)).refused(4001, 429)
    clocked.clock.move(-2 * DAY_MS)
    answer = (await log_on(clocked.nobody, "lovelace", PASSWORD, here)).refused(4001, 429)
    assert int(answer.headers["Retry-After"]) <= 300
    clocked.clock.tick(300_000)
    (await log_on(clocked.nobody, "lovelace", PASSWORD, here)).ok()


# floods

flood_of = pytest.mark.parametrize("size", [150, pytest.param(600, marks=pytest.mark.soak)])
"""More requests than the hasher and the limits let wait."""


@flood_of
@pytest.mark.parametrize("same_address", [True, False])
@pytest.mark.parametrize("flood", ["US_Destroy", "US_LogOn", "US_Update"])
async def test_a_user_s_flood_shuts_nobody_else_out(
    proxied: Client, unique: str, flood: str, same_address: bool, size: int
):
    flooder, other = await registered(proxied, unique), f"{unique}-other"
    await registered(proxied, other)
    there = at()
    here = there if same_address else at()
    first, ended = asyncio.Event(), 0

    async def one() -> int:
        nonlocal ended
        if flood == "US_Destroy":
            answer = await destroy(flooder, WRONG, there)
        elif flood == "US_LogOn":
            answer = await log_on(proxied, unique, PASSWORD, there)
        else:
            answer = await change(flooder, PASSWORD, there)
        ended += 1
        first.set()
        if answer.code in (4001, 5003):
            assert int(answer.headers["Retry-After"]) >= 1
        return answer.code

    flooding = [asyncio.create_task(one()) for _ in range(size)]
    await first.wait()
    log_ons = 0
    while ended < size or not log_ons:
        (await log_on(proxied, other, PASSWORD, here)).ok()
        log_ons += 1
    codes = Counter(await asyncio.gather(*flooding))
    assert codes.keys() <= {0, 2002, 4001, 5003}, codes
    assert codes[2002] == (10 if flood == "US_Destroy" else 0)
    assert codes[0] >= (0 if flood == "US_Destroy" else 10)


@flood_of
async def test_a_flood_of_registrations_from_one_address_shuts_nobody_elsewhere_out(
    proxied: Client, unique: str, size: int
):
    await registered(proxied, unique)
    there, here = at(), at()
    first, ended = asyncio.Event(), 0

    async def one(number: int) -> int:
        nonlocal ended
        vx = {"name": f"{unique}-{number}", "secret": PASSWORD}
        answer = await proxied.command("US_Create", vx=vx, headers=there)
        ended += 1
        first.set()
        return answer.code

    flooding = [asyncio.create_task(one(number)) for number in range(size)]
    await first.wait()
    while ended < size:
        (await log_on(proxied, unique, PASSWORD, here)).ok()
    assert Counter(await asyncio.gather(*flooding)).keys() == {0, 5003}


@user_limit_per_node
async def test_a_flood_at_one_name_from_many_addresses_shuts_nobody_else_out(proxied: Client, unique: str):
    victim, other = f"{unique}-victim", f"{unique}-other"
    await registered(proxied, victim)
    await registered(proxied, other)
    flooding = [asyncio.create_task(log_on(proxied, victim, WRONG, at())) for _ in range(200)]
    await asyncio.wait(flooding, return_when=asyncio.FIRST_COMPLETED)
    while not all(task.done() for task in flooding):
        (await log_on(proxied, other, PASSWORD, at())).ok()
    codes = Counter(answer.code for answer in await asyncio.gather(*flooding))
    assert codes == {2002: 100, 4001: 100}
