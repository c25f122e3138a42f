"""CORS: pages of named origins may call the bus and the open protocols, with a credential in a header (Fetch, 3.2)."""

import re
from collections.abc import Sequence
from typing import Any

from sanic import HTTPResponse, Request

from routes.http.answers import request_id_of
from routes.http.bodies import drop_body, header

METHODS = "GET, HEAD, POST, DELETE"
MAX_AGE_S = 7_200
"""Seconds for which a browser may remember the answer to a preflight; browsers cap it at this or less."""
EXPOSED = (
    "X-Request-Id",
    "X-Run-Id",
    "X-Conversation-Id",
    "X-Should-Retry",
    "Idempotency-Replayed",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "Allow",
    "ETag",
    "A2A-Extensions",
)
"""The headers of answers that pages may read beside those that every page may."""

VARIES = "\r\nvary: Origin"
"""The header line of an answer to a request without an origin (the fast path)."""

_names = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")


class Cors:
    """Answers preflights, and marks the answers that pages of the named origins may read.

    No cookie is ever allowed: browsers send none where `Access-Control-Allow-Credentials` is missing.

    Args:
        origins: the origins, as browsers write them.
        paths: the paths that these may call, each with all below it; without a final slash.
    """

    def __init__(self, origins: Sequence[str], paths: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._paths = frozenset(paths)
        self._below = tuple(f"{path}/" for path in paths)

    async def preflight(self, request: Request) -> HTTPResponse | None:
        """Return the answer to a preflight of a named origin, else None: middleware for requests."""
        if request.method != "OPTIONS" or header(request, "access-control-request-method") is None:
            return None
        origin = header(request, "origin")
        if origin not in self._origins or not self._covers(request.path):
            return None
        await drop_body(request)
        asked = header(request, "access-control-request-headers") or ""
        headers = {"Access-Control-Allow-Methods": METHODS, "Access-Control-Max-Age": str(MAX_AGE_S)}
        if _names.fullmatch(asked):  # clients send headers of their own, and a header alone opens nothing
            headers["Access-Control-Allow-Headers"] = asked
        headers["X-Request-Id"] = request_id_of(request)
        return HTTPResponse(status=204, headers=headers)

    async def mark(self, request: Request, response: HTTPResponse) -> None:
        """Let a page of a named origin read an answer: middleware for responses."""
        if not self._covers(request.path):
            return
        headers: Any = response.headers
        varies = headers.get("vary")
        headers["Vary"] = f"{varies}, Origin" if varies else "Origin"
        origin = header(request, "origin")
        if origin in self._origins:
            headers["Access-Control-Allow-Origin"] = origin
            if request.method != "OPTIONS":
                headers["Access-Control-Expose-Headers"] = ", ".join(EXPOSED)

    def _covers(self, path: str) -> bool:
        return path in self._paths or path.startswith(self._below)
