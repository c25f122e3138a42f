"""The domain group: domains, who belongs to them, selection (product 4)."""

from actors.agents.messages import AgentView, StandingChanged, no_such_agent
from actors.calls.call import Answer, Call
from actors.calls.request import require_name
from actors.domains.membership import Move
from actors.domains.messages import DestroyDomain, DomainView, MoveMember, StandsIn, UpdateDomain, no_member
from actors.domains.records import domain_record, membership_record
from actors.errors import NotPermitted
from actors.sessions.messages import SelectZone
from actors.users.messages import CreateDomain
from persistence import agents, domains
from persistence.agents import AgentRow
from persistence.domains import DomainChanges
from persistence.users import name_key


async def create(call: Call) -> Answer:
    """DM_Create: make a domain, with its lobby, that an own agent founds."""
    call.require_own("domains")
    name = require_name(call.vx.name or "")
    founder = _own(await call.target_agent(), call)
    message = CreateDomain(
        founder_id=founder.id,
        founder=founder.name,
        name=name,
        description=call.vx.description or "",
        profile=call.vx.profile,
        access=call.vx.access or "agent",
    )
    answer = await call.carry_out("user", call.user.user_id, message, lambda row: Answer(profile=[domain_record(row)]))
    call.core.directory.tell("agent", founder.id, StandingChanged(has_domains=True))
    return answer


async def read(call: Call) -> Answer:
    """DM_Read: one domain and its memberships, a page of them by the agents' names."""
    view, limit = await call.target_domain(), call.page_limit
    query = domains.memberships_after(view.row.id, call.cursor(str) or "", limit + 1)
    standing = await call.core.store.fetch(query)
    return Answer(
        profile=[domain_record(view.row)],
        content=[
            membership_record(row.agent, row.state, row.since, founder=row.agent_id == view.row.founder_id)
            for row in standing[:limit]
        ],
        next=call.next_cursor(name_key(standing[limit - 1].agent)) if len(standing) > limit else None,
    )


async def list_domains(call: Call) -> Answer:
    """DM_List: the domains that the caller sees; `target.domain` is a name prefix."""
    limit = call.page_limit
    query = domains.visible_to(call.user.user_id, call.target.domain or "", call.cursor(str) or "", limit + 1)
    rows = await call.core.store.fetch(query)
    return Answer(
        profile=[domain_record(row) for row in rows[:limit]],
        next=call.next_cursor(name_key(rows[limit - 1].name)) if len(rows) > limit else None,
    )


async def update(call: Call) -> Answer:
    """DM_Update: replace name and description, and profile and access where they are given."""
    view = await call.target_domain()
    name = require_name(call.vx.name or "")
    if view.row.owner_id == call.user.user_id and name_key(name) != name_key(view.row.name):
        await call.require_name_allowed(name)
    changes = DomainChanges(name, call.vx.description or "", call.vx.profile, call.vx.access)
    return await call.carry_out(
        "domain", view.row.id, UpdateDomain(view.viewer, changes), lambda row: Answer(profile=[domain_record(row)])
    )


async def destroy(call: Call) -> Answer:
    """DM_Destroy: remove a domain and its zones for all."""
    view = await call.target_domain()

    def destroyed(_: None) -> Answer:
        if call.domain_id == view.row.id:
            call.domain_id = call.zone_id = None
        return Answer()

    return await call.carry_out("domain", view.row.id, DestroyDomain(view.viewer), destroyed)


async def select(call: Call) -> Answer:
    """DM_Select: make a domain and its lobby the session's."""
    view = await call.target_domain()
    if not view.is_member:
        raise no_member(view.row)
    return await select_place(call, view.row.id, view.lobby.id, Answer(profile=[domain_record(view.row)]))


async def select_place(call: Call, domain_id: str, zone_id: str, answer: Answer) -> Answer:
    """Make a domain and a zone of it the session's, or the key's."""
    if (call.domain_id, call.zone_id) == (domain_id, zone_id):
        return answer

    def selected(_: None) -> Answer:
        call.domain_id, call.zone_id = domain_id, zone_id
        return answer

    user = call.user
    return await call.carry_out(
        user.kind, user.credential_id, SelectZone(domain_id, zone_id), selected, repeatable=True
    )


async def invite(call: Call) -> Answer:
    """DM_Invite: invite an agent; an own one becomes a member."""
    return await _move(call, Move.INVITE)


async def join(call: Call) -> Answer:
    """DM_Join: make an own agent a member."""
    return await _move(call, Move.JOIN)


async def leave(call: Call) -> Answer:
    """DM_Leave: take an own agent out, or decline its invitation."""
    return await _move(call, Move.LEAVE)


async def kick(call: Call) -> Answer:
    """DM_Kick: put an agent out, or take its invitation back."""
    return await _move(call, Move.KICK)


async def ban(call: Call) -> Answer:
    """DM_Ban: put an agent out and keep it out."""
    return await _move(call, Move.BAN)


async def unban(call: Call) -> Answer:
    """DM_Unban: lift an agent's ban."""
    return await _move(call, Move.UNBAN)


async def _move(call: Call, move: Move) -> Answer:
    view = await call.target_domain()
    agent = await _agent_in(call, view)
    message = MoveMember(view.viewer, move, agent.id, agent.name, agent.owner_id)
    answer = await call.carry_out(
        "domain", view.row.id, message, lambda record: Answer(profile=[record] if record else [])
    )
    if answer.profile and answer.profile[0]["state"] == "member":
        call.core.directory.tell("agent", agent.id, StandingChanged(has_domains=True))
    return answer


async def _agent_in(call: Call, view: DomainView) -> AgentRow:
    """Find the agent that `target.agent` names, else the selected one; the domain's own are found by all who see it."""
    name = call.target.agent
    if name is None:
        return (await call.selected_agent()).row
    found = await call.core.store.fetch(agents.id_by_name(name))
    if not found:
        raise no_such_agent()
    if not await call.ask("domain", view.row.id, StandsIn(found[0])):
        return (await call.agent_named(name)).row
    rows = await call.core.store.fetch(agents.by_id(found[0]))
    if not rows:
        raise no_such_agent()
    return rows[0]


def _own(view: AgentView, call: Call) -> AgentRow:
    if view.row.owner_id != call.user.user_id:
        raise NotPermitted(f"Only the owner of {view.row.name} may do this with it; ask {view.row.owner}.")
    return view.row
