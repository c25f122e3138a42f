"""Agents as anybody may find them: the public ones, also without a credential."""

from actors.agents.messages import no_such_agent
from actors.calls.call import Call
from actors.calls.targets import agent_named
from persistence import agents
from persistence.agents import AgentRow


async def shown_agent(call: Call, name: str) -> AgentRow:
    """Read the agent of a name, as its caller may see it; without one it must be public.

    Raises:
        NotFound: there is none of that name that the caller may see.
    """
    if call.caller is not None:
        return (await agent_named(call, name)).row
    store = call.core.store
    for agent_id in await store.fetch(agents.id_by_name(name)):
        for agent in await store.fetch(agents.by_id(agent_id)):
            if agent.access == "public":
                return agent
    raise no_such_agent()


async def public_agents(call: Call, after_key: str, limit: int) -> list[AgentRow]:
    """List the public agents by name, after the key of a name."""
    return await call.core.store.fetch(agents.public(after_key, limit))
