"""`context` holds the names selected after the command, with an Idempotency-Key too (docs/contract.md, "Answers")."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.gateway import Answer, Client
from tests.support.idempotent import REPLAYED, Scene, keyed, once

Case = Callable[[Scene, dict[str, str]], Awaitable[Answer]]


async def selected(scene: Scene, access: str) -> Scene:
    """Let owner and guest, both members of a domain, have selected it."""
    await scene.move("DM_Invite")
    await scene.move("DM_Join", scene.guest)
    vx = {"name": scene.domain, "description": "d", "access": access}
    await scene.do("DM_Update", target={"domain": scene.domain}, vx=vx)
    for user in (scene.owner, scene.guest):
        await scene.do("DM_Select", user, target={"domain": scene.domain})
    return scene


async def rename(scene: Scene, key: dict[str, str]) -> Answer:
    vx = {"name": f"{scene.name}-renamed", "description": "d"}
    return await scene.owner.command("DM_Update", headers=key, vx=vx)


async def destroy_the_founder(scene: Scene, key: dict[str, str]) -> Answer:
    return await scene.owner.command("AP_Destroy", headers=key)


async def destroy_a_member(scene: Scene, key: dict[str, str]) -> Answer:
    return await scene.guest.command("AP_Destroy", headers=key, target={"agent": scene.guest_agent})


async def leave(scene: Scene, key: dict[str, str]) -> Answer:
    return await scene.guest.command("DM_Leave", headers=key, target={"agent": scene.guest_agent})


async def leave_one_of_two(scene: Scene, key: dict[str, str]) -> Answer:
    second = f"{scene.name}-second"
    await scene.guest.agent(second)
    await scene.do("DM_Invite", scene.guest, target={"agent": second})
    return await leave(scene, key)


CASES: list[tuple[Case, str, str | None]] = [
    (rename, "public", "-renamed"),
    (destroy_the_founder, "public", None),
    (destroy_a_member, "public", "-domain"),
    (destroy_a_member, "domain", None),
    (leave, "public", "-domain"),
    (leave, "domain", None),
    (leave, "bank", None),
    (leave_one_of_two, "domain", "-domain"),
]


@pytest.mark.parametrize("key", [{}, keyed("k")], ids=["without a key", "with a key"])
@pytest.mark.parametrize(("case", "access", "domain"), CASES)
async def test_the_context_has_the_domain_as_it_is_after_the_command(
    scene: Scene, case: Case, access: str, domain: str | None, key: dict[str, str]
):
    answer = await case(await selected(scene, access), key)
    name = None if domain is None else scene.name + domain
    zone = None if domain is None else "lobby"
    context: dict[str, Any] = answer.ok().context
    assert (context["domain"], context["zone"]) == (name, zone)
    client = scene.owner if case in (rename, destroy_the_founder) else scene.guest
    assert (await client.command("US_Read")).ok().context == context
    if key:
        again = await case(scene, key) if case is not leave_one_of_two else await leave(scene, key)
        assert (again.body, again.headers[REPLAYED]) == (answer.body, "true")


@pytest.mark.parametrize("key", [{}, keyed("k")], ids=["without a key", "with a key"])
@pytest.mark.parametrize("service", ["AP_Update", "AP_Modify", "DM_Update"])
async def test_a_rename_that_is_refused_leaves_the_context(scene: Scene, service: str, key: dict[str, str]):
    await selected(scene, "public")
    taken = scene.guest_agent if service.startswith("AP") else f"{scene.name}-taken"
    await scene.do("DM_Create", vx={"name": f"{scene.name}-taken", "description": "d"})
    context = (await scene.owner.command("US_Read")).ok().context
    answer = await scene.owner.command(service, headers=key, vx={"name": taken, "description": "d"})
    assert answer.refused(3001, 409).context == context


async def test_a_log_off_with_a_key_leaves_no_context(user: Client):
    first, second = await user.log_on(user.name), await user.log_on(user.name)
    assert (await once(first, "k", "US_LogOff")).ok().context["user"] is None
    own = next(session for session in (await second.command("US_Sessions")).ok().profile if session["current"])
    assert (await once(second, "k", "US_Revoke", vx={"name": own["id"]})).ok().context["user"] is None
