"""Agent cards: an agent, and the ways to reach it (a2a.proto, `AgentCard`; section 8)."""

from email.utils import formatdate
from hashlib import sha256
from typing import Any

from actors.wire import iso
from persistence.agents import AgentRow
from routes.a2a.requests import VERSION
from routes.a2a.tasks import TEXT

CARD_PATH = "/.well-known/agent-card.json"
MAX_AGE_S = 60
"""Seconds that clients may use a card without asking again."""

_SCHEMES: dict[str, Any] = {
    "bearer": {
        "httpAuthSecurityScheme": {
            "scheme": "Bearer",
            "description": "A session's token, or an API key.",
        }
    },
    "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key", "description": "An API key."}},
}


def card_of(agent: AgentRow, public_url: str, *, extended: bool = False) -> dict[str, Any]:
    """Return an agent's card; the extended one also has the agent's profile.

    Args:
        agent: the agent.
        public_url: the gateway's address, without a final slash.
        extended: whether it is the card for callers with a credential.
    """
    url = base_url(agent.name, public_url)
    skill = "\n\n".join([agent.description, agent.profile]) if extended and agent.profile else agent.description
    return {
        "name": agent.name,
        "description": agent.description,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": VERSION} for binding in ("JSONRPC", "HTTP+JSON")
        ],
        "provider": {"organization": agent.owner, "url": public_url},
        "version": iso(agent.updated_at),
        "documentationUrl": f"{public_url}/docs",
        "capabilities": {"streaming": True, "pushNotifications": True, "extendedAgentCard": True},
        "securitySchemes": _SCHEMES,
        "securityRequirements": [{"schemes": {name: {"list": []}}} for name in _SCHEMES],
        "defaultInputModes": [TEXT],
        "defaultOutputModes": [TEXT],
        "skills": [{"id": "chat", "name": "Chat", "description": skill, "tags": ["chat", "memory"]}],
    }


def base_url(name: str, public_url: str) -> str:
    """Return the address of an agent's interfaces; names have only characters that URLs take."""
    path = "Agents" if name == "agents" else name  # names have no case, and the catalog is at /a2a/agents
    return f"{public_url}/a2a/{path}"


def caching(body: bytes, agent: AgentRow) -> dict[str, str]:
    """Return the caching headers of an agent's card (section 8.6.1)."""
    share = "public" if agent.access == "public" else "private"
    return {
        "ETag": f'"{sha256(body).hexdigest()[:32]}"',
        "Cache-Control": f"{share}, max-age={MAX_AGE_S}",
        "Last-Modified": formatdate(agent.updated_at / 1000, usegmt=True),
    }


def is_known(etag: str, if_none_match: str | None) -> bool:
    """Return whether a conditional request has the present version already (RFC 9110, 13.1.2)."""
    if if_none_match is None:
        return False
    known = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in known or "*" in known
