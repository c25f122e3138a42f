"""Answers whose bodies stay the same while the gateway runs: pages, their files, the OpenAPI document."""

import asyncio
import gzip
import re
from hashlib import sha256
from typing import cast

from sanic import HTTPResponse, Request

_COMPRESSIBLE = re.compile(r"text/|image/svg|application/(?:json|yaml)")
_SMALLEST = 2_048
"""The size in bytes from which on texts are compressed; smaller ones gain little."""

_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?", re.ASCII)

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


def weight_of(accepted: str, name: str) -> float:
    """Return the weight of a media type or coding in an Accept header (RFC 9110, 12.4.2).

    It is 0 if the name is absent, or its weight malformed.
    """
    for part in accepted.split(","):
        accepted_name, *parameters = (text.strip().lower() for text in part.split(";"))
        if accepted_name == name:
            weights = [text[2:] for text in parameters if text.startswith("q=")]
            return 1 if not weights else float(weights[0]) if _WEIGHT.fullmatch(weights[0]) else 0
    return 0
