"""GET /api/health: the state of the gateway and its storage."""

from time import monotonic
from typing import Literal

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from routes.http.answers import JsonAnswer, request_id_of

Status = Literal["ok", "degraded", "draining", "unavailable"]

SERVING: frozenset[Status] = frozenset({"ok", "degraded"})


def health_blueprint(core: Core, version: str) -> Blueprint:
    """Return the route GET /api/health."""
    blueprint = Blueprint("health", url_prefix="/api")
    started = monotonic()

    @blueprint.get("/health")
    async def health(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        status, writable = await state_of(core)
        body = {
            "status": status,
            "version": version,
            "uptime_s": round(monotonic() - started, 3),
            "storage": "ok" if writable else "unavailable",
            "actors": len(core.directory),
        }
        serves = status in SERVING
        headers = {"X-Request-Id": request_id_of(request)} | ({} if serves else {"Retry-After": "1"})
        return JsonAnswer(orjson.dumps(body), 200 if serves else 503, headers)

    return blueprint


async def state_of(core: Core) -> tuple[Status, bool]:
    """Return whether this gateway serves, and whether its storage takes writes.

    A node without its lease answers for no actor, and one that drains is about to stop: clients shall use others.
    Without NATS it still serves its own users, so it stays in use.
    """
    cluster = core.cluster
    if cluster is None:
        writable = await core.store.writable()
        return "ok" if writable else "unavailable", writable
    if not cluster.ownership.valid or not await core.store.writable():
        return "unavailable", False
    if cluster.ownership.draining:
        return "draining", True
    return "ok" if cluster.post.connected else "degraded", True
