"""GET /debug/graph/{name}: what a user holds, and who else holds or is held by it."""

from actors.commands import operators
from actors.wire import Record
from persistence.graph import Held
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import array, flag, record, text

MAX_NODES = 500
"""The largest number of agents, domains and banks in an answer."""


async def read_graph(request: RouteCall) -> RouteReply:
    """Describe who holds whom around one user."""
    graph = await operators.read_graph(request.call, request.params["name"], MAX_NODES)
    shown = {held.id for held in graph.around}
    return RouteReply(
        {
            "user": {"id": graph.user.id, "name": graph.user.name},
            "nodes": [_node(held) for held in graph.around],
            "edges": [
                {"agent": relation.agent, "held": relation.held, "relation": relation.relation}
                for relation in graph.relations
                if relation.agent in shown and relation.held in shown
            ],
            "truncated": graph.truncated,
        }
    )


def _node(held: Held) -> Record:
    return {"kind": held.kind, "id": held.id, "name": held.name, "owner": held.owner, "stopped": held.stopped}


GRAPH = record(
    "A user with what it holds.",
    user=record("The user.", id=text(), name=text()),
    nodes=array(
        record(
            "An agent, domain or bank that the user owns, or that is related to one of them.",
            kind=text(enum=["agent", "domain", "bank"]),
            id=text(),
            name=text(),
            owner=text("The user's name who owns it; a domain is its founder's owner's."),
            stopped=flag("Whether it is an agent that an operator has stopped."),
        )
    ),
    edges=array(
        record(
            "How an agent stands to a domain or a bank, both in `nodes`.",
            agent=text("The agent's id."),
            held=text("The domain's or bank's id."),
            relation=text(enum=["founder", "member", "invited", "banned", "read", "write", "admin", "offered"]),
        )
    ),
    truncated=flag(f"Whether there is more than the {MAX_NODES} nodes, or their relations, that are shown."),
)

ROUTE = Route(
    "GET",
    "/debug/graph/{name}",
    "getGraph",
    "Internal",
    "Show a user's agents, domains and banks and how they are connected.",
    read_graph,
    reply=GRAPH,
    errors=(404,),
    entrance="operator",
)
