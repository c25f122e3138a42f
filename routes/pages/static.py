"""Answers whose bodies stay the same while the gateway runs: pages, their files, the OpenAPI document."""

import asyncio
import gzip
import re
from hashlib import sha256
from typing import cast

from sanic import HTTPResponse, Request

from routes.http.accept import weight_of

_COMPRESSIBLE = re.compile(r"text/|image/svg|application/(?:json|yaml)")
_SMALLEST = 2_048
"""The size in bytes from which on texts are compressed; smaller ones gain little."""

_compressed: dict[str, bytes] = {}
"""Bodies that were asked for in gzip, by their ETags."""


def version_of(body: bytes) -> str:
    """Return a short hash of a file's content."""
    return sha256(body).hexdigest()[:16]


def etag(version: str) -> str:
    """Return a version as an ETag."""
    return f'"{version}"'


async def static_answer(request: Request, body: bytes, content_type: str, headers: dict[str, str]) -> HTTPResponse:
    """Return a body, in gzip if the client takes that, or 304 if it has this version; `headers` has its ETag."""
    if len(body) >= _SMALLEST and _COMPRESSIBLE.match(content_type):
        headers = headers | {"Vary": ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))}
        if weight_of(cast("str", request.headers.get("accept-encoding", "")), "gzip"):
            plain = headers["ETag"]
            if plain not in _compressed:
                _compressed[plain] = await asyncio.to_thread(gzip.compress, body, mtime=0)
            body = _compressed[plain]
            headers |= {"ETag": f'{plain[:-1]}-gzip"', "Content-Encoding": "gzip"}
    held = cast("str", request.headers.get("if-none-match", ""))
    if headers["ETag"] in held or held == "*":
        return HTTPResponse(status=304, headers=headers)
    return HTTPResponse(body, headers=headers, content_type=content_type)
