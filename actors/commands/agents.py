"""The agent group: agents, the roster, selection."""

from __future__ import annotations  # nested functions would build theirs at each call

from actors.agents.messages import AGENT, AgentView, DestroyAgent, SetOnline, UpdateAgent, no_such_agent
from actors.agents.records import agent_record
from actors.banks.records import offer_record
from actors.calls.call import Answer, Call
from actors.calls.context import loses_domain
from actors.calls.paging import cursor, page_limit, page_of
from actors.calls.request import require_name
from actors.calls.targets import domain_names_in_scope, target_agent
from actors.calls.user_targets import is_for_caller, require_name_in_plan, require_own, target_user_id
from actors.commands.command import AGENT_MEMBERS, ENTITY, NAMED, PAGE, Command, ToolDescription
from actors.commands.memberships import record_departures
from actors.errors import InvalidField, NotPermitted
from actors.sessions.messages import SelectAgent
from actors.sessions.scopes import listed_ids
from actors.users.messages import USER, CreateAgent, OnRoster
from actors.wire import Record
from persistence import agents, banks, domains, offers, own_conversations
from persistence.agents import AgentChanges, AgentRow
from persistence.users import name_key

LISTED_BANKS = 1_000
"""The largest number of banks, and also of offers, that AP_Read names."""


async def create(call: Call) -> Answer:
    """AP_Create: create an agent that the caller owns."""
    require_own(call, "agents")
    call.require_in_scope("agents", None)
    message = CreateAgent(
        name=require_name(call.vx.name or ""),
        description=call.vx.description or "",
        profile=call.vx.profile,
        access=call.vx.access or "agent",
    )
    return await call.carry_out(USER, call.user.user_id, message, _created)


def _created(agent: AgentRow) -> Answer:
    return Answer(profile=[agent_record(agent)], shows=(agent.id,))


def shown(view: AgentView) -> Answer:
    """Answer an agent's record."""
    return Answer(profile=[view.record], shows=(view.row.id,))


async def read(call: Call) -> Answer:
    """AP_Read: one agent, with its domains, banks and offers."""
    view = await target_agent(call)
    links: Record = {
        "state": view.record["state"],
        "domains": await _domains_of(call, view) if view.has_domains else [],
        "banks": await _banks_of(call, view) if view.has_banks else [],
        "offers": await _offers_to(call, view) if view.has_offers else [],
        "messages": await _messages_with(call, view) if view.messages else 0,
    }
    return Answer(profile=[view.record], content=[links])


async def _domains_of(call: Call, view: AgentView) -> list[str]:
    """List the names of the domains that an agent is a member of and the caller sees."""
    names = await call.core.store.fetch(domains.names_of_agent(view.row.id, call.user.user_id))
    return await domain_names_in_scope(call, names)


async def _banks_of(call: Call, view: AgentView) -> list[str]:
    """List the agent's banks that the caller may see."""
    query = banks.of_agent(view.row.id, call.user.user_id, LISTED_BANKS, listed_ids(call.scopes, "banks"))
    return [bank.name for bank in await call.core.store.fetch(query)]


async def _offers_to(call: Call, view: AgentView) -> list[Record]:
    """List the offers to the agent, for its owner only."""
    if view.row.owner_id != call.user.user_id or (call.scopes is not None and call.scopes.banks is not None):
        return []
    rows = await call.core.store.fetch(offers.of_agent(view.row.id, LISTED_BANKS))
    return [offer_record(row) for row in rows]


async def _messages_with(call: Call, view: AgentView) -> int:
    """Count the messages of the caller's own conversations with the agent."""
    (count,) = await call.core.store.fetch(own_conversations.messages_between(view.row.id, call.user.user_id))
    return count


async def list_agents(call: Call) -> Answer:
    """AP_List: the caller's agents and roster, or another user's agents that the caller may see."""
    viewer, limit, ids = call.user.user_id, page_limit(call), listed_ids(call.scopes, "agents")
    prefix = call.target.agent or ""
    after = cursor(call, str) or ""
    if is_for_caller(call):
        query = agents.listed_for(viewer, prefix, after, limit + 1, ids)
    else:
        query = agents.visible_of(await target_user_id(call), viewer, prefix, after, limit + 1, ids)
    rows, following = page_of(call, await call.core.store.fetch(query), limit, lambda row: name_key(row.name))
    return Answer(profile=[agent_record(row) for row in rows], shows=tuple([row.id for row in rows]), next=following)


def unselect(call: Call, agent_id: str) -> None:
    """Unselect an agent that is gone or out of reach."""
    if call.agent_id == agent_id:
        call.agent_id = None


async def select(call: Call) -> Answer:
    """AP_Select: select an agent for the session."""
    view = await target_agent(call)
    agent = view.row
    own = agent.owner_id == call.user.user_id
    if not own and not await call.ask(USER, call.user.user_id, OnRoster(agent.id)):
        raise NotPermitted(f"{agent.name} is not on your roster; add it with AP_Add first.")
    if call.agent_id == agent.id:
        return shown(view)

    def selected(_: None) -> Answer:
        call.agent_id = agent.id
        return shown(view)

    user = call.user
    return await call.carry_out(user.kind, user.credential_id, SelectAgent(agent.id), selected, repeatable=True)


async def log_on(call: Call) -> Answer:
    """AP_LogOn: bring one of the caller's agents online."""
    return await _set_online(call, online=True)


async def log_off(call: Call) -> Answer:
    """AP_LogOff: take one of the caller's agents offline."""
    return await _set_online(call, online=False)


async def _set_online(call: Call, *, online: bool) -> Answer:
    target = await target_agent(call)
    return await call.carry_out(AGENT, target.row.id, SetOnline(call.user.user_id, online), shown)


async def update(call: Call) -> Answer:
    """AP_Update: replace name, description, profile and access of one of the caller's agents."""
    return await _change(call)


async def modify(call: Call) -> Answer:
    """AP_Modify: change only the members given of one of the caller's agents."""
    if not any((call.vx.name, call.vx.description, call.vx.profile, call.vx.access)):
        raise InvalidField("Invalid value of vx: give at least one of name, description, profile and access.")
    return await _change(call)


async def _change(call: Call) -> Answer:
    name = call.vx.name
    target = await target_agent(call)
    own = target.row.owner_id == call.user.user_id  # else the agent's actor refuses
    if own and name is not None and name_key(require_name(name)) != name_key(target.row.name):
        await require_name_in_plan(call, name, no_such_agent)
    changes = AgentChanges(name, call.vx.description, call.vx.profile, call.vx.access)

    def changed(view: AgentView) -> Answer:
        call.saw_agent(view.row.id, view.row.name)
        return shown(view)

    return await call.carry_out(AGENT, target.row.id, UpdateAgent(call.user.user_id, changes), changed)


async def destroy(call: Call) -> Answer:
    """AP_Destroy: remove one of the caller's agents for everyone."""
    target = await target_agent(call)
    if listed_ids(call.scopes, "domains") is not None:
        for domain_id in await call.core.store.fetch(domains.founded_by(target.row.id)):
            call.require_in_scope("domains", domain_id)
    left = tuple(await call.core.store.fetch(domains.of_agent(target.row.id)))
    loses = call.domain_id in left and await loses_domain(call, target.row.id)

    def destroyed(_: AgentView) -> Answer:
        unselect(call, target.row.id)
        if loses:
            call.lost_domain()
        return Answer()

    answer = await call.carry_out(AGENT, target.row.id, DestroyAgent(call.user.user_id, left), destroyed)
    call.core.erasure.wake()
    await record_departures(call, dict.fromkeys(left, (target.row.name,)))
    return answer


COMMANDS = (
    Command(
        "AP_Create",
        "Create an agent.",
        create,
        uses=("target.user", *ENTITY),
        requires=NAMED,
        profile="agent",
        errors=(2003, 2004, 3001),
        example={"vx": {"name": "scout", "description": "Finds things out", "access": "public"}},
        tool=ToolDescription(
            "Create an agent",
            "Create an agent that you own. It begins offline: bring it online with AP_LogOn before you chat with it.",
        ),
    ),
    Command(
        "AP_Destroy",
        "Remove one of your agents for everyone.",
        destroy,
        uses=AGENT_MEMBERS,
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Delete an agent",
            "Delete an agent of yours for everybody; domains that it founded go with it. Takes the selected "
            "agent if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "AP_List",
        "List your agents and your roster, or another user's agents that you may see.",
        list_agents,
        uses=(*AGENT_MEMBERS, *PAGE),
        profile="agent",
        mutates=False,
        errors=(3000,),
        example={"target": {"agent": "sc"}},
        tool=ToolDescription(
            "List agents",
            "List your own agents and those on your roster, or another user's agents that you may see. Use it "
            "to find an agent's exact name.",
        ),
    ),
    Command(
        "AP_LogOff",
        "Take one of your agents offline.",
        log_off,
        uses=("target.agent",),
        profile="agent",
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Take an agent offline",
            "Take an agent of yours offline, so that nobody can chat with it until AP_LogOn. Takes the "
            "selected agent if none is named.",
            idempotent=True,
        ),
    ),
    Command(
        "AP_LogOn",
        "Bring one of your agents online.",
        log_on,
        uses=("target.agent",),
        profile="agent",
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Bring an agent online",
            "Bring an agent of yours online, so that it can be chatted with. Takes the selected agent if none "
            "is named.",
            idempotent=True,
        ),
    ),
    Command(
        "AP_Modify",
        "Change only the given members of one of your agents.",
        modify,
        uses=(*AGENT_MEMBERS, *ENTITY),
        profile="agent",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"access": "public"}},
        tool=ToolDescription(
            "Change parts of an agent",
            "Change only the given members of an agent of yours and keep the rest. Takes the selected agent if "
            "none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "AP_Read",
        "Read one agent, with its domains, banks and offers.",
        read,
        uses=AGENT_MEMBERS,
        profile="agent",
        content=("standing",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Read an agent",
            "Read an agent's record with its domains, its banks and the banks that it is offered. Name the "
            "agent, or select one first with AP_Select.",
        ),
    ),
    Command(
        "AP_Select",
        "Select one of your agents, or one on your roster, for the session.",
        select,
        uses=AGENT_MEMBERS,
        requires=("target.agent",),
        profile="agent",
        errors=(2003, 3000),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Select an agent",
            "Select one of your agents, or one on your roster: tools that get no agent's name use the selected "
            "one from then on.",
            idempotent=True,
        ),
    ),
    Command(
        "AP_Update",
        "Replace name, description, profile and access of one of your agents.",
        update,
        uses=(*AGENT_MEMBERS, *ENTITY),
        requires=NAMED,
        profile="agent",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={
            "target": {"agent": "scout"},
            "vx": {"name": "scout", "description": "Finds everything out"},
        },
        tool=ToolDescription(
            "Replace an agent's definition",
            "Replace the name and description of an agent of yours, and its profile and access if given. Use "
            "AP_Modify to change single members; takes the selected agent if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
)
