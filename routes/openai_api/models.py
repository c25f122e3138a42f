"""Models: the agents that a user may chat with."""

from collections.abc import AsyncIterator
from typing import Any

from actors.calls.call import Call
from actors.calls.targets import agent_id_named, agent_named
from actors.errors import NotFound
from actors.sessions.scopes import listed_ids
from persistence import agents
from persistence.agents import AgentRow
from persistence.users import name_key
from routes.gateway.route import RouteCall, RouteReply
from routes.openai_api.refusals import no_such_model
from routes.openai_api.request import ONCE, CheckedRequest, agent_of

_PAGE = 200


async def list_models(request: RouteCall) -> RouteReply:
    """List the user's own agents and those of its roster that may be chatted with, each also as `<agent>:once`."""
    found = [row async for row in _listed(request.call) if row.answers]
    models = [_model(row, row.name + end) for row in found for end in ("", ONCE)]
    return RouteReply({"object": "list", "data": models})


async def retrieve_model(request: RouteCall) -> RouteReply:
    """Read a model: any agent that the user may chat with now."""
    name = request.params["model"]
    try:
        row = (await agent_named(request.call, agent_of(name))).row
    except NotFound:
        raise no_such_model(name) from None
    if not row.answers:
        raise no_such_model(name)
    return RouteReply(_model(row, row.name + (ONCE if name.endswith(ONCE) else "")))


async def agent_id_of(call: Call, asked: CheckedRequest) -> str:
    """Find the agent that a request is for.

    Raises:
        Unknown: there is none of that name that the caller may see.
        NotPermitted: the sender's API key is not for it.
    """
    try:
        return await agent_id_named(call, asked.agent)
    except NotFound:
        raise no_such_model(asked.model) from None


async def _listed(call: Call) -> AsyncIterator[AgentRow]:
    after, ids = "", listed_ids(call.scopes, "agents")
    while True:
        rows = await call.core.store.fetch(agents.listed_for(call.user.user_id, "", after, _PAGE, ids))
        for row in rows:
            yield row
        if len(rows) < _PAGE:
            return
        after = name_key(rows[-1].name)


def _model(row: AgentRow, name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": row.created_at // 1000, "owned_by": row.owner}
