"""The agent as clients see it."""

from actors.wire import Record, iso
from persistence.agents import AgentRow


def agent_record(agent: AgentRow) -> Record:
    """Return the record of an agent, for a user who may see it."""
    return {
        "id": agent.id,
        "name": agent.name,
        "owner": agent.owner,
        "description": agent.description,
        "profile": agent.profile,
        "access": agent.access,
        "state": "online" if agent.online else "offline",
        "created_at": iso(agent.created_at),
        "updated_at": iso(agent.updated_at),
    }


def shown_state(agent: AgentRow) -> dict[str, str]:
    """Return what maintainers see of an agent."""
    state = "online" if agent.online else "offline"
    return {"name": agent.name, "owner": agent.owner, "access": agent.access, "state": state}
