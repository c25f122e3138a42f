"""US_Create under the operator's settings: closed gateways, default plans, the limit per address."""

from pathlib import Path
from typing import Any

from tests.support.gateway import PASSWORD, Answer, running
from tests.support.log_ons import works

SECRET = "a secret of the operator"


async def test_a_closed_gateway_takes_no_registrations_but_log_ons(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        await client.register("lovelace")
    async with running(tmp_path / "data", PARLEY_REGISTRATION="closed") as gateway, gateway.client() as client:
        (await client.command("US_Create", vx={"name": "babbage", "secret": PASSWORD})).refused(2003, 403)
        assert await works(await client.log_on("lovelace"))


async def test_on_a_closed_gateway_the_operator_registers_users(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_REGISTRATION": "closed", "INTERNAL_SECRET": SECRET}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        babbage: dict[str, Any] = {"vx": {"name": "babbage", "secret": PASSWORD}}
        for wrong in ({}, {"X-Internal-Secret": "wrong"}):
            (await client.command("US_Create", **babbage, headers=wrong)).refused(2003, 403)
        (await client.command("US_Create", **babbage, headers={"X-Internal-Secret": SECRET})).ok()
        assert await works(await client.log_on("babbage"))


async def test_a_new_user_is_on_the_default_plan(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="scale") as gateway, gateway.client() as client:
        user = await client.register("ada")  # a premium name
        record = (await user.command("US_Read")).ok().profile[0]
        assert (record["plan"], record["quota"]["limit"]) == ("scale", 50_000)


async def test_an_operator_s_short_name_needs_no_plan_but_the_secret(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_OPERATORS": "boss", "INTERNAL_SECRET": SECRET}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        boss, other = ({"name": name, "secret": PASSWORD} for name in ("Boss", "Bose"))
        (await client.command("US_Create", vx=boss)).refused(2003, 403)
        (await client.command("US_Create", vx=other, headers={"X-Internal-Secret": SECRET})).refused(2004, 403)
        (await client.command("US_Create", vx=boss, headers={"X-Internal-Secret": SECRET})).ok()
        assert await works(await client.log_on("boss"))


async def test_registrations_are_limited_per_address(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "3", "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:

        async def register(name: str, address: str) -> Answer:
            vx = {"name": name, "secret": PASSWORD}
            return await client.command("US_Create", vx=vx, headers={"X-Forwarded-For": address})

        for wrong in ("-", "x"):  # invalid requests use nothing up
            (await register(wrong, "192.0.2.1")).refused(1003, 400)
        for number in range(3):
            (await register(f"user-{number}", "192.0.2.1")).ok()
        refused = (await register("user-3", "192.0.2.1")).refused(4001, 429)
        assert 3_500 <= int(refused.headers["Retry-After"]) <= 3_600
        (await register("user-3", "192.0.2.2")).ok()
        assert await works(await client.log_on("user-1"))
