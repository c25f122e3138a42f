"""The debug routes: lists and states of live actors, for maintainers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, Literal

from pydantic import Field

from actors.core import Core
from actors.errors import InvalidField, NotFound
from actors.runtime.directory import ActorStatus
from actors.slices import Steps, sliced
from actors.tools.messages import TOOL_SERVER
from routes.gateway import debug_cluster, debug_graph, debug_stream
from routes.gateway.all_nodes import Answering, Asked, of_all, of_one
from routes.gateway.debug_cluster import QUESTION as NODE_QUESTION
from routes.gateway.debug_cluster import node_counts
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.openapi.schemas import array, record, ref, text

AT_A_TIME = 200
"""Number of actors read in one step of the loop."""

Order = Literal[
    "kind",
    "-kind",
    "name",
    "-name",
    "mailbox",
    "-mailbox",
    "handled",
    "-handled",
    "age_s",
    "-age_s",
    "idle_s",
    "-idle_s",
]


class ActorsAsked(Query):
    """Query parameters of the list of actors."""

    kind: str | None = Field(None, description="Only actors of this kind; `counts` names all kinds.")
    name: str | None = Field(
        None, max_length=64, description="Only actors whose name begins like this, without regard to case."
    )
    sort: Order | None = Field(
        None,
        description="The member to sort by, smallest first; with `-` before it, largest first. "
        "Absent: in order of activation.",
    )
    limit: int = Field(1_000, ge=1, le=1_000, description="Maximum number of actors listed.")


FORMER_KINDS = {"mcp": TOOL_SERVER}
"""Names of kinds before 0.2.0, each with today's kind."""


def kind_named(name: str) -> str:
    """Return the kind with this name; a name from before 0.2.0 is accepted."""
    return FORMER_KINDS.get(name, name)


async def list_actors(request: RouteCall) -> RouteReply:
    """List live actors, of all nodes."""
    core, asked = request.call.core, request.query
    counts = core.directory.count_by_kind()
    kind: str | None = kind_named(asked.kind) if asked.kind else None
    if kind is not None and kind not in counts:
        raise InvalidField(f"Invalid value of kind: it must be one of {', '.join(sorted(counts))}.")
    question = {"kind": kind, "name": asked.name or "", "sort": asked.sort, "limit": asked.limit}
    if core.cluster is None:
        return RouteReply(await actors_here(core, question))
    by_node = await of_all(core, core.cluster, "actors", actors_here, question)
    return RouteReply(joined(by_node, asked.sort, asked.limit))


async def actors_here(core: Core, asked: Asked) -> dict[str, Any]:
    """List live actors of this node."""
    first = first_of(core.directory.statuses(asked["kind"]), asked["name"], asked["sort"], asked["limit"])
    return {"counts": core.directory.count_by_kind(), "actors": await sliced(first)}


def joined(by_node: Mapping[str, dict[str, Any] | None], sort: Order | None, limit: int) -> dict[str, Any]:
    """Return one list of those of several nodes, in the same order; None is a node that did not answer."""
    counts = Counter[str]()
    actors: list[dict[str, Any]] = []
    for node, listed in by_node.items():
        if listed is not None:
            counts.update(listed["counts"])
            actors += [{"node": node, **actor} for actor in listed["actors"]]
    member = "age_s" if sort is None else sort.removeprefix("-")
    by: Callable[[dict[str, Any]], Any] = _folded if member == "name" else itemgetter(member)
    actors.sort(key=by, reverse=sort is None or sort.startswith("-"))
    silent = [node for node, listed in by_node.items() if listed is None]
    return {"counts": dict(counts), "actors": actors[:limit], "unreachable": silent}


def _folded(actor: dict[str, Any]) -> str:
    return (actor["name"] or "").casefold()


def first_of(found: Iterable[ActorStatus], name: str, sort: Order | None, limit: int) -> Steps[list[dict[str, Any]]]:
    """Return the first actors of an order, of those with this beginning of a name; others are dropped on the way."""
    first: list[ActorStatus] = []
    beginning = name.casefold()
    left = iter(found)
    while some := list(islice(left, AT_A_TIME)):  # compared here, because a search for a rare name must not be one step
        first += [status for status in some if _folded_name(status).startswith(beginning)] if beginning else some
        if sort is not None and len(first) >= 2 * limit:
            first = _sorted(first, sort)[:limit]
        elif sort is None and len(first) >= limit:
            break
        yield
    first = (_sorted(first, sort) if sort else first)[:limit]
    shown: list[dict[str, Any]] = []
    for status in first:
        shown.append(_shown(status))
        if not len(shown) % AT_A_TIME:
            yield
    return shown


def _sorted(found: list[ActorStatus], sort: Order) -> list[ActorStatus]:
    """Sort actors; equal ones stay in order of activation."""
    member = sort.removeprefix("-")
    by: Callable[[ActorStatus], Any] = _folded_name if member == "name" else attrgetter(member)
    return sorted(found, key=by, reverse=sort.startswith("-"))


def _folded_name(status: ActorStatus) -> str:
    return (status.name or "").casefold()


def _shown(status: ActorStatus) -> dict[str, Any]:
    return {name: getattr(status, name) for name in ActorStatus.__slots__}


async def read_actor(request: RouteCall) -> RouteReply:
    """Return the state and last messages of one live actor, which its owner is asked for."""
    core = request.call.core
    kind, key = kind_named(request.params["kind"]), request.params["key"]
    question = {"kind": kind, "key": key}
    owner = core.directory.elsewhere(kind, key)
    if core.cluster is None or owner is None:
        shown = await actor_here(core, question)
    else:
        shown = await of_one(core.cluster, owner, "actor", question)
    if shown is None:
        raise NotFound("No such actor is live now; list those that are with GET /debug/actors.")
    return RouteReply(shown)


async def actor_here(core: Core, asked: Asked) -> dict[str, Any] | None:
    """Return the state and last messages of one live actor of this node."""
    found = core.directory.inspect(asked["kind"], asked["key"])
    if found is None:
        return None
    node = {} if core.cluster is None else {"node": core.cluster.ownership.node}
    return node | _shown(found.status) | {"state": found.state, "messages": found.messages}


QUESTIONS: Mapping[str, Answering] = {"actors": actors_here, "actor": actor_here, NODE_QUESTION: node_counts}
"""The questions of all nodes to each other, with the functions that answer for this one."""

ACTORS = record("Live actors.", counts={"type": "object"}, actors=array(ref("Actor")))
ACTORS["properties"] |= {"unreachable": array(text("Of several nodes: those that did not answer."))}

ROUTES = (
    Route(
        "GET",
        "/debug/actors",
        "listActors",
        "Internal",
        "List the live actors.",
        list_actors,
        reply=ACTORS,
        query=ActorsAsked,
        entrance="operator",
    ),
    Route(
        "GET",
        "/debug/actors/{kind}/{key}",
        "getActor",
        "Internal",
        "Read the state and the last 50 messages of one live actor.",
        read_actor,
        reply=ref("Actor"),
        errors=(404,),
        entrance="operator",
    ),
    debug_stream.ROUTE,
    debug_graph.ROUTE,
    *debug_cluster.ROUTES,
)
