"""Offers of banks by users other than an agent's owner, which have no effect until the owner accepts."""

import asyncio
from typing import Any

import pytest

from tests.support.gateway import PASSWORD, Client
from tests.support.operator import live_actor
from tests.support.sharing import Two

LEVELS = ["none", "read", "write", "admin"]


# results of grants

AFTER = [
    # attached, offered, given by an admin, attached then, offered then
    (None, None, "none", None, None),
    (None, None, "read", None, "read"),
    (None, "read", "read", None, "read"),
    (None, "read", "admin", None, "admin"),
    (None, "admin", "read", None, "read"),
    (None, "write", "none", None, None),
    ("read", None, "write", "read", "write"),
    ("read", "write", "write", "read", "write"),
    ("read", "write", "read", "read", None),
    ("read", "admin", "write", "read", "write"),
    ("read", "write", "none", "none", None),
    ("write", None, "read", "read", None),
    ("write", None, "write", "write", None),
    ("write", "admin", "read", "read", None),
    ("none", None, "read", "none", "read"),
]


@pytest.mark.parametrize(("attached", "offered", "given", "attached_then", "offered_then"), AFTER)
async def test_more_is_an_offer_and_less_takes_effect_at_once(
    two: Two, attached: str | None, offered: str | None, given: str, attached_then: str | None, offered_then: str | None
):
    if attached is not None:
        await two.share("admin")
        (await two.give(attached)).ok()
    if offered is not None:
        (await two.give(offered)).ok()
    answer = (await two.give(given)).ok()
    expected = {"attached": attached_then, "offered": offered_then}
    expected = {state: permission for state, permission in expected.items() if permission is not None}
    assert await two.standing() == expected
    assert {row["state"]: row["permission"] for row in answer.content if row["agent"] == two.visitor} == expected
    assert [offer["permission"] for offer in await two.offers()] == ([offered_then] if offered_then else [])


async def test_an_own_agent_is_attached_at_once(two: Two, unique: str):
    await two.owner.agent(f"{unique}-second", select=False)
    target = {"bank": two.bank, "agent": f"{unique}-second"}
    answer = (await two.owner.command("MB_Permissions", target=target, vx={"permission": "admin"})).ok()
    assert {row["agent"]: row["state"] for row in answer.content} == {
        two.keeper: "attached",
        target["agent"]: "attached",
    }


async def test_the_agent_s_owner_raises_its_other_agents_without_an_offer_up_to_its_own(two: Two, unique: str):
    await two.share("write")
    await two.guest.agent(f"{unique}-aide", select=False)
    target = {"bank": two.bank, "agent": f"{unique}-aide"}
    (await two.owner.command("MB_Permissions", target=target, vx={"permission": "read"})).refused(3000, 404)  # unseen
    (await two.guest.command("MB_Permissions", target=target, vx={"permission": "admin"})).refused(2003, 403)
    answer = (await two.guest.command("MB_Permissions", target=target, vx={"permission": "write"})).ok()
    rows = [(row["permission"], row["state"]) for row in answer.content if row["agent"] == target["agent"]]
    assert rows == [("write", "attached")]


@pytest.mark.parametrize(
    ("own", "left"), [("none", None), ("read", "write"), ("write", None), ("admin", None)], ids=LEVELS
)
async def test_what_the_agent_s_owner_sets_settles_offers_up_to_it(two: Two, unique: str, own: str, left: str | None):
    await two.guest.agent(f"{unique}-aide", access="public", select=False)
    aide = {"bank": two.bank, "agent": f"{unique}-aide"}
    (await two.owner.command("MB_Permissions", target=aide, vx={"permission": "admin"})).ok()
    (await two.guest.command("MB_Accept", target=aide)).ok()
    (await two.give("write")).ok()
    (await two.give(own, by=two.guest)).ok()
    assert await two.standing() == {"attached": own} | ({"offered": left} if left else {})
    assert len(await two.offers()) == (1 if left else 0)


async def test_the_agent_s_owner_lowers_its_permission_beside_a_higher_offer(two: Two):
    await two.share("write")
    (await two.give("admin")).ok()
    (await two.give("read", by=two.guest)).ok()
    assert await two.standing() == {"attached": "read", "offered": "admin"}


async def test_who_may_not_read_a_bank_learns_of_no_hidden_agent_in_it(two: Two, sanic_client: Client, unique: str):
    stranger = await sanic_client.register(f"{unique}-stranger")
    await two.share("read")
    (await two.owner.command("MB_Permissions", target={"bank": two.bank}, vx={"access": "public"})).ok()
    (await two.unload(by=stranger)).refused(2003, 403)
    (await two.guest.command("AP_Modify", target={"agent": two.visitor}, vx={"access": "agent"})).ok()
    (await two.unload(by=stranger)).refused(3000, 404)
    assert await two.standing() == {"attached": "read"}


async def test_only_an_admin_changes_an_offer(two: Two, sanic_client: Client, unique: str):
    reader = await sanic_client.register(f"{unique}-reader")
    await reader.agent(f"{unique}-eyes", access="public")
    target = {"bank": two.bank, "agent": f"{unique}-eyes"}
    (await two.owner.command("MB_Permissions", target=target, vx={"permission": "write"})).ok()
    (await two.give("read", by=reader)).refused(3000, 404)
    (await reader.command("MB_Accept", target=target)).ok()
    (await two.give("read", by=reader)).ok()
    (await two.give("read", by=reader)).ok()  # the same again
    (await two.give("write", by=reader)).refused(2003, 403)
    (await two.give("none", by=reader)).refused(2003, 403)
    (await two.unload(by=reader)).refused(2003, 403)
    assert await two.standing() == {"offered": "read"}
    (await two.give("write")).ok()
    assert await two.standing() == {"offered": "write"}
    # an offer does not depend on the user who made it
    (await two.owner.command("MB_Unload", target=target)).ok()
    (await two.accept()).ok()
    assert await two.standing() == {"attached": "write"}


# MB_Accept, MB_Unload


async def test_the_agent_s_owner_accepts_and_the_permission_is_as_offered(two: Two):
    (await two.give("read")).ok()
    (offer,) = await two.offers()
    assert (offer["bank"], offer["owner"], offer["permission"]) == (two.bank, two.owner.name, "read")
    assert await two.offers(by=two.owner) == []
    (await two.guest.command("AP_Select", target={"agent": two.visitor})).ok()
    answer = (await two.guest.alias("/bank/accept", target={"bank": two.bank.upper()})).ok()
    (record,) = answer.profile
    assert (record["name"], record["owner"], record["memories"]) == (two.bank, two.owner.name, 1)
    (attachment,) = answer.content
    since = attachment.pop("since")
    assert since >= offer["since"]
    assert attachment == {"agent": two.visitor, "permission": "read", "state": "attached"}
    assert await two.standing() == {"attached": "read"}
    assert await two.offers() == []
    (await two.give("write")).ok()
    assert await two.standing() == {"attached": "read", "offered": "write"}
    raised = (await two.accept()).ok().content[0]
    assert (raised["permission"], raised["since"]) == ("write", since)
    assert await two.standing() == {"attached": "write"}


async def test_what_accepting_is_refused_for(two: Two, sanic_client: Client, unique: str):
    stranger = await sanic_client.register(f"{unique}-stranger")
    (await two.guest.command("MB_Accept", target={"agent": two.visitor})).refused(1002, 400)
    (await two.accept()).refused(3000, 404)  # nothing offered, nothing seen
    (await two.give("read")).ok()
    (await two.accept(by=two.owner)).refused(2003, 403)
    (await two.accept(by=stranger)).refused(3000, 404)
    (await two.guest.command("MB_Accept", target=two.target | {"bank": f"{unique}-none"})).refused(3000, 404)
    (await two.guest.command("MB_Accept", target=two.target | {"agent": f"{unique}-none"})).refused(3000, 404)
    (await two.guest.command("MB_Accept", target=two.target | {"agent": two.keeper})).refused(3000, 404)  # unseen
    await two.guest.agent(f"{unique}-other", select=False)
    (await two.guest.command("MB_Accept", target=two.target | {"agent": f"{unique}-other"})).refused(3002, 409)
    (await two.owner.command("MB_Permissions", target={"bank": two.bank}, vx={"access": "public"})).ok()
    (await two.accept(by=stranger)).refused(2003, 403)
    (await stranger.command("MB_Accept", target={"bank": two.bank})).refused(3003, 409)
    (await two.accept()).ok()
    (await two.accept()).refused(3002, 409)


async def test_an_offer_is_accepted_once_however_often_at_a_time(two: Two):
    (await two.give("read")).ok()
    answers = await asyncio.gather(*(two.accept() for _ in range(10)))
    assert sorted(answer.code for answer in answers) == [0, *[3002] * 9]
    assert await two.standing() == {"attached": "read"}


async def test_withdrawing_and_accepting_at_a_time_leave_what_came_last(two: Two):
    for _ in range(10):
        (await two.give("read")).ok()
        accepted, withdrawn = await asyncio.gather(two.accept(), two.give("none"))
        withdrawn.ok()
        assert accepted.code in (0, 3000, 3002)
        standing = await two.standing()
        assert standing in ({}, {"attached": "none"}, {"attached": "read"})
        actor = await live_actor(two.owner, "bank", withdrawn.profile[0]["id"])
        held = actor.body["state"]["attachments"].get(two.visitor)
        assert held == standing.get("attached")
        if standing:
            (await two.unload(by=two.owner)).ok()


async def test_an_offer_is_declined_by_the_agent_s_owner_or_withdrawn_by_an_admin(two: Two):
    for withdraw in (two.unload, lambda: two.unload(by=two.owner), lambda: two.give("none")):
        (await two.give("read")).ok()
        answer = (await withdraw()).ok()
        assert answer.profile[0]["name"] == two.bank
        assert await two.standing() == {}
        assert await two.offers() == []
        (await two.accept()).refused(3000, 404)
    (await two.unload(by=two.owner)).refused(3002, 409)
    (await two.unload()).refused(3000, 404)


async def test_unloading_ends_the_attachment_and_the_offer_beside_it(two: Two):
    await two.share("read")
    (await two.give("admin")).ok()
    (await two.unload()).ok()
    assert await two.standing() == {}
    (await two.accept()).refused(3000, 404)


async def test_an_admin_withdraws_an_offer_to_an_agent_that_was_hidden_since(two: Two):
    for withdraw in (lambda: two.unload(by=two.owner), lambda: two.give("none")):
        (await two.give("read")).ok()
        (await two.guest.command("AP_Modify", target={"agent": two.visitor}, vx={"access": "agent"})).ok()
        (await two.give("write")).refused(3000, 404)
        (await withdraw()).ok()
        assert await two.standing() == {}
        (await two.guest.command("AP_Modify", target={"agent": two.visitor}, vx={"access": "public"})).ok()


# lists


async def test_attachments_and_offers_come_in_pages(two: Two, unique: str):
    names = [f"{unique}-v", f"{unique}-v-1", f"{unique}-v.2", f"{unique}-v3"]
    for name in names:
        await two.guest.agent(name, access="public", select=False)
        target = {"bank": two.bank, "agent": name}
        (await two.owner.command("MB_Permissions", target=target, vx={"permission": "read"})).ok()
        (await two.guest.command("MB_Accept", target=target)).ok()
        (await two.owner.command("MB_Permissions", target=target, vx={"permission": "write"})).ok()
    expected = [(two.keeper, "attached"), *((name, state) for name in names for state in ("attached", "offered"))]
    for service in ("MB_AgentList", "MB_Permissions"):
        for limit in (1, 2, 9):
            found: list[tuple[str, str]] = []
            cursor = None
            while True:
                page = {"limit": limit, "cursor": cursor}
                answer = (await two.owner.command(service, target={"bank": two.bank}, page=page)).ok()
                assert len(answer.content) <= limit
                found += [(row["agent"], row["state"]) for row in answer.content]
                if (cursor := answer.next) is None:
                    break
            assert found == expected
    page: dict[str, Any] = {"limit": 1}
    first = (await two.owner.command("MB_AgentList", target={"bank": two.bank, "agent": names[0]}, page=page)).ok()
    page["cursor"] = first.next
    rest = (await two.owner.command("MB_AgentList", target={"bank": two.bank, "agent": names[0]}, page=page)).ok()
    assert [row["permission"] for row in first.content + rest.content] == ["read", "write"]
    assert rest.next is None


async def test_a_wrong_cursor_is_refused_before_anything_is_changed(two: Two):
    for vx in ({"permission": "read"}, {"access": "public"}):
        body = {"target": two.target, "vx": vx, "page": {"cursor": "nonsense"}}
        (await two.owner.command("MB_Permissions", **body)).refused(1003, 400)
    assert await two.standing() == {}
    assert (await two.owner.command("MB_List", target={"bank": two.bank})).ok().profile[0]["access"] == "agent"


# ends of offers


async def test_a_destroyed_bank_s_offers_go(two: Two):
    (await two.give("read")).ok()
    (await two.owner.command("MB_Destroy", target={"bank": two.bank})).ok()
    assert await two.offers() == []
    (await two.owner.command("MB_Create", vx={"name": two.bank})).ok()
    (await two.accept()).refused(3000, 404)


async def test_a_destroyed_agent_s_offers_go(two: Two):
    (await two.give("read")).ok()
    (await two.guest.command("AP_Destroy", target={"agent": two.visitor})).ok()
    assert await two.standing() == {}
    await two.guest.agent(two.visitor, access="public")
    assert await two.offers() == []


async def test_a_destroyed_user_s_offers_go(two: Two):
    (await two.give("read")).ok()
    (await two.guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    content = (await two.owner.command("MB_AgentList", target={"bank": two.bank})).ok().content
    assert [row["agent"] for row in content] == [two.keeper]


async def test_the_newest_offers_are_shown_first_so_that_old_ones_can_not_hide_them(two: Two):
    (await two.give("read")).ok()
    newer = f"{two.name}-zz-bank"
    (await two.owner.command("MB_Create", vx={"name": newer, "description": "More notes"})).ok()
    target = {"bank": newer, "agent": two.visitor}
    (await two.owner.command("MB_Permissions", target=target, vx={"permission": "read"})).ok()
    assert [offer["bank"] for offer in await two.offers()] == [newer, two.bank]
