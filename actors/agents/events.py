"""The webhook events of an agent's creation, change and end."""

from typing import Any

from persistence.agents import AgentRow


def deployment_event(action: str, agent: AgentRow) -> tuple[str, dict[str, Any]]:
    """Make the type and data of an agent's event (docs/contract.md, "Event data")."""
    data = {
        "user_id": agent.owner_id,
        "deployment_id": agent.id,
        "action": action,
        "agent": agent.name,
        "data": dict[str, Any](),
    }
    return f"agent.deployment.{action}", data
