"""GET /api/health: the state of the gateway and its storage."""

from time import monotonic

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from routes.http.answers import JsonAnswer, request_id_of


def health_blueprint(core: Core, version: str) -> Blueprint:
    """Return the route GET /api/health."""
    blueprint = Blueprint("health", url_prefix="/api")
    started = monotonic()

    @blueprint.get("/health")
    async def health(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        writable = await core.store.writable()
        body = {
            "status": "ok" if writable else "unavailable",
            "version": version,
            "uptime_s": round(monotonic() - started, 3),
            "storage": "ok" if writable else "unavailable",
            "actors": len(core.directory),
        }
        headers = {"X-Request-Id": request_id_of(request)} | ({} if writable else {"Retry-After": "1"})
        return JsonAnswer(orjson.dumps(body), 200 if writable else 503, headers)

    return blueprint
