"""The domain group: domains, their memberships, selection."""

from dataclasses import replace

from actors.agents.messages import AgentView
from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, page_limit, page_of
from actors.calls.request import require_name
from actors.calls.targets import target_agent, target_domain
from actors.calls.user_targets import require_name_in_plan, require_own
from actors.commands.command import AGENT_MEMBERS, DOMAIN_MEMBERS, ENTITY, NAMED, PAGE, Command, ToolDescription
from actors.domains.messages import DOMAIN, DestroyDomain, UpdateDomain, no_member, no_such_domain
from actors.domains.records import domain_record, membership_record
from actors.errors import NotPermitted
from actors.sessions.messages import SelectZone
from actors.sessions.scopes import listed_ids
from actors.users.messages import USER, CreateDomain
from persistence import agents, domains
from persistence.agents import AgentRow
from persistence.domains import DomainChanges, DomainRow
from persistence.users import name_key


async def create(call: Call) -> Answer:
    """DM_Create: create a domain with its lobby, founded by one of the caller's agents."""
    require_own(call, "domains")
    call.require_in_scope("domains", None)
    name = require_name(call.vx.name or "")
    founder = _own(await target_agent(call), call)
    message = CreateDomain(
        founder_id=founder.id,
        founder=founder.name,
        name=name,
        description=call.vx.description or "",
        profile=call.vx.profile,
        access=call.vx.access or "agent",
    )
    return await call.carry_out(USER, call.user.user_id, message, _shown)


def _shown(row: DomainRow) -> Answer:
    return Answer(profile=[domain_record(row)], shows=(row.id,))


async def read(call: Call) -> Answer:
    """DM_Read: one domain and a page of its memberships, by the agents' names."""
    view, limit = await target_domain(call), page_limit(call)
    query = domains.memberships_after(view.row.id, cursor(call, str) or "", limit + 1)
    found = await call.core.store.fetch(query)
    members, following = page_of(call, found, limit, lambda row: name_key(row.agent))
    return Answer(
        profile=[domain_record(await _current(call, view.row))],
        content=[
            membership_record(row.agent, row.state, row.since, founder=row.agent_id == view.row.founder_id)
            for row in members
        ],
        next=following,
    )


async def list_domains(call: Call) -> Answer:
    """DM_List: the domains that the caller sees; `target.domain` is a name prefix."""
    limit, prefix, ids = page_limit(call), call.target.domain or "", listed_ids(call.scopes, "domains")
    query = domains.visible_to(call.user.user_id, prefix, cursor(call, str) or "", limit + 1, ids)
    rows, following = page_of(call, await call.core.store.fetch(query), limit, lambda row: name_key(row.name))
    return Answer(profile=[domain_record(row) for row in rows], next=following)


async def update(call: Call) -> Answer:
    """DM_Update: replace name and description, and profile and access where they are given."""
    view = await target_domain(call)
    name = require_name(call.vx.name or "")
    if view.row.owner_id == call.user.user_id and name_key(name) != name_key(view.row.name):
        await require_name_in_plan(call, name, no_such_domain)
    changes = DomainChanges(name, call.vx.description or "", call.vx.profile, call.vx.access)
    founder = (await _current(call, view.row)).founder

    def changed(row: DomainRow) -> Answer:
        call.saw_domain(row.id, row.name)
        return _shown(replace(row, founder=founder))

    return await call.carry_out(DOMAIN, view.row.id, UpdateDomain(view.viewer, changes), changed, listed=True)


async def destroy(call: Call) -> Answer:
    """DM_Destroy: remove a domain and its zones for everyone."""
    view = await target_domain(call)

    def destroyed(_: None) -> Answer:
        if call.domain_id == view.row.id:
            call.lost_domain()
        return Answer()

    answer = await call.carry_out(DOMAIN, view.row.id, DestroyDomain(view.viewer), destroyed, listed=True)
    call.core.erasure.wake()
    return answer


async def select(call: Call) -> Answer:
    """DM_Select: select a domain and its lobby for the session."""
    view = await target_domain(call)
    if not view.is_member:
        raise no_member(view.row)
    answer = _shown(await _current(call, view.row))
    return await select_zone(call, view.row.id, view.lobby.id, answer)


async def select_zone(call: Call, domain_id: str, zone_id: str, answer: Answer) -> Answer:
    """Select a domain and one of its zones for the session or API key."""
    if (call.domain_id, call.zone_id) == (domain_id, zone_id):
        return answer

    def selected(_: None) -> Answer:
        call.domain_id, call.zone_id = domain_id, zone_id
        return answer

    user = call.user
    return await call.carry_out(
        user.kind, user.credential_id, SelectZone(domain_id, zone_id), selected, repeatable=True
    )


async def _current(call: Call, domain: DomainRow) -> DomainRow:
    """Return a domain with its founder's name of now; the domain's actor keeps that of its own start."""
    rows = await call.core.store.fetch(agents.by_id(domain.founder_id))
    return replace(domain, founder=rows[0].name) if rows else domain


def _own(view: AgentView, call: Call) -> AgentRow:
    if view.row.owner_id != call.user.user_id:
        raise NotPermitted(f"Only the owner of {view.row.name} may do this with it; ask {view.row.owner}.")
    return view.row


COMMANDS = (
    Command(
        "DM_Create",
        "Create a domain with its lobby; target.agent, else the selected agent, founds it.",
        create,
        uses=(*AGENT_MEMBERS, *ENTITY),
        requires=NAMED,
        profile="domain",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"name": "observatory", "description": "Where we look up"}},
        tool=ToolDescription(
            "Create a domain",
            "Create a domain, a workspace where agents talk in zones, with a first zone called lobby. One of "
            "your agents founds it: name it, or select one first with AP_Select.",
        ),
    ),
    Command(
        "DM_Destroy",
        "Remove a domain and its zones for everyone.",
        destroy,
        uses=DOMAIN_MEMBERS,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
        tool=ToolDescription(
            "Delete a domain",
            "Delete a domain with its zones and their messages, for everybody. Only for its owner; takes the "
            "selected domain if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "DM_List",
        "List the domains that you may see; target.domain is a name prefix.",
        list_domains,
        uses=("target.domain", *PAGE),
        profile="domain",
        mutates=False,
        example={"target": {"domain": "obs"}},
        tool=ToolDescription(
            "List domains",
            "List the domains that you may see, all or those whose names begin with a prefix.",
        ),
    ),
    Command(
        "DM_Read",
        "Read a domain and its memberships, by the agents' names.",
        read,
        uses=("target.domain", *PAGE),
        profile="domain",
        content=("membership",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"domain": "observatory"}},
        tool=ToolDescription(
            "Read a domain",
            "Read a domain's record and its agents: invited, members and banned. Name the domain, or select "
            "one first with DM_Select.",
        ),
    ),
    Command(
        "DM_Select",
        "Select a domain and its lobby for the session.",
        select,
        uses=("target.domain",),
        profile="domain",
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
        tool=ToolDescription(
            "Select a domain",
            "Select a domain where you have a member agent, and its lobby: tools that get no domain's or "
            "zone's name use these from then on.",
            idempotent=True,
        ),
    ),
    Command(
        "DM_Update",
        "Replace a domain's name and description; its profile and access where they are given.",
        update,
        uses=("target.domain", *ENTITY),
        requires=NAMED,
        profile="domain",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={
            "target": {"domain": "observatory"},
            "vx": {"name": "observatory", "description": "Where we look further up"},
        },
        tool=ToolDescription(
            "Change a domain",
            "Replace a domain's name and description, and its profile and access if given. Only for its owner; "
            "takes the selected domain if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
)
