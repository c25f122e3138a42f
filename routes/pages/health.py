"""GET /api/health: the state of the gateway and its storage."""

import asyncio
from time import monotonic
from typing import Literal

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from persistence.store import Store
from routes.http.answers import JsonAnswer

Status = Literal["ok", "degraded", "draining", "unavailable"]

ANSWER_S = 2.0
"""How long a change may take to be stored, in seconds; most probes have no more patience."""

NO_LEASE = "this node has no lease, so other nodes have its users or will"

SERVING: frozenset[Status] = frozenset({"ok", "degraded"})


def health_blueprint(core: Core, version: str) -> Blueprint:
    """Return the route GET /api/health."""
    blueprint = Blueprint("health", url_prefix="/api")
    started = monotonic()

    @blueprint.get("/health")
    async def health(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        status, fault = await state_of(core)
        body = {
            "status": status,
            "version": version,
            "uptime_s": round(monotonic() - started, 3),
            "storage": "unavailable" if fault else "ok",
            "actors": len(core.directory),
        } | ({"note": fault} if fault else {})
        serves = status in SERVING
        return JsonAnswer(orjson.dumps(body), 200 if serves else 503, {} if serves else {"Retry-After": "1"})

    return blueprint


async def state_of(core: Core) -> tuple[Status, str | None]:
    """Return whether this gateway serves, and what is wrong with its storage, or None.

    A node without its lease answers for no actor, and one that drains is about to stop: clients shall use others.
    Without NATS it still serves its own users, so it stays in use.
    """
    cluster = core.cluster
    fault = NO_LEASE if cluster is not None and not cluster.ownership.valid else await _fault(core.store)
    if fault:
        return "unavailable", fault
    if cluster is not None and cluster.ownership.draining:
        return "draining", None
    return "ok" if cluster is None or cluster.post.connected else "degraded", None


async def _fault(store: Store) -> str | None:
    """Try to store a change; return what is wrong, without a detail that is not for everyone, or None."""
    try:
        writable = await asyncio.wait_for(store.writable(), ANSWER_S)
    except TimeoutError:
        return store.trouble or f"no change could be stored within {ANSWER_S:g} s"
    return None if writable else store.trouble or "the database can't be written or read; the gateway's log says why"
