"""An offer of a bank reveals nothing: every kind of visibility by a shared bank, before and after consent."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.gateway import Answer, Client
from tests.support.operator import live_actor, on_plan
from tests.support.sharing import Two

# visibility: each of these is refused until the offer is accepted

Look = Callable[[Two], Awaitable[Answer]]


def by_guest(service: str, **body: Any) -> Look:
    """A command of the guest on the bank."""

    async def look(two: Two) -> Answer:
        return await two.guest.command(service, target={"bank": two.bank}, **body)

    return look


async def _load(two: Two) -> Answer:
    return await two.guest.command("MB_Load", target=two.target, vx={"name": "new"}, content="New text")


async def _agent_for_banks(two: Two) -> Answer:
    (await two.owner.command("AP_Modify", vx={"access": "bank"})).ok()
    return await two.guest.command("AP_Read", target={"agent": two.keeper})


async def _chat_with_agent_for_banks(two: Two) -> Answer:
    (await two.owner.command("AP_Modify", vx={"access": "bank"})).ok()
    return await two.guest.command("AP_Chat", target={"agent": two.keeper}, content="Hello")


async def _own_agent_for_banks(two: Two) -> Answer:
    (await two.guest.command("AP_Modify", vx={"access": "bank"})).ok()
    return await two.owner.command("AP_Add", target={"agent": two.visitor})


async def _bank_for_banks(two: Two) -> Answer:
    vx = {"name": f"{two.name}-second", "access": "bank"}
    await two.owner.command("MB_Create", vx=vx)
    answer = await two.guest.command("MB_Read", target={"bank": vx["name"]})
    assert answer.code in (3000, 2003)
    return await two.guest.command("MB_List", target={"user": two.owner.name, "bank": vx["name"]})


async def _own_bank_for_banks(two: Two) -> Answer:
    vx = {"name": f"{two.name}-second", "access": "bank"}
    await two.guest.command("MB_Create", vx=vx)
    return await two.owner.command("MB_List", target={"user": two.guest.name, "bank": vx["name"]})


async def _domain_for_banks(two: Two) -> Answer:
    vx = {"name": f"{two.name}-domain", "description": "d", "access": "bank"}
    await two.owner.command("DM_Create", vx=vx)
    return await two.guest.command("DM_Read", target={"domain": vx["name"]})


async def _listed_domain_for_banks(two: Two) -> Answer:
    await _domain_for_banks(two)
    return await two.guest.command("DM_List", target={"domain": two.name})


async def _listed_agent_for_banks(two: Two) -> Answer:
    await _agent_for_banks(two)
    return await two.guest.command("AP_List", target={"user": two.owner.name})


async def _listed_bank(two: Two) -> Answer:
    return await two.guest.command("MB_List")


async def _listed_bank_of_its_owner(two: Two) -> Answer:
    return await two.guest.command("MB_List", target={"user": two.owner.name})


LOOKS: dict[str, Look] = {
    "MB_Read": by_guest("MB_Read"),
    "MB_Recall": by_guest("MB_Recall", content="How far is the Moon?"),
    "MB_AgentList": by_guest("MB_AgentList"),
    "MB_Permissions": by_guest("MB_Permissions"),
    "MB_Permissions of access": by_guest("MB_Permissions", vx={"access": "public"}),
    "MB_Load": _load,
    "MB_Censor": by_guest("MB_Censor", vx={"name": "moon"}),
    "MB_Delete": by_guest("MB_Delete", vx={"name": "moon"}),
    "MB_List": _listed_bank,
    "MB_List of the owner's": _listed_bank_of_its_owner,
    "an agent for banks": _agent_for_banks,
    "an agent for banks in a list": _listed_agent_for_banks,
    "a chat with an agent for banks": _chat_with_agent_for_banks,
    "the offered agent for banks": _own_agent_for_banks,
    "another bank for banks": _bank_for_banks,
    "the guest's bank for banks": _own_bank_for_banks,
    "a domain for banks": _domain_for_banks,
    "a domain for banks in a list": _listed_domain_for_banks,
}
LISTS = {
    "MB_List",
    "MB_List of the owner's",
    "an agent for banks in a list",
    "another bank for banks",
    "the guest's bank for banks",
    "a domain for banks in a list",
}


@pytest.mark.parametrize("look", LOOKS)
async def test_an_offer_shows_nothing_until_it_is_accepted(two: Two, look: str):
    (await two.give("admin")).ok()
    answer = await LOOKS[look](two)
    if look in LISTS:
        assert answer.ok().profile == []
    else:
        answer.refused(3000, 404)
    (await two.guest.command("AP_Modify", target={"agent": two.visitor}, vx={"access": "public"})).ok()
    (await two.accept()).ok()
    answer = (await LOOKS[look](two)).ok()
    if look in LISTS:
        assert len(answer.profile) == 1


@pytest.mark.parametrize("service", ["MB_Update", "MB_Destroy"])
async def test_an_offer_gives_no_power_over_the_bank(two: Two, service: str):
    (await two.give("admin")).ok()
    vx = {"name": two.bank, "description": "Mine"}
    (await two.guest.command(service, target={"bank": two.bank}, vx=vx)).refused(3000, 404)


@pytest.mark.parametrize("access", ["domain", "bank"])
async def test_an_offered_admin_opens_the_bank_to_nobody(two: Two, sanic_client: Client, unique: str, access: str):
    friend = await on_plan(await sanic_client.register(f"{unique}-friend"), "enterprise")
    await friend.agent(f"{unique}-mate", access="public")
    mate = {"agent": f"{unique}-mate"}
    (await two.guest.command("DM_Create", vx={"name": f"{unique}-d", "description": "d", "access": "public"})).ok()
    (await friend.command("DM_Join", target={"domain": f"{unique}-d"})).ok()
    (await two.guest.command("MB_Create", vx={"name": f"{unique}-b"})).ok()
    shared = mate | {"bank": f"{unique}-b"}
    (await two.guest.command("MB_Permissions", target=shared, vx={"permission": "read"})).ok()
    (await friend.command("MB_Accept", target=shared)).ok()
    (await two.owner.command("MB_Permissions", target={"bank": two.bank}, vx={"access": access})).ok()
    (await two.give("admin")).ok()
    (await friend.command("MB_Read", target={"bank": two.bank})).refused(3000, 404)
    (await two.accept()).ok()
    (await friend.command("MB_Read", target={"bank": two.bank})).refused(2003, 403)


async def test_an_offered_raise_leaves_the_accepted_permission_in_force(two: Two):
    await two.share("read")
    (await two.give("admin")).ok()
    (await LOOKS["MB_Read"](two)).ok()
    (await _load(two)).refused(2003, 403)
    (await LOOKS["MB_Delete"](two)).refused(2003, 403)
    (await two.accept()).ok()
    (await _load(two)).ok()


async def test_the_offered_agent_s_owner_sees_the_record_but_neither_memories_nor_attachments(two: Two, unique: str):
    (await two.owner.command("AP_Modify", vx={"access": "public"})).ok()
    await two.owner.agent(f"{unique}-aloof", access="public", select=False)
    (await two.give("write")).ok()
    for agent in (two.keeper, f"{unique}-aloof"):  # the same answer, attached or not
        target = {"bank": two.bank, "agent": agent}
        (await two.guest.command("MB_Unload", target=target)).refused(2003, 403)
        (await two.guest.command("MB_Accept", target=target)).refused(2003, 403)
    note = (await _load(two)).refused(3000, 404)
    (await two.owner.command("MB_Permissions", target={"bank": two.bank}, vx={"access": "public"})).ok()
    note = (await _load(two)).refused(2003, 403).body["status"]["note"]
    assert "MB_Accept" in note
    (await two.accept()).ok()
    (await _load(two)).ok()


# chat


async def test_nothing_of_an_offered_bank_is_recalled(two: Two):
    (await two.give("read")).ok()
    told = (await two.guest.command("AP_Chat", content="How far is the Moon?")).ok()
    assert told.content[1]["sources"] == []
    standing = (await two.guest.command("AP_Read")).ok().content[0]
    assert (standing["banks"], [offer["bank"] for offer in standing["offers"]]) == ([], [two.bank])
    actor = (await live_actor(two.owner, "bank", (await two.give("read")).ok().profile[0]["id"])).body["state"]
    assert actor["attachments"] == {two.keeper: "admin"}
    told = (await two.owner.command("AP_Chat", target={"agent": two.visitor}, content="How far is the Moon?")).ok()
    assert told.content[1]["sources"] == []
    (await two.accept()).ok()
    told = (await two.guest.command("AP_Chat", content="How far is the Moon now?")).ok()
    assert told.content[1]["sources"][0]["bank"] == two.bank
    assert (await two.guest.command("AP_Read")).ok().content[0]["banks"] == [two.bank]


async def test_a_chat_looks_at_the_owner_s_banks_first_then_at_those_attached_the_longest(two: Two, unique: str):
    """An agent recalls from up to sixteen banks."""
    for number in range(17):
        bank = {"bank": f"{unique}-{99 - number}"}  # ordered by name, the last would be the first
        (await two.owner.command("MB_Create", vx={"name": bank["bank"]})).ok()
        word = {"vx": {"name": "word"}, "content": f"The word of day {number} is xylophone{number}."}
        (await two.owner.command("MB_Load", target=bank, **word)).ok()
        target = bank | {"agent": two.visitor}
        (await two.owner.command("MB_Permissions", target=target, vx={"permission": "read"})).ok()
        (await two.guest.command("MB_Accept", target=target)).ok()
    own = {"bank": f"{unique}-zz"}
    (await two.guest.command("MB_Create", vx={"name": own["bank"]})).ok()
    mine = {"vx": {"name": "mine"}, "content": "My own word is glockenspiel."}
    (await two.guest.command("MB_Load", target=own, **mine)).ok()

    async def sources(question: str) -> list[str]:
        told = (await two.guest.command("AP_Chat", content=question)).ok()
        return [source["bank"] for source in told.content[1]["sources"] if "bank" in source]

    assert await sources("glockenspiel?") == [own["bank"]]
    assert await sources("xylophone0?") == [f"{unique}-99"]
    assert await sources("xylophone14?") == [f"{unique}-85"]
    assert await sources("xylophone15?") == []
    assert await sources("xylophone16?") == []
