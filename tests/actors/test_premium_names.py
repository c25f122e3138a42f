"""Premium names, for agents and domains: which plans have them, and what a change of plan leaves."""

import pytest

from tests.support.gateway import Client
from tests.support.operator import on_plan


async def test_premium_names_come_and_go_with_the_plan(user: Client, unique: str):
    name = unique[-4:]
    vx = {"name": name, "description": "d"}
    (await user.command("AP_Create", vx=vx)).refused(2004, 403)
    await on_plan(user, "builder")
    (await user.command("AP_Create", vx=vx)).refused(2004, 403)
    await on_plan(user, "scale")
    (await user.command("AP_Create", vx=vx)).ok()
    await on_plan(user, "free")
    (await user.command("AP_Read", target={"agent": name})).ok()  # existing ones stay


@pytest.mark.parametrize("plan", ["scale", "enterprise"])
async def test_premium_names_are_for_plans_that_have_them(user: Client, plan: str):
    premium = {"scale": "a-9", "enterprise": "a.b9"}[plan]
    await on_plan(user, plan)
    await user.agent(premium)
    await on_plan(user, "free")
    # A taken name stays taken, in other cases too, and no new one is allowed.
    (await user.command("AP_Modify", target={"agent": premium}, vx={"name": premium.upper()})).ok()
    (await user.command("AP_Create", vx={"name": "a-8", "description": "d"})).refused(2004, 403)


async def test_five_characters_are_no_premium_name(user: Client):
    await user.agent("five5")
