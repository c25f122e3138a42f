"""`target.user` beside an agent: its owner or the caller (docs/contract.md, "Defaults of target")."""

from dataclasses import dataclass
from typing import Any

import pytest

from actors.commands.table import COMMANDS
from tests.support.conversations import begun
from tests.support.gateway import Answer, Client
from tests.support.memories import share
from tests.support.workspaces import founded, move

LISTS = {"AP_List"}  # target.user says whose
CREATE_FOR_ONESELF = {"DM_Create", "MB_Create"}
TAKE_NO_AGENT = {"DM_Destroy"}

OWN_AGENT: dict[str, dict[str, Any]] = {  # each may leave the agent's name out
    "AP_Chat": {"content": "Hello"},
    "AP_Destroy": {},
    "AP_History": {},
    "AP_LogOff": {},
    "AP_LogOn": {},
    "AP_Modify": {"vx": {"description": "Changed"}},
    "AP_Read": {},
    "AP_Update": {"vx": {"description": "Changed"}},
    "CV_Create": {},
    "CV_Destroy": {"target": {"conversation": "default"}},
    "CV_Fork": {"target": {"conversation": "default"}},
    "CV_Read": {"target": {"conversation": "default"}},
    "CV_Update": {"target": {"conversation": "default"}, "vx": {"name": "Title"}},
    "DM_Invite": {"target": {"domain": "domain"}},
    "DM_Join": {"target": {"domain": "domain"}},
    "DM_Leave": {"target": {"domain": "domain"}},
    "MB_Accept": {"target": {"bank": "offered"}},
    "MB_Load": {"target": {"bank": "bank"}, "vx": {"name": "again"}, "content": "It moves."},
    "MB_Unload": {"target": {"bank": "bank"}},
}
NAMED_AGENT: dict[str, dict[str, Any]] = {  # the selected agent is no default
    "AP_Select": {},
    "CV_List": {},
    "CV_Search": {"content": "Hello"},
    "MB_AgentList": {"target": {"bank": "bank"}},
    "MB_Censor": {"target": {"bank": "bank"}},
    "MB_Delete": {"target": {"bank": "bank"}},
    "MB_Permissions": {"target": {"bank": "bank"}, "vx": {"permission": "none"}},
}
ANOTHER_S_AGENT: dict[str, dict[str, Any]] = {
    "AP_Add": {},
    "AP_Remove": {},
    "DM_Ban": {"target": {"domain": "domain"}},
    "DM_Invite": {"target": {"domain": "domain"}},
    "DM_Kick": {"target": {"domain": "domain"}},
    "DM_Unban": {"target": {"domain": "domain"}},
    "MB_Permissions": {"target": {"bank": "bank"}, "vx": {"permission": "none"}},
    "MB_Unload": {"target": {"bank": "bank"}},
}
IN_A_CONVERSATION: dict[str, dict[str, Any]] = {
    "AP_Chat": {"content": "Hello"},
    "AP_History": {},
    "CV_Destroy": {},
    "CV_Fork": {},
    "CV_Read": {},
    "CV_Search": {"content": "Hello"},
    "CV_Update": {"vx": {"name": "Title"}},
}


@dataclass(frozen=True, slots=True)
class World:
    """A user with an agent that is selected, and another user with one that only the domain and the bank show."""

    user: Client
    other: Client
    unique: str

    async def command(self, service: str, body: dict[str, Any], **target: str) -> Answer:
        """Send a command; domains and banks of this world are named by their last part."""
        named = {kind: f"{self.unique}-{name}" for kind, name in body.get("target", {}).items() if name != "default"}
        sent = {**body, "target": {**body.get("target", {}), **named, **target}}
        if service == "AP_Update":
            sent["vx"] = {**sent["vx"], "name": f"{self.unique}-own"}
        return await self.user.command(service, **sent)

    async def refused_for_others(self, service: str, body: dict[str, Any], **target: str) -> None:
        """Send a command with users that neither own its agent nor send it, existing and not."""
        for user in (f"{self.unique}-third", f"{self.unique}-nobody"):
            (await self.command(service, body, **target, user=user)).refused(3000, 404)


@pytest.fixture
async def world(user: Client, sanic_client: Client, unique: str) -> World:
    other = await sanic_client.register(f"{unique}-other")
    await sanic_client.register(f"{unique}-third")
    domain, bank, offered = f"{unique}-domain", f"{unique}-bank", f"{unique}-offered"
    own, theirs = f"{unique}-own", f"{unique}-theirs"
    await user.agent(f"{unique}-host")
    await founded(user, domain, access="public")
    (await user.command("MB_Create", vx={"name": bank})).ok()
    await other.agent(theirs, access="public")
    (await other.command("MB_Create", vx={"name": offered})).ok()
    await user.agent(own, access="public")
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "a"}, content="The Moon is far.")).ok()
    (await user.command("AP_Chat", content="Hello")).ok()
    grant = {"permission": "read"}
    (await other.command("MB_Permissions", target={"bank": offered, "agent": own}, vx=grant)).ok()
    (await user.command("MB_Permissions", target={"bank": bank, "agent": theirs}, vx=grant)).ok()
    (await other.command("MB_Accept", target={"bank": bank})).ok()
    return World(user, other, unique)


async def prepare(world: World, service: str, agent: str) -> None:
    """Do what a command undoes, and hide the other user's agent, which the domain and the bank still show."""
    domain, theirs = f"{world.unique}-domain", f"{world.unique}-theirs"
    if service in ("DM_Leave", "DM_Kick", "DM_Ban", "DM_Unban"):
        (await move(world.user, "DM_Invite", domain, agent)).ok()
        (await move(world.user if agent != theirs else world.other, "DM_Join", domain, agent)).ok()
    if service == "DM_Unban":
        (await move(world.user, "DM_Ban", domain, agent)).ok()
    if service == "AP_Remove":
        (await world.user.command("AP_Add", target={"agent": agent})).ok()
    if service not in ("AP_Add", "DM_Invite"):
        (await world.other.command("AP_Modify", vx={"access": "agent"})).ok()


def test_each_command_that_takes_an_agent_is_checked():
    takes = {service for service, command in COMMANDS.items() if "target.agent" in command.uses}
    checked = {*OWN_AGENT, *NAMED_AGENT, *ANOTHER_S_AGENT, *IN_A_CONVERSATION}
    assert takes == checked | LISTS | CREATE_FOR_ONESELF | TAKE_NO_AGENT


@pytest.mark.parametrize("service", OWN_AGENT)
async def test_a_selected_agent_is_meant_only_beside_its_owner(world: World, service: str):
    await prepare(world, service, f"{world.unique}-own")
    await world.refused_for_others(service, OWN_AGENT[service])
    (await world.command(service, OWN_AGENT[service], user=world.user.name.upper())).ok()  # nothing was done before


@pytest.mark.parametrize("service", [*OWN_AGENT, *NAMED_AGENT])
async def test_a_named_agent_is_meant_only_beside_its_owner(world: World, service: str):
    body, agent = {**OWN_AGENT, **NAMED_AGENT}[service], f"{world.unique}-own"
    await prepare(world, service, agent)
    await world.refused_for_others(service, body, agent=agent)
    (await world.command(service, body, agent=agent, user=world.user.name.upper())).ok()


@pytest.mark.parametrize("service", ANOTHER_S_AGENT)
@pytest.mark.parametrize("right", ["owner", "caller"])
async def test_another_s_agent_is_meant_only_beside_its_owner_or_the_caller(world: World, service: str, right: str):
    body, agent = ANOTHER_S_AGENT[service], f"{world.unique}-theirs"
    await prepare(world, service, agent)
    await world.refused_for_others(service, body, agent=agent)
    name = world.other.name if right == "owner" else world.user.name
    (await world.command(service, body, agent=agent, user=name)).ok()


@pytest.mark.parametrize("service", IN_A_CONVERSATION)
@pytest.mark.parametrize("named", [True, False])
async def test_a_conversation_is_meant_only_beside_its_agent_s_owner(world: World, service: str, named: bool):
    agent = f"{world.unique}-theirs"
    target = {"agent": agent} if named else {}
    conversation = (await begun(world.user, None, "Hello", agent=agent))["id"]
    body = IN_A_CONVERSATION[service]
    await world.refused_for_others(service, body, conversation=conversation, **target)
    (await world.command(service, body, conversation=conversation, **target, user=world.other.name)).ok()


async def test_a_conversation_with_a_destroyed_agent_has_no_owner_to_name(world: World):
    conversation = (await begun(world.user, None, "Hello", agent=f"{world.unique}-theirs"))["id"]
    (await world.other.command("AP_Destroy")).ok()
    await world.refused_for_others("CV_Destroy", {}, conversation=conversation)
    (await world.command("CV_Destroy", {}, conversation=conversation, user=world.user.name)).ok()


@pytest.mark.parametrize("service", sorted(CREATE_FOR_ONESELF))
async def test_what_is_created_is_one_s_own_whatever_agent_is_named(world: World, service: str):
    body = {"vx": {"name": f"{world.unique}-new", "description": "d"}}
    for user in (world.other.name, f"{world.unique}-nobody"):
        (await world.command(service, body, agent=f"{world.unique}-own", user=user)).refused(2003, 403)
    (await world.command(service, body, agent=f"{world.unique}-own", user=world.user.name)).ok()


async def test_who_reads_a_bank_does_not_learn_whose_a_hidden_agent_in_it_is(world: World, sanic_client: Client):
    reader = await sanic_client.log_on(f"{world.unique}-third")
    await reader.agent(f"{world.unique}-reader", access="public")
    bank, theirs = f"{world.unique}-bank", f"{world.unique}-theirs"
    await share(world.user, reader, bank, f"{world.unique}-reader", "read")
    (await world.other.command("AP_Modify", target={"agent": theirs}, vx={"access": "agent"})).ok()
    target = {"bank": bank, "agent": theirs}
    for service in ("MB_AgentList", "MB_Unload"):
        for user in (world.other.name, world.user.name, f"{world.unique}-nobody"):
            (await reader.command(service, target={**target, "user": user})).refused(3000, 404)
    (await reader.command("MB_AgentList", target=target)).ok()
    (await world.user.command("MB_AgentList", target={**target, "user": world.other.name})).ok()
    (await world.user.command("MB_Unload", target={**target, "user": world.other.name})).ok()
