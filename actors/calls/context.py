"""The context of an answer: the names of the user and of its selection after the command."""

from contextlib import suppress

from actors.agents.messages import AGENT, ReadAgent
from actors.calls.call import Call
from actors.calls.targets import read_agent, read_domain
from actors.errors import NotFound, ServiceError
from persistence import agents, domains
from persistence.store import StoreUnavailable

NOBODY: dict[str, str | None] = {"user": None, "agent": None, "domain": None, "zone": None}


async def context(call: Call) -> dict[str, str | None]:
    """Return the names of the selection after the command; never fails, because the command is done by then."""
    if call.caller is None:
        return NOBODY
    agent_id, known = call.agent_id, call.known_agent
    if known is not None and known[0] == agent_id:
        agent: str | None = known[1]
    else:
        agent = None if agent_id is None else _agent_name_now(call, agent_id) or await _agent_name(call, agent_id)
    domain, zone = (None, None) if call.domain_id is None else await _domain_and_zone(call, call.domain_id)
    return {"user": call.caller.user_name, "agent": agent, "domain": domain, "zone": zone}


async def prepare_context(call: Call) -> None:
    """Look up the names of the selection for `context_now`."""
    names = await context(call)
    ids = {"agent": call.agent_id, "domain": call.domain_id, "zone": call.zone_id}
    call.prepared_names = {kind: (id, names[kind]) for kind, id in ids.items()}


async def loses_domain(call: Call, agent_id: str) -> bool:
    """Return whether the caller will not see the selected domain once an agent has left it, or is destroyed.

    Looks only where `context_now` needs it; else `context` finds out after the command.
    """
    if call.domain_id is None or call.receipt is None:
        return False
    query = domains.visible_without(call.domain_id, agent_id, call.user.user_id)
    return not await call.core.store.fetch(query)


def context_now(call: Call) -> dict[str, str | None]:
    """Return the names of the selection without waiting, as far as they are known."""
    if call.caller is None:
        return NOBODY
    known = call.known_agent
    if known is not None and known[0] == call.agent_id:
        agent: str | None = known[1]
    else:
        agent = _prepared_name(call, "agent", call.agent_id)
    return {
        "user": call.caller.user_name,
        "agent": agent,
        "domain": _prepared_name(call, "domain", call.domain_id),
        "zone": _prepared_name(call, "zone", call.zone_id),
    }


def _prepared_name(call: Call, kind: str, id: str | None) -> str | None:
    prepared_id, name = (call.prepared_names or {}).get(kind, (None, None))
    return name if id == prepared_id else None


async def _domain_and_zone(call: Call, domain_id: str) -> tuple[str | None, str | None]:
    """Return the names of the selected domain and zone, as far as the caller still sees them."""
    try:
        view = await read_domain(call, domain_id)
    except (ServiceError, StoreUnavailable):
        return None, None
    return view.row.name, next((zone.name for zone in view.zones if zone.id == call.zone_id), None)


def _agent_name_now(call: Call, agent_id: str) -> str | None:
    """Return the agent's name if its actor tells it in this very step."""
    name = call.core.directory.name_for(AGENT, agent_id, call.user.user_id)
    if name is not None:
        return name
    try:
        view = call.core.directory.ask_inline(AGENT, agent_id, ReadAgent(call.user.user_id))
    except ServiceError:
        return None
    return None if view is None else view.row.name


async def _agent_name(call: Call, agent_id: str) -> str | None:
    try:
        return (await read_agent(call, agent_id)).row.name
    except NotFound:
        return None
    except (ServiceError, StoreUnavailable):  # the agent's actor stops after a failed unit, or the gateway stops
        with suppress(StoreUnavailable):
            for row in await call.core.store.fetch(agents.by_id(agent_id)):
                return row.name
        return None
