"""Domains, zones and banks shared by users of different nodes."""

from typing import Any

import pytest

from tests.support.gateway import Client
from tests.support.roaming import Entries


@pytest.mark.parametrize("entry", range(3))
async def test_zones_and_banks_are_shared_across_nodes(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    keeper, visitor, domain, bank = (f"{unique}-{name}" for name in ("keeper", "visitor", "domain", "bank"))
    host, there = owner.through[entry], guest.through[(entry + 1) % 3]
    await owner.through[entry].agent(keeper, access="public")
    await guest.through[entry].agent(visitor, access="public")
    (await host.command("DM_Create", vx={"name": domain, "description": "A place"})).ok()
    invited = (await host.command("DM_Invite", target={"domain": domain, "agent": visitor})).ok()
    assert invited.profile[0]["state"] == "invited"
    joined = (await there.command("DM_Join", target={"domain": domain, "agent": visitor})).ok()
    assert joined.profile[0]["state"] == "member"
    (await there.command("ZN_Post", target={"domain": domain}, content="From the guest")).ok()
    (await there.command("ZN_Select", target={"domain": domain, "zone": "lobby"})).ok()
    (await there.command("AP_Chat", target={"agent": keeper}, content="And you?")).ok()
    (await host.command("ZN_Post", target={"domain": domain}, content="From the owner")).ok()
    read = (await there.command("ZN_Read", target={"domain": domain})).ok().content
    assert [message["content"] for message in read if message["role"] == "user"] == [
        "From the guest",
        "And you?",
        "From the owner",
    ]
    (await host.command("MB_Create", target={"agent": keeper}, vx={"name": bank, "description": "Notes"})).ok()
    share = {"bank": bank, "agent": visitor}
    (await host.command("MB_Permissions", target=share, vx={"permission": "write"})).ok()
    (await there.command("MB_Accept", target=share)).ok()
    load: dict[str, Any] = {"target": share, "vx": {"name": "moon"}, "content": "The Moon is 384,400 km away."}
    (await there.command("MB_Load", headers={"Idempotency-Key": unique}, **load)).ok()
    recalled = (await host.command("MB_Recall", target={"bank": bank}, content="How far is the Moon?")).ok()
    assert [memory["name"] for memory in recalled.content] == ["moon"]
    repeated = (await guest.through[entry].command("MB_Load", headers={"Idempotency-Key": unique}, **load)).ok()
    assert repeated.headers["Idempotency-Replayed"] == "true"
    (await host.command("DM_Kick", target={"domain": domain, "agent": visitor})).ok()
    (await there.command("ZN_Post", target={"domain": domain}, content="Still here?")).refused(3000, 404)


@pytest.mark.parametrize("entry", range(3))
async def test_what_a_destroyed_agent_said_is_marked_on_each_node(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    keeper, visitor, domain, bank = (f"{unique}-{name}" for name in ("keeper", "visitor", "domain", "bank"))
    host, there = owner.through[entry], guest.through[(entry + 1) % 3]
    await host.agent(keeper)
    await there.agent(visitor, access="public")
    (await host.command("DM_Create", vx={"name": domain, "description": "A place"})).ok()
    (await host.command("DM_Invite", target={"domain": domain, "agent": visitor})).ok()
    (await there.command("DM_Join", target={"domain": domain, "agent": visitor})).ok()
    (await host.command("MB_Create", target={"agent": keeper}, vx={"name": bank, "description": "Notes"})).ok()
    share = {"bank": bank, "agent": visitor}
    (await host.command("MB_Permissions", target=share, vx={"permission": "write"})).ok()
    (await there.command("MB_Accept", target=share)).ok()
    (await there.command("MB_Load", target=share, vx={"name": "moon"}, content="The Moon is far away.")).ok()
    (await host.command("AP_Chat", target={"agent": visitor, "domain": domain}, content="Hello")).ok()
    chat = (await host.command("AP_Chat", target={"agent": visitor}, content="Hello")).ok().content
    reads: tuple[tuple[str, dict[str, Any]], ...] = (
        ("ZN_Read", {"target": {"domain": domain}}),
        ("AP_History", {"target": {"conversation": chat[0]["conversation"]}}),
        ("MB_Recall", {"target": {"bank": bank}, "content": "Where is the Moon?"}),
        ("MB_Read", {"target": {"bank": bank}}),
    )

    async def names(client: Client) -> list[str | None]:
        answers = [(await client.command(service, **body)).ok().content for service, body in reads]
        return [content[-1].get("destroyed_agent") for content in answers]

    assert await names(host) == [None] * 4
    (await there.command("AP_Destroy", target={"agent": visitor})).ok()
    for client in owner.through:
        assert await names(client) == [visitor] * 4


async def private(user: Client, agent: str) -> list[str]:
    answer = (await user.command("AP_History", target={"agent": agent})).ok()
    return [message["content"] for message in answer.content if message["role"] == "user"]


@pytest.mark.parametrize("entry", range(3))
async def test_a_chat_with_an_agent_outside_the_selected_domain_is_private(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(1, f"{unique}-owner"), await entries.user_on(2, f"{unique}-guest")
    other = await entries.user_on(0, f"{unique}-other")
    member, aside, foreign, domain = (f"{unique}-{name}" for name in ("member", "aside", "foreign", "domain"))
    there = guest.through[entry]
    await owner.through[entry].agent(f"{unique}-founder")
    (await owner.through[entry].command("DM_Create", vx={"name": domain, "description": "D", "access": "public"})).ok()
    await there.agent(member)
    (await there.command("DM_Join", target={"domain": domain, "agent": member})).ok()
    (await there.command("DM_Select", target={"domain": domain})).ok()
    await there.agent(aside)
    await other.through[entry].agent(foreign, access="public")

    for agent in (aside, foreign):
        plain: dict[str, Any] = {"target": {"agent": agent}, "content": "plain"}
        answer = (await there.command("AP_Chat", **plain)).ok()
        assert (answer.content[1]["name"], answer.context["domain"]) == (agent, domain)
        streamed = await there.command("AP_Chat", headers={"Accept": "text/event-stream"}, **plain)
        assert "event: response" in streamed.body
        keyed = {"Idempotency-Key": f"{unique}-{agent}"}
        first = (await there.command("AP_Chat", headers=keyed, **plain)).ok()
        for client in guest.through:
            again = (await client.command("AP_Chat", headers=keyed, **plain)).ok()
            assert (again.headers["Idempotency-Replayed"], again.body) == ("true", first.body)
        assert await private(there, agent) == ["plain"] * 3
    (await there.command("AP_Chat", target={"agent": member}, content="in the zone")).ok()
    read = (await there.command("ZN_Read")).ok().content
    assert [message["content"] for message in read if message["role"] == "user"] == ["in the zone"]


async def test_a_user_whose_last_member_left_chats_in_private_beside_the_selected_domain(entries: Entries, unique: str):
    owner, guest = await entries.user_on(1, f"{unique}-owner"), await entries.user_on(2, f"{unique}-guest")
    founder, aside, domain = f"{unique}-founder", f"{unique}-aside", f"{unique}-domain"
    await owner.through[0].agent(founder, access="public")
    (await owner.through[0].command("DM_Create", vx={"name": domain, "description": "D", "access": "public"})).ok()
    await guest.through[0].agent(aside)
    for service in ("DM_Join", "DM_Select", "DM_Leave"):
        (await guest.through[0].command(service, target={"domain": domain, "agent": aside})).ok()
    for client in guest.through:
        (await client.command("AP_Chat", target={"agent": aside}, content="Hi")).ok()
        (await client.command("AP_Chat", target={"agent": founder}, content="Hi")).refused(2003, 403)
    assert await private(guest.through[0], aside) == ["Hi"] * 3
