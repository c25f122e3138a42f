"""Targets: the agents, domains, zones and banks that a command names, or that are selected."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from actors.agents.messages import AGENT, AgentView, ReadAgent, no_such_agent
from actors.banks.messages import BankView, RecalledMemories
from actors.calls.call import Call
from actors.calls.user_targets import is_for_caller, is_meant
from actors.domains.messages import (
    DOMAIN,
    DomainView,
    DomainViewer,
    FindZone,
    ReadDomain,
    StandsIn,
    ZonePlace,
    no_such_domain,
    no_such_zone,
)
from actors.errors import NotFound, NothingSelected, NotPermitted
from persistence import agents, domains
from persistence.agents import AgentRow
from persistence.domains import ZoneRow
from persistence.store import Query
from persistence.users import name_key

V = TypeVar("V", AgentView, BankView, DomainView, RecalledMemories)


async def named(
    call: Call, kind: str, name: str, find: Callable[[str], Query[str]], read: Callable[[str], Awaitable[V]]
) -> V | None:
    """Read the entity of a name: by its last known id if that is still right, else by a new look-up."""
    names = call.core.names
    hint = names.hint(kind, name)
    if hint is not None:
        try:
            view = await read(hint)
            if view.row.name == name or name_key(view.row.name) == name_key(name):
                return view
        except NotFound:
            pass
        names.forget(kind, name)
    found = await names.find(kind, name, find)
    return None if found is None else await read(found)


# agents


async def target_agent(call: Call) -> AgentView:
    """Read the agent that `target.agent` names, else the selected one, as the caller may see it.

    Raises:
        NotFound: there is none of that name that the caller may see, or `target.user` is not its owner.
        NothingSelected: no name was given and nothing is selected.
        NotPermitted: the sender's API key is not for it.
    """
    name = call.target.agent
    if name is not None:
        return await agent_named(call, name)
    view = await selected_agent(call)
    if not is_meant(call, view.row):
        raise no_such_agent()
    return view


async def target_agent_id(call: Call) -> str:
    """Find the agent that `target.agent` names, else the selected one, as a rule without reading it.

    Raises:
        NotFound: there is none of that name that the caller may see, or `target.user` is not its owner.
        NothingSelected: no name was given and nothing is selected.
        NotPermitted: the sender's API key is not for it.
    """
    if call.target.agent is not None:
        return await agent_id_named(call, call.target.agent)
    if call.agent_id is None:
        raise no_agent_selected()
    if not is_for_caller(call):
        return (await target_agent(call)).row.id
    call.require_in_scope("agents", call.agent_id)
    return call.agent_id


async def own_target_agent(call: Call) -> AgentView:
    """Read the target agent, which must be the caller's own.

    Raises:
        NotFound, NothingSelected: there is no target agent.
        NotPermitted: it is another user's, or the sender's API key is not for it.
    """
    view = await target_agent(call)
    if view.row.owner_id != call.user.user_id:
        raise NotPermitted(f"{view.row.name} is not your own agent; name one of yours as target.agent.")
    return view


async def selected_agent(call: Call) -> AgentView:
    """Read the selected agent.

    Raises:
        NothingSelected: none is selected, or it is gone or out of sight since.
        NotPermitted: the sender's API key is not for it.
    """
    if call.agent_id is not None:
        call.require_in_scope("agents", call.agent_id)
        try:
            return await read_agent(call, call.agent_id)
        except NotFound:
            call.agent_id = None
    raise no_agent_selected()


async def agent_named(call: Call, name: str) -> AgentView:
    """Read the agent of a name, in any case.

    Raises:
        NotFound: there is none that the caller may see, or `target.user` is not its owner.
        NotPermitted: the sender's API key is not for it.
    """
    view = await named(call, AGENT, name, agents.id_by_name, partial(read_agent, call))
    if view is None or not is_meant(call, view.row):
        raise no_such_agent()
    call.require_in_scope("agents", view.row.id)
    return view


async def agent_id_named(call: Call, name: str) -> str:
    """Find the agent of a name, as `agent_named` does, without reading one of the caller's own that is live here.

    Raises:
        NotFound: there is none that the caller may see, or `target.user` is not its owner.
        NotPermitted: the sender's API key is not for it.
    """
    core = call.core
    hint = core.names.hint(AGENT, name) if call.target.user is None else None
    if hint is None or core.directory.name_for(AGENT, hint, call.user.user_id) != name:
        return (await agent_named(call, name)).row.id
    call.require_in_scope("agents", hint)
    call.saw_agent(hint, name)
    return hint


async def read_agent(call: Call, agent_id: str) -> AgentView:
    """Read an agent as the caller may see it.

    Raises:
        NotFound: it is gone or out of sight.
    """
    read = ReadAgent(call.user.user_id)
    try:
        view = call.core.directory.ask_inline(AGENT, agent_id, read) or await call.ask(AGENT, agent_id, read)
    except NotFound:
        if not await has_access_to(call, agent_id):
            raise
        view = await call.ask(AGENT, agent_id, ReadAgent(call.user.user_id, access_granted=True))
    call.saw_agent(agent_id, view.row.name)
    return view


async def has_access_to(call: Call, agent_id: str) -> bool:
    """Return whether the agent's access opens it to the caller; asked where the agent's actor alone can't tell."""
    return bool(await call.core.store.fetch(agents.opened_to(agent_id, call.user.user_id)))


def no_agent_selected() -> NothingSelected:
    """Make the error for a command that needs a selected agent."""
    return NothingSelected("No agent is selected: name one as target.agent, or select one with AP_Select.")


# domains and zones


async def target_domain(call: Call) -> DomainView:
    """Read the domain that `target.domain` names, else the selected one, as the caller may see it.

    Raises:
        NotFound: there is none of that name that the caller may see.
        NothingSelected: no name was given and nothing is selected.
        NotPermitted: the sender's API key is not for it.
    """
    name = call.target.domain
    if name is not None:
        return await domain_named(call, name)
    if call.domain_id is not None:
        call.require_in_scope("domains", call.domain_id)
        try:
            return await read_domain(call, call.domain_id)
        except NotFound:
            call.lost_domain()
    raise NothingSelected("No domain is selected: name one as target.domain, or select one with DM_Select.")


async def domain_named(call: Call, name: str) -> DomainView:
    """Read the domain of a name, in any case.

    Raises:
        NotFound: there is none that the caller may see.
        NotPermitted: the sender's API key is not for it.
    """
    view = await named(call, "domain", name, domains.id_by_name, lambda domain_id: read_domain(call, domain_id))
    if view is None:
        raise no_such_domain()
    call.require_in_scope("domains", view.row.id)
    return view


async def domain_names_in_scope(call: Call, names: list[str]) -> list[str]:
    """Return those of these names of domains that the sender's API key may see."""
    scopes = call.scopes
    if scopes is None or scopes.domains is None:
        return names
    allowed = set(await call.core.store.fetch(domains.names_of(scopes.domains)))
    return [name for name in names if name in allowed]


async def read_domain(call: Call, domain_id: str) -> DomainView:
    """Read a domain as the caller may see it.

    Raises:
        NotFound: it is gone or out of sight.
    """
    viewer = DomainViewer(call.user.user_id)
    try:
        return await call.ask(DOMAIN, domain_id, ReadDomain(viewer))
    except NotFound:
        if not await call.core.store.fetch(domains.shown_by_sharing(domain_id, viewer.user_id)):
            raise
    return await call.ask(DOMAIN, domain_id, ReadDomain(viewer._replace(access_granted=True)))


async def target_zone(call: Call) -> tuple[DomainView, ZoneRow]:
    """Read the target domain and find `target.zone` in it, else the selected zone if it is there, else the lobby.

    Raises:
        NotFound: there is no such domain that the caller may see, or no such zone in it.
        NothingSelected: no domain was named and none is selected.
        NotPermitted: the sender's API key is not for the domain.
    """
    view = await target_domain(call)
    name = call.target.zone
    if name is None:
        selected = (zone for zone in view.zones if zone.id == call.zone_id)
        return view, next(selected, view.lobby)
    for zone in view.zones:
        if name_key(zone.name) == name_key(name):
            return view, zone
    raise no_such_zone()


async def zone_to_say_in(call: Call) -> ZonePlace:
    """Find the zone that a message is for, as `target_zone` does, without waiting for other messages to be stored.

    Raises:
        NotFound: there is no such domain that the caller may see, or no such zone in it.
        NothingSelected: no domain was named and none is selected.
        NotPermitted: the sender's API key is not for the domain.
    """
    name = call.target.domain
    domain_id = call.domain_id if name is None else call.core.names.hint(DOMAIN, name)
    if domain_id is not None:
        try:
            find = FindZone(DomainViewer(call.user.user_id), name, call.target.zone, call.zone_id)
            place = await call.ask(DOMAIN, domain_id, find)
            call.require_in_scope("domains", place.domain_id)
            return place
        except NotFound:  # the hint is out of date, only the store knows the access, or there is no such zone
            pass
    view, zone = await target_zone(call)
    return ZonePlace(view.viewer, view.row.id, zone.id, zone.name)


async def speaks_in_zone(call: Call) -> bool:
    """Return whether a message goes to a zone: one that the request names, or a selected one that still exists."""
    if call.target.domain or call.target.zone:
        return True
    if call.zone_id is None:
        return False
    try:
        view = await target_domain(call)
    except NothingSelected:
        return False
    return any(zone.id == call.zone_id for zone in view.zones)


async def target_agent_in(call: Call, view: DomainView) -> AgentRow:
    """Find the target agent of a domain's command; everyone who sees the domain finds the agents in it.

    Beside another user as `target.user` only the domain's owner finds one out of sight, because its owner is not told.

    Raises:
        NotFound: there is none of that name in the domain, and none that the caller may see, or `target.user` is not
            its owner.
        NothingSelected: no name was given and nothing is selected.
        NotPermitted: the sender's API key is not for it.
    """
    name = call.target.agent
    if name is None:
        return (await target_agent(call)).row
    found = await call.core.store.fetch(agents.id_by_name(name))
    if not found:
        raise no_such_agent()
    tells_owner = view.row.owner_id == call.user.user_id or is_for_caller(call)
    if not tells_owner or not await call.ask(DOMAIN, view.row.id, StandsIn(found[0])):
        return (await agent_named(call, name)).row
    call.require_in_scope("agents", found[0])
    rows = await call.core.store.fetch(agents.by_id(found[0]))
    if not rows or not is_meant(call, rows[0]):
        raise no_such_agent()
    return rows[0]
