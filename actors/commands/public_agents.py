"""Agents as anybody may find them: the public ones, also without a credential."""

from actors.agents.messages import no_such_agent
from actors.calls.admission import require_service_in_scope
from actors.calls.call import Call
from actors.calls.targets import agent_named
from persistence import agents
from persistence.agents import AgentRow


async def shown_agent(call: Call, name: str) -> AgentRow:
    """Read the agent of a name: a public one for anybody, another for callers who may see it.

    Raises:
        NotFound: there is none of that name that the caller may see.
        NotPermitted: it is not public, and the caller's API key is not for it.
    """
    store = call.core.store
    for agent_id in await store.fetch(agents.id_by_name(name)):
        for agent in await store.fetch(agents.by_id(agent_id)):
            if agent.access == "public":
                return agent
    if call.caller is None:
        raise no_such_agent()
    call.counts_as = "AP_Read"
    require_service_in_scope(call)
    return (await agent_named(call, name)).row


async def public_agents(call: Call, after_key: str, limit: int) -> list[AgentRow]:
    """List the public agents by name, after the key of a name."""
    return await call.core.store.fetch(agents.public(after_key, limit))
