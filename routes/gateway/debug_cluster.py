"""GET /debug/cluster: the nodes, their leases and shards, and what they send each other."""

from collections import Counter
from typing import Any

from actors.core import Core
from actors.errors import NotFound
from actors.runtime.cluster.places import Clustered, name_of
from routes.gateway.all_nodes import Asked, of_all
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import array, flag, nullable, number, record, text

QUESTION = "node"


async def node_counts(core: Core, _: Asked) -> dict[str, Any]:
    """Return what only this node knows of itself."""
    cluster = core.cluster
    assert cluster is not None
    traffic = cluster.traffic
    return {
        "lease_s": round(max(0.0, cluster.ownership.lease_s), 3),
        "nats": "connected" if cluster.post.connected else "lost",
        "actors": len(core.directory),
        "seen": cluster.ownership.seen,
        "forwarded": {} if traffic is None else by_name(traffic.forwarded),
        "moved": 0 if traffic is None else traffic.moved,
        "hand_overs": {
            f"{shard:02x}": {"waits_for": waiting.waits_for, "s": round(waiting.s, 1)}
            for shard, waiting in cluster.ownership.leaving.waiting().items()
        },
    }


def by_name(by_node: Counter[str]) -> dict[str, int]:
    """Add up counts by the names of nodes, because each start of a node has an id of its own."""
    counts = Counter[str]()
    for node, count in by_node.items():
        counts[name_of(node)] += count
    return dict(sorted(counts.items()))


async def read_cluster(request: RouteCall) -> RouteReply:
    """Describe the cluster as this node sees it, with what each node says of itself."""
    core = request.call.core
    cluster = core.cluster
    if cluster is None:
        raise NotFound("This gateway is the only node of its database; several need PARLEY_NATS_URL.")
    told: dict[str, dict[str, Any] | None] = await of_all(core, cluster, QUESTION, node_counts, {})
    ownership = cluster.ownership
    hand_overs: dict[str, Any] = {}
    for answer in told.values():
        if answer is not None:
            hand_overs.update(answer.get("hand_overs", {}))  # an older node tells of none
    return RouteReply(
        {
            "node": ownership.node,
            "version": ownership.map.version,
            "nodes": _nodes(cluster, told),
            "shards": [
                {"shard": (name := f"{shard:02x}"), "node": owner, "epoch": epoch, "hand_over": hand_overs.get(name)}
                for shard, (owner, epoch) in enumerate(zip(ownership.map.owners, ownership.map.epochs, strict=True))
            ],
        }
    )


def _nodes(cluster: Clustered, told: dict[str, Any]) -> list[dict[str, Any]]:
    ownership = cluster.ownership
    shards = Counter(ownership.map.owners)
    newest = max((answer["seen"] for answer in told.values() if answer), default=0)
    catalogs = {row.catalogs for row in ownership.nodes.values()}
    return [
        {
            "node": row.id,
            "name": name_of(row.id),
            "version": row.version,
            "protocol": row.protocol,
            "same_catalogs": len(catalogs) == 1,
            "draining": row.draining,
            "shards": shards[row.id],
            "reachable": (answer := told.get(row.id)) is not None,
            "notices_behind": newest - answer["seen"] if answer else None,
            **{name: answer[name] if answer else None for name in ("lease_s", "nats", "actors", "forwarded", "moved")},
        }
        for row in ownership.nodes.values()
    ]


NODE = record(
    "A live node. What it says of itself is null if it does not answer.",
    node=text("Its id, of this start."),
    name=text("PARLEY_NODE_NAME."),
    version=text("Of its code."),
    protocol=number("Version of the messages between nodes."),
    same_catalogs=flag("Whether all nodes have the same skills and tool servers in their catalogs."),
    draining=flag("Whether it is about to leave."),
    shards=number("The number of shards that it owns."),
    reachable=flag("Whether it has answered this node."),
    notices_behind=nullable(number("How far its last notice is behind the newest one of any node.")),
    lease_s=nullable({"type": "number", "description": "The rest of its lease; 0 once it serves nothing."}),
    nats=nullable(text("`connected` or `lost`.")),
    actors=nullable(number("Live actors.")),
    forwarded=nullable({"type": "object", "description": "Requests sent to other nodes, by name."}),
    moved=nullable(number("Requests that went on from the home of their user to what they change.")),
)

SHARD = record(
    "A shard.",
    shard=text("The last two hex digits of the ids in it."),
    node=nullable(text("Its owner; null while it has none.")),
    epoch=number("Grows with each change of its owner."),
    hand_over=nullable(
        record(
            "Set while its owner gives it to another node: nobody serves it meanwhile.",
            waits_for=text("`actors`: they finish what they do; `ledger`: the database has to take it in."),
            s={"type": "number", "description": "For how long it has waited for that, in seconds."},
        )
        | {"title": "HandOver"}
    ),
)

ROUTES = (
    Route(
        "GET",
        "/debug/cluster",
        "getCluster",
        "Internal",
        "Read the nodes, their leases and shards.",
        read_cluster,
        reply=record(
            "The cluster.",
            node=text("The id of the node that answers."),
            version=number("Grows with each change of an owner."),
            nodes=array(NODE),
            shards=array(SHARD),
        ),
        errors=(404,),
        entrance="operator",
    ),
)
