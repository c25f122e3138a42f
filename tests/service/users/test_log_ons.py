"""US_LogOn: wrong passwords, changed ones, and the limits of attempts."""

import asyncio

import pytest

from tests.support.gateway import PASSWORD, Client
from tests.support.log_ons import OTHER, WRONG, elsewhere, log_on, works

KELVIN = "\u212a"


async def test_a_log_on_by_a_name_that_is_not_ascii_is_an_unknown_user_s(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(f"k{unique}")
    known = (await log_on(proxied, f"K{unique}", WRONG, **address)).refused(2002, 401)
    for strange in (f"{KELVIN}{unique}", "äöü", "\U0001f600" * 50, "\u0130"):
        assert (await log_on(proxied, strange, PASSWORD, **address)).refused(2002, 401).note == known.note


@pytest.mark.parametrize("secret", [PASSWORD.upper(), PASSWORD + " ", PASSWORD[:-1], "short"])
async def test_a_password_that_is_nearly_right_is_wrong(
    proxied: Client, unique: str, address: dict[str, str], secret: str
):
    await proxied.register(unique)
    (await log_on(proxied, unique, secret, **address)).refused(2002, 401)


async def test_a_new_password_ends_the_other_sessions_and_is_the_only_one(
    proxied: Client, unique: str, address: dict[str, str]
):
    user = await proxied.register(unique)
    others = [await proxied.log_on(unique) for _ in range(2)]
    (await user.command("US_Update", vx={"secret": OTHER})).ok()
    assert await works(user)
    assert not any([await works(other) for other in others])
    (await log_on(proxied, unique, PASSWORD, **address)).refused(2002, 401)
    assert await works(await proxied.log_on(unique, OTHER))


async def test_a_log_on_that_races_a_change_of_password_leaves_no_session_of_the_old_one(
    proxied: Client, unique: str, address: dict[str, str]
):
    user = await proxied.register(unique)
    update = user.command("US_Update", vx={"secret": OTHER})
    *log_ons, changed = await asyncio.gather(*(log_on(proxied, unique, **address) for _ in range(8)), update)
    changed.ok()
    assert {answer.code for answer in log_ons} <= {0, 2002}
    tokens = [answer.content[0]["token"] for answer in log_ons if answer.code == 0]
    assert not any([await works(Client(proxied.http, proxied.base, token)) for token in tokens])


async def test_a_wrong_password_destroys_nothing(proxied: Client, unique: str):
    user = await proxied.register(unique)
    (await user.command("US_Destroy", vx={"secret": WRONG})).refused(2002, 401)
    assert await works(user)


async def test_destroy_removes_the_user_and_ends_its_sessions(proxied: Client, unique: str, address: dict[str, str]):
    user, other = await proxied.register(unique), await proxied.log_on(unique)
    assert (await user.command("US_Destroy", vx={"secret": PASSWORD})).ok().context["user"] is None
    assert not await works(user)
    assert not await works(other)
    (await log_on(proxied, unique, **address)).refused(2002, 401)


async def test_ten_failed_log_ons_stop_a_user_from_an_address_even_with_the_right_password(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(unique)
    await proxied.register(f"{unique}-other")
    for number in range(10):
        name = unique if number % 2 else unique.upper()
        (await log_on(proxied, name, WRONG, **address)).refused(2002, 401)
    for secret in (WRONG, PASSWORD):
        answer = (await log_on(proxied, unique, secret, **address)).refused(4001, 429)
        assert answer.http == 429
        assert 200 <= int(answer.headers["Retry-After"]) <= 300
    (await log_on(proxied, f"{unique}-other", **address)).ok()
    (await log_on(proxied, unique, **elsewhere())).ok()


async def test_log_ons_that_succeed_are_not_counted(proxied: Client, unique: str, address: dict[str, str]):
    await proxied.register(unique)
    for _ in range(9):
        (await log_on(proxied, unique, WRONG, **address)).refused(2002, 401)
    for _ in range(12):
        (await log_on(proxied, unique, **address)).ok()
    (await log_on(proxied, unique, WRONG, **address)).refused(2002, 401)
    (await log_on(proxied, unique, **address)).refused(4001, 429)


async def test_thirty_failed_log_ons_stop_an_address_for_all_users(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(unique)
    for number in range(30):
        (await log_on(proxied, f"{unique}-{number}", WRONG, **address)).refused(2002, 401)
    (await log_on(proxied, unique, **address)).refused(4001, 429)
    (await log_on(proxied, unique, **elsewhere())).ok()


async def test_tries_at_once_don_t_slip_through(proxied: Client, unique: str, address: dict[str, str]):
    await proxied.register(unique)
    tries = await asyncio.gather(*(log_on(proxied, unique, WRONG, **address) for _ in range(25)))
    assert sorted(answer.code for answer in tries) == [*[2002] * 10, *[4001] * 15]
