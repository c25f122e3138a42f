"""Domains: visibility, memberships, selection (docs/contract.md, "Domains and zones")."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.support.gateway import Client
from tests.support.in_process import CoreGateway
from tests.support.memories import share
from tests.support.operator import on_plan
from tests.support.workspaces import founded, move, standings

MOVES = ("DM_Invite", "DM_Join", "DM_Leave", "DM_Kick", "DM_Ban", "DM_Unban")
STATES = ("none", "invited", "member", "banned")
WHO = ("founder's owner", "a member's owner", "the agent's owner", "a stranger")


@dataclass(frozen=True, slots=True)
class Company:
    """Four users, each with a public agent; the first one's agent founds domains."""

    owner: Client
    member: Client
    subject: Client
    stranger: Client

    def who(self, who: str) -> Client:
        return (self.owner, self.member, self.subject, self.stranger)[WHO.index(who)]


def agent_of(user: Client) -> str:
    return f"{user.name}-agent"


async def gathered(client: Client, prefix: str) -> Company:
    users = [await client.register(f"{prefix}-{role}") for role in ("owner", "member", "subject", "stranger")]
    for user in users:
        await user.agent(agent_of(user), access="public")
        await on_plan(user, "enterprise")
    return Company(*users)


@pytest.fixture(scope="session")
async def company(sanic_server: CoreGateway) -> AsyncIterator[Company]:
    """One setting for many tests, each with domains of its own."""
    async with sanic_server.client() as client:
        yield await gathered(client, "dom")


@pytest.fixture
async def newcomers(sanic_client: Client, unique: str) -> Company:
    """A setting without shared domains."""
    return await gathered(sanic_client, unique)


@pytest.fixture
def domain(unique: str) -> str:
    return f"{unique}-domain"


async def bring_into(company: Company, domain: str, state: str) -> None:
    """Bring the subject's agent into a state of a domain."""
    agent = agent_of(company.subject)
    if state in ("invited", "member"):
        (await move(company.owner, "DM_Invite", domain, agent)).ok()
    if state == "member":
        (await move(company.subject, "DM_Join", domain, agent)).ok()
    if state == "banned":
        (await move(company.owner, "DM_Ban", domain, agent)).ok()


# every cell of (state x command x user)

AFTER = {
    "none": {"DM_Invite": "invited", "DM_Join": "member", "DM_Ban": "banned"},
    "invited": {
        "DM_Invite": "invited",
        "DM_Join": "member",
        "DM_Leave": "none",
        "DM_Kick": "none",
        "DM_Ban": "banned",
    },
    "member": {"DM_Join": "member", "DM_Leave": "none", "DM_Kick": "none", "DM_Ban": "banned"},
    "banned": {"DM_Ban": "banned", "DM_Unban": "none"},
}


def expected(access: str, state: str, service: str, who: str) -> str | int:
    """Return the state after a move, or the code of its refusal: docs/contract.md, "Memberships", in prose."""
    owner, agents_owner = who == "founder's owner", who == "the agent's owner"
    has_member = who == "a member's owner" or (agents_owner and state == "member")
    if not (owner or has_member or access == "public" or (agents_owner and state == "invited")):
        return 3000
    if service in ("DM_Join", "DM_Leave"):
        allowed = agents_owner
    elif service == "DM_Invite":
        allowed = owner or (has_member and access != "agent")
    else:
        allowed = owner
    if not allowed:
        return 2003
    if service == "DM_Join" and state == "none" and access != "public":
        return 3002
    return AFTER[state].get(service, 3002)


@pytest.mark.parametrize("access", ["public", "domain", "agent"])
@pytest.mark.parametrize(("state", "who"), list(itertools.product(STATES, WHO)))
async def test_each_move_of_each_state_by_anyone(company: Company, unique: str, access: str, state: str, who: str):
    agent = agent_of(company.subject)
    for service in MOVES:
        domain = f"{unique}-{service[3:].lower()}"
        await founded(company.owner, domain, access=access)
        (await move(company.owner, "DM_Invite", domain, agent_of(company.member))).ok()
        (await move(company.member, "DM_Join", domain, agent_of(company.member))).ok()
        await bring_into(company, domain, state)
        answer = await move(company.who(who), service, domain, agent)
        outcome = expected(access, state, service, who)
        if isinstance(outcome, int):
            assert answer.code == outcome, (service, answer.body)
            outcome = state
        elif outcome != "none":
            assert answer.ok().profile[0]["state"] == outcome
            assert answer.profile[0]["agent"] == agent
        else:
            assert answer.ok().profile == []
        assert (await standings(company.owner, domain)).get(agent, "none") == outcome
        (await company.owner.command("DM_Destroy", target={"domain": domain})).ok()


@pytest.mark.parametrize("service", ["DM_Leave", "DM_Kick", "DM_Ban"])
async def test_the_founder_stays(company: Company, domain: str, service: str):
    await founded(company.owner, domain)
    (await move(company.owner, service, domain, agent_of(company.owner))).refused(3002, 409)
    assert await standings(company.owner, domain) == {agent_of(company.owner): "member"}


async def test_an_own_agent_needs_no_invitation_to_be_accepted(company: Company, domain: str, unique: str):
    await founded(company.owner, domain)
    await company.owner.agent(f"{unique}-second", select=False)
    answer = (await move(company.owner, "DM_Invite", domain, f"{unique}-second")).ok()
    assert answer.profile[0]["state"] == "member"


async def test_a_refused_move_says_why_and_what_to_do(company: Company, domain: str):
    await founded(company.owner, domain, access="domain")
    agent = agent_of(company.member)
    (await move(company.owner, "DM_Invite", domain, agent_of(company.subject))).ok()
    for mover, service, whose, said in (
        (company.owner, "DM_Unban", agent, ("is not banned", "DM_Read")),
        (company.owner, "DM_Unban", agent_of(company.subject), ("is not banned", "DM_Read")),
        (company.owner, "DM_Unban", agent_of(company.owner), ("is not banned", "DM_Read")),
        (company.owner, "DM_Kick", agent, ("is neither invited", "DM_Read")),
    ):
        note = (await move(mover, service, domain, whose)).refused(3002, 409).note
        assert all(words in note for words in said), note
    await founded(company.owner, f"{domain}-2", access="public")
    note = (await move(company.member, "DM_Leave", f"{domain}-2", agent)).refused(3002, 409).note
    assert "is neither invited" in note
    assert "DM_Read" in note


@pytest.mark.parametrize("access", ["public", "domain"])
async def test_notes_of_memberships_name_a_remedy_that_helps(company: Company, domain: str, access: str):
    owner, member, subject = company.owner, company.member, company.subject
    await founded(owner, domain, access=access)
    (await move(owner, "DM_Invite", domain, agent_of(member))).ok()
    for service in ("DM_Join", "DM_Leave"):
        note = (await move(owner, service, domain, agent_of(member))).refused(2003, 403).note
        assert note.endswith("; name an agent of your own.")
    ask = f", and ask {owner.name} for an invitation if none of your agents has one"
    remedy = "; join it with DM_Join first" + ("" if access == "public" else ask) + "."
    assert (await move(member, "DM_Invite", domain, agent_of(subject))).refused(2003, 403).note.endswith(remedy)
    note = (await member.command("ZN_Read", target={"domain": domain})).refused(2003, 403).note
    assert note.endswith(remedy)
    (await move(member, "DM_Join", domain, agent_of(member))).ok()
    (await move(member, "DM_Invite", domain, agent_of(subject))).ok()
    (await member.command("ZN_Read", target={"domain": domain})).ok()


@pytest.mark.parametrize("access", ["domain", "agent"])
async def test_a_chat_with_an_agent_outside_says_how_it_gets_in(company: Company, domain: str, access: str):
    await founded(company.owner, domain, access=access)
    (await move(company.owner, "DM_Invite", domain, agent_of(company.member))).ok()
    (await move(company.member, "DM_Join", domain, agent_of(company.member))).ok()
    outside = agent_of(company.subject)

    async def note_for(user: Client) -> str:
        answer = await user.command("AP_Chat", target={"domain": domain, "agent": outside}, content="Hello")
        return answer.refused(3002, 409).note

    asks = f"ask {company.owner.name} to invite it first." if access == "agent" else "invite it with DM_Invite first."
    assert (await note_for(company.member)).endswith(f"; {asks}")
    assert ((await move(company.member, "DM_Invite", domain, outside)).code == 0) is (access == "domain")
    if access == "agent":
        assert (await note_for(company.owner)).endswith("; invite it with DM_Invite first.")
        (await move(company.owner, "DM_Invite", domain, outside)).ok()
    assert (await note_for(company.member)).endswith("; its owner accepts with DM_Join.")
    (await move(company.owner, "DM_Ban", domain, outside)).ok()
    assert (await note_for(company.member)).endswith(f"; {company.owner.name} lifts that with DM_Unban.")


async def test_who_kicks_names_the_agent(company: Company, domain: str):
    await founded(company.owner, domain)
    for service in ("DM_Kick", "DM_Ban", "DM_Unban"):
        answer = await company.owner.command(service, target={"domain": domain})
        assert answer.refused(1002, 400).note.startswith("missing target.agent field")


async def test_an_agent_that_its_owner_hid_can_still_be_put_out(company: Company, domain: str, unique: str):
    await founded(company.owner, domain, access="public")
    await company.subject.agent(f"{unique}-shy", select=False)
    (await move(company.owner, "DM_Ban", domain, f"{unique}-shy")).refused(3000, 404)
    (await move(company.subject, "DM_Join", domain, f"{unique}-shy")).ok()
    (await move(company.owner, "DM_Ban", domain, f"{unique}-shy")).ok()
    assert (await standings(company.owner, domain))[f"{unique}-shy"] == "banned"


async def test_many_joins_at_once_make_one_member(company: Company, domain: str):
    await founded(company.owner, domain, access="public")
    agent = agent_of(company.subject)
    answers = await asyncio.gather(*(move(company.subject, "DM_Join", domain, agent) for _ in range(50)))
    assert {answer.ok().profile[0]["state"] for answer in answers} == {"member"}
    assert await standings(company.owner, domain) == {agent_of(company.owner): "member", agent: "member"}


# the domain itself


async def test_a_domain_as_it_is_made_and_read(company: Company, domain: str):
    made = await founded(company.owner, domain, profile="Be kind", access="public")
    assert made | {"id": "", "created_at": "", "updated_at": ""} == {
        "id": "",
        "name": domain,
        "owner": company.owner.name,
        "founder": agent_of(company.owner),
        "description": f"The domain {domain}",
        "profile": "Be kind",
        "access": "public",
        "created_at": "",
        "updated_at": "",
    }
    assert made["id"].startswith("dom_")
    answer = (await company.stranger.command("DM_Read", target={"domain": domain.upper()})).ok()
    assert answer.profile == [made]
    (founder,) = answer.content
    assert founder | {"since": ""} == {
        "agent": agent_of(company.owner),
        "state": "member",
        "founder": True,
        "since": "",
    }


async def test_absent_access_is_agent(company: Company, domain: str):
    assert (await founded(company.owner, domain))["access"] == "agent"
    (await company.stranger.command("DM_Read", target={"domain": domain})).refused(3000, 404)


async def test_a_domain_needs_an_own_founder(company: Company, domain: str, sanic_client: Client, unique: str):
    vx = {"name": domain, "description": "d"}
    theirs = {"agent": agent_of(company.stranger)}
    (await company.owner.command("DM_Create", target=theirs, vx=vx)).refused(2003, 403)
    (await company.owner.command("DM_Create", target={"agent": "no-such-agent"}, vx=vx)).refused(3000, 404)
    (await company.owner.command("DM_Create", target={"user": company.stranger.name}, vx=vx)).refused(2003, 403)
    nobody = await sanic_client.register(f"{unique}-nobody")
    (await nobody.command("DM_Create", vx=vx)).refused(3003, 409)


async def test_a_domain_s_name_is_its_own(company: Company, domain: str):
    await founded(company.owner, domain)
    again = {"name": domain.upper(), "description": "d"}
    (await company.stranger.command("DM_Create", vx=again)).refused(3001, 409)
    (await company.owner.command("DM_Create", vx={"name": "-x", "description": "d"})).refused(1003, 400)
    await founded(company.owner, f"{domain}-2")
    taken = {"name": domain, "description": "d"}
    (await company.owner.command("DM_Update", target={"domain": f"{domain}-2"}, vx=taken)).refused(3001, 409)


async def test_a_name_taken_by_many_at_once_makes_one_domain(company: Company, domain: str):
    vx = {"name": domain, "description": "d"}
    answers = await asyncio.gather(*(company.owner.command("DM_Create", vx=vx) for _ in range(30)))
    assert sorted(answer.code for answer in answers) == [0] + [3001] * 29


async def test_an_update_replaces_what_is_given(company: Company, domain: str):
    made = await founded(company.owner, domain, profile="Be kind", access="public")
    change = {"name": f"{domain}-new", "description": "New"}
    updated = (await company.owner.command("DM_Update", target={"domain": domain}, vx=change)).ok().profile[0]
    assert updated == made | change | {"updated_at": updated["updated_at"]}
    assert updated["updated_at"] > made["updated_at"]
    (await company.owner.command("DM_Read", target={"domain": domain})).refused(3000, 404)
    assert (await company.stranger.command("DM_Read", target={"domain": change["name"]})).ok().profile == [updated]


async def test_only_the_founder_s_owner_changes_or_ends_a_domain(company: Company, domain: str):
    await founded(company.owner, domain, access="public")
    change = {"target": {"domain": domain}, "vx": {"name": domain, "description": "Mine now"}}
    (await company.stranger.command("DM_Update", **change)).refused(2003, 403)
    (await company.stranger.command("DM_Destroy", target={"domain": domain})).refused(2003, 403)
    (await company.owner.command("DM_Update", target={"domain": domain}, vx=change["vx"] | {"access": "agent"})).ok()
    (await company.stranger.command("DM_Update", **change)).refused(3000, 404)
    (await company.stranger.command("DM_Destroy", target={"domain": domain})).refused(3000, 404)


async def test_a_destroyed_domain_is_gone_and_its_name_free(company: Company, domain: str):
    await founded(company.owner, domain)
    (await company.owner.command("DM_Select", target={"domain": domain})).ok()
    (await company.owner.command("DM_Destroy")).ok()
    (await company.owner.command("DM_Read", target={"domain": domain})).refused(3000, 404)
    (await company.owner.command("DM_Read")).refused(3003, 409)
    await founded(company.owner, domain)


# visibility


async def seen(user: Client, prefix: str) -> list[str]:
    return [row["name"] for row in (await user.command("DM_List", target={"domain": prefix})).ok().profile]


async def test_a_list_shows_what_one_sees_and_no_more(newcomers: Company, unique: str):
    for access in ("public", "domain", "bank", "agent"):
        await founded(newcomers.owner, f"{unique}-{access}", access=access)
    everything = [f"{unique}-{access}" for access in ("agent", "bank", "domain", "public")]
    assert await seen(newcomers.owner, unique) == everything
    assert await seen(newcomers.stranger, unique.upper()) == [f"{unique}-public"]
    agent = agent_of(newcomers.subject)
    (await move(newcomers.owner, "DM_Invite", f"{unique}-agent", agent)).ok()
    assert await seen(newcomers.subject, unique) == [f"{unique}-agent", f"{unique}-public"]
    (await move(newcomers.owner, "DM_Ban", f"{unique}-agent", agent)).ok()
    assert await seen(newcomers.subject, unique) == [f"{unique}-public"]


async def test_a_list_comes_in_pages(company: Company, unique: str):
    names = [f"{unique}-{number}" for number in range(5)]
    for name in names:
        await founded(company.owner, name)
    found: list[str] = []
    cursor = None
    for _ in range(3):
        page = {"limit": 2, "cursor": cursor}
        answer = (await company.owner.command("DM_List", target={"domain": unique}, page=page)).ok()
        found += [row["name"] for row in answer.profile]
        cursor = answer.next
    assert (found, cursor) == (names, None)


async def test_a_domain_s_memberships_come_in_pages(newcomers: Company, domain: str):
    await founded(newcomers.owner, domain, access="public")
    for who in (newcomers.member, newcomers.subject, newcomers.stranger):
        (await move(who, "DM_Join", domain, agent_of(who))).ok()
    found: list[str] = []
    cursor = None
    for _ in range(2):
        page = {"limit": 2, "cursor": cursor}
        answer = (await newcomers.owner.command("DM_Read", target={"domain": domain}, page=page)).ok()
        assert [row["name"] for row in answer.profile] == [domain]
        found += [row["agent"] for row in answer.content]
        assert len(answer.content) == 2
        cursor = answer.next
    members = (newcomers.member, newcomers.owner, newcomers.stranger, newcomers.subject)
    assert (found, cursor) == ([agent_of(who) for who in members], None)
    target = {"domain": domain}
    (await newcomers.owner.command("DM_Read", target=target, page={"cursor": "x"})).refused(1003, 400)


async def test_who_shares_a_domain_with_the_founder_sees_what_is_for_domains(newcomers: Company, unique: str):
    common, other = f"{unique}-common", f"{unique}-other"
    await founded(newcomers.owner, common)
    await founded(newcomers.owner, other, access="domain")
    (await newcomers.subject.command("DM_Read", target={"domain": other})).refused(3000, 404)
    await bring_into(newcomers, common, "invited")
    (await newcomers.subject.command("DM_Read", target={"domain": other})).refused(3000, 404)
    (await move(newcomers.subject, "DM_Join", common, agent_of(newcomers.subject))).ok()
    (await newcomers.subject.command("DM_Read", target={"domain": other})).ok()
    assert await seen(newcomers.subject, unique) == [common, other]
    (await move(newcomers.subject, "DM_Join", other, agent_of(newcomers.subject))).refused(3002, 409)
    (await newcomers.subject.command("DM_Destroy", target={"domain": other})).refused(2003, 403)
    (await move(newcomers.owner, "DM_Kick", common, agent_of(newcomers.subject))).ok()
    (await newcomers.subject.command("DM_Read", target={"domain": other})).refused(3000, 404)


async def test_who_shares_a_bank_with_the_founder_sees_what_is_for_banks(newcomers: Company, domain: str):
    await founded(newcomers.owner, domain, access="bank")
    for access in ("agent", "domain"):
        await founded(newcomers.owner, f"{domain}-{access}", access=access)
    (await newcomers.subject.command("DM_Read", target={"domain": domain})).refused(3000, 404)
    bank = {"bank": f"{domain}-bank"}
    vx = {"name": bank["bank"], "description": "d", "access": "public"}
    (await newcomers.owner.command("MB_Create", vx=vx)).ok()
    attach = bank | {"agent": agent_of(newcomers.subject)}
    (await newcomers.owner.command("MB_Permissions", target=attach, vx={"permission": "read"})).ok()
    (await newcomers.subject.command("DM_Read", target={"domain": domain})).refused(3000, 404)
    (await newcomers.subject.command("MB_Accept", target=attach)).ok()
    (await newcomers.subject.command("DM_Read", target={"domain": domain})).ok()
    assert await seen(newcomers.subject, domain) == [domain]
    for access in ("agent", "domain"):
        (await newcomers.subject.command("DM_Read", target={"domain": f"{domain}-{access}"})).refused(3000, 404)
    (await newcomers.stranger.command("DM_Read", target={"domain": domain})).refused(3000, 404)


async def test_who_shares_a_domain_with_an_admin_sees_a_bank_for_domains(newcomers: Company, domain: str):
    await founded(newcomers.owner, domain)
    bank = {"bank": f"{domain}-bank"}
    vx = {"name": bank["bank"], "description": "d", "access": "domain"}
    (await newcomers.owner.command("MB_Create", vx=vx)).ok()
    (await newcomers.subject.command("MB_Permissions", target=bank)).refused(3000, 404)
    await bring_into(newcomers, domain, "member")
    (await newcomers.subject.command("MB_Permissions", target=bank)).refused(2003, 403)


async def test_who_shares_a_domain_or_a_bank_with_a_reader_alone_does_not_see_a_bank(newcomers: Company, domain: str):
    owner, reader, subject = newcomers.owner, newcomers.member, newcomers.subject
    await founded(reader, domain)
    (await move(reader, "DM_Invite", domain, agent_of(subject))).ok()
    (await move(subject, "DM_Join", domain, agent_of(subject))).ok()
    common = f"{domain}-common"
    (await reader.command("MB_Create", vx={"name": common})).ok()
    await share(reader, subject, common, agent_of(subject), "read")
    for access in ("domain", "bank"):
        bank = f"{domain}-{access}"
        (await owner.command("MB_Create", vx={"name": bank, "access": access})).ok()
        await share(owner, reader, bank, agent_of(reader), "write")
        (await subject.command("MB_Permissions", target={"bank": bank})).refused(3000, 404)
        await share(owner, reader, bank, agent_of(reader), "admin")
        (await subject.command("MB_Permissions", target={"bank": bank})).refused(2003, 403)


async def test_an_agent_for_domains_is_seen_in_a_common_domain(newcomers: Company, domain: str, unique: str):
    shown = f"{unique}-shown"
    await newcomers.owner.agent(shown, access="domain", select=False, profile="The password of the week is heron.")
    target = {"agent": shown}
    subject = newcomers.subject
    (await subject.command("AP_Read", target=target)).refused(3000, 404)
    (await subject.command("AP_Chat", target=target, content="Hello")).refused(3000, 404)
    await founded(newcomers.owner, domain)
    await bring_into(newcomers, domain, "member")
    (await move(newcomers.owner, "DM_Invite", domain, shown)).ok()
    (await subject.command("AP_Read", target=target)).ok()
    reply = (await subject.command("AP_Chat", target=target, content="What is the password of the week?")).ok()
    assert "heron" in reply.content[1]["content"]
    (await subject.command("AP_LogOff", target=target)).refused(2003, 403)
    listed = (await subject.command("AP_List", target={"user": newcomers.owner.name, "agent": shown})).ok().profile
    assert [agent["name"] for agent in listed] == [shown]
    (await subject.command("AP_Add", target=target)).ok()
    (await subject.command("AP_Select", target=target)).ok()
    (await subject.command("AP_Chat", content="What is the password of the week?")).ok()
    (await move(newcomers.owner, "DM_Ban", domain, shown)).ok()  # no member any more
    (await subject.command("AP_Read", target=target)).refused(3000, 404)
    for service in ("DM_Unban", "DM_Invite"):
        (await move(newcomers.owner, service, domain, shown)).ok()
    (await subject.command("AP_Read", target=target)).ok()
    (await move(subject, "DM_Leave", domain, agent_of(subject))).ok()
    (await subject.command("AP_Read", target=target)).refused(3000, 404)
    (await subject.command("AP_Chat", content="Hello")).refused(3003, 409)
    (await subject.command("AP_Select", target={"agent": agent_of(subject)})).ok()


# selection


async def test_a_selected_domain_is_the_context(company: Company, domain: str, unique: str):
    await founded(company.owner, domain)
    answer = (await company.owner.command("DM_Select", target={"domain": domain})).ok()
    assert (answer.profile[0]["name"], answer.context["domain"], answer.context["zone"]) == (domain, domain, "lobby")
    assert (await company.owner.command("DM_Read")).ok().profile[0]["name"] == domain
    renamed = {"name": f"{domain}-renamed", "description": "d"}
    assert (await company.owner.command("DM_Update", vx=renamed)).ok().context["domain"] == renamed["name"]
    again = await company.owner.log_on(company.owner.name)
    assert (await again.command("US_Read")).ok().context["domain"] is None
    assert (await company.owner.command("DM_Destroy")).ok().context["domain"] is None


async def test_a_domain_is_selected_by_its_members(company: Company, domain: str):
    await founded(company.owner, domain, access="public")
    target = {"domain": domain}
    (await company.subject.command("DM_Select", target=target)).refused(2003, 403)
    (await company.subject.command("DM_Select", target={"domain": "no-such-domain"})).refused(3000, 404)
    (await company.subject.command("DM_Select")).refused(3003, 409)
    await bring_into(company, domain, "member")
    assert (await company.subject.command("DM_Select", target=target)).ok().context["domain"] == domain
    (await company.owner.command("DM_Destroy", target=target)).ok()
    assert (await company.subject.command("US_Read")).ok().context["domain"] is None
    (await company.subject.command("DM_Read")).refused(3003, 409)


# other ends of memberships


async def test_a_destroyed_agent_leaves_its_domains_and_ends_those_it_founded(company: Company, unique: str):
    visitor = f"{unique}-visitor"
    await company.subject.agent(visitor, select=False)
    own, joined = f"{unique}-own", f"{unique}-joined"
    (
        await company.subject.command(
            "DM_Create", target={"agent": visitor}, vx={"name": own, "description": "d", "access": "public"}
        )
    ).ok()
    await founded(company.owner, joined, access="public")
    (await move(company.subject, "DM_Join", joined, visitor)).ok()
    read = (await company.subject.command("AP_Read", target={"agent": visitor})).ok()
    assert read.content[0]["domains"] == [joined, own]
    (await company.subject.command("AP_Destroy", target={"agent": visitor})).ok()
    (await company.owner.command("DM_Read", target={"domain": own})).refused(3000, 404)
    assert await standings(company.owner, joined) == {agent_of(company.owner): "member"}
    await company.subject.agent(visitor, select=False)
    (await move(company.subject, "DM_Join", joined, visitor)).ok()


async def test_a_destroyed_user_takes_its_domains_along(company: Company, sanic_client: Client, unique: str):
    user = await sanic_client.register(f"{unique}-user")
    await user.agent(f"{unique}-agent")
    own, joined = f"{unique}-own", f"{unique}-joined"
    await founded(user, own, access="public")
    await founded(company.owner, joined, access="public")
    (await move(user, "DM_Join", joined, f"{unique}-agent")).ok()
    assert (await user.command("US_Read")).ok().profile[0]["counts"]["domains"] == 1
    (await user.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
    (await company.owner.command("DM_Read", target={"domain": own})).refused(3000, 404)
    assert await standings(company.owner, joined) == {agent_of(company.owner): "member"}


async def test_another_sees_of_an_agent_only_the_domains_that_it_sees(company: Company, unique: str):
    agent = f"{unique}-public"
    await company.owner.agent(agent, select=False, access="public")
    for access in ("agent", "public"):
        name = f"{unique}-{access}"
        await founded(company.owner, name, access=access)
        (await move(company.owner, "DM_Invite", name, agent)).ok()
    for user, names in ((company.owner, ["agent", "public"]), (company.stranger, ["public"])):
        standing = (await user.command("AP_Read", target={"agent": agent})).ok().content[0]
        assert standing["domains"] == [f"{unique}-{access}" for access in names]


async def test_an_agent_is_shown_in_the_domains_that_it_is_a_member_of_alone(
    company: Company, domain: str, unique: str
):
    agent = {"agent": f"{unique}-guest"}
    await company.subject.agent(agent["agent"], select=False, access="public")
    await founded(company.owner, domain, access="public")
    for by, service, shown in (
        (company.owner, "DM_Invite", []),
        (company.subject, "DM_Join", [domain]),
        (company.owner, "DM_Ban", []),
    ):
        (await move(by, service, domain, agent["agent"])).ok()
        for user in (company.owner, company.subject):
            assert (await user.command("AP_Read", target=agent)).ok().content[0]["domains"] == shown, service


async def test_premium_names_are_for_plans_that_have_them(newcomers: Company):
    await on_plan(newcomers.owner, "scale")
    vx = {"name": "d-01", "description": "d"}
    await on_plan(newcomers.member, "builder")
    (await newcomers.member.command("DM_Create", vx=vx)).refused(2004, 403)
    (await newcomers.owner.command("DM_Create", vx=vx)).ok()
    (await newcomers.owner.command("DM_Destroy", target={"domain": "d-01"})).ok()


async def test_a_domain_shows_its_founder_by_the_name_of_now(user: Client, unique: str):
    await user.agent(f"{unique}-old")
    vx = {"name": f"{unique}-domain", "description": "d"}
    (await user.command("DM_Create", vx=vx)).ok()
    target = {"domain": vx["name"]}
    (await user.command("DM_Read", target=target)).ok()
    (await user.command("AP_Modify", vx={"name": f"{unique}-new"})).ok()
    for service in ("DM_Read", "DM_Select", "DM_Update", "DM_List"):
        (record,) = (await user.command(service, target=target, vx=vx)).ok().profile
        assert record["founder"] == f"{unique}-new", service
