"""Long answers, written and sent in pieces: a page of 200 long messages is up to 38 MB of JSON."""

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any

import orjson
from sanic import HTTPResponse, Request

from actors.ids import system_clock
from actors.slices import Steps
from actors.wire import iso

FEW_RECORDS = 8
"""Number of records up to which an answer is written in one step."""

PIECE_BYTES = 262_144
"""Approximate bytes of a piece; each is sent in a turn of the loop of its own."""

AT_A_TIME = 4
"""Number of records written in one step."""


class Pieces:
    """Collects parts of bytes into pieces."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """Add a part; it stays in one piece."""
        self._parts.append(part)
        self._size += len(part)
        if self._size >= PIECE_BYTES:
            self.end()

    def end(self) -> list[bytes]:
        """End the current piece and return all pieces."""
        if self._parts:
            self.pieces.append(b"".join(self._parts))
            self._parts, self._size = [], 0
        return self.pieces


def tps_pieces(
    service: str | None,
    request_id: str,
    context: dict[str, str | None],
    status: dict[str, Any],
    profile: Sequence[dict[str, Any]],
    content: Sequence[dict[str, Any]],
    next_cursor: str | None,
) -> Steps[list[bytes]]:
    """Return a TPSResponse in pieces, each of which is valid UTF-8."""
    header = {
        "service": service,
        "request_id": request_id,
        "time": iso(system_clock()),
        "context": context,
        "next": next_cursor,
    }
    pieces = Pieces()
    pieces.add(orjson.dumps({"header": header, "status": status})[:-1] + b',"profile":[')
    yield from _add_records(pieces, profile)
    pieces.add(b'],"content":[')
    yield from _add_records(pieces, content)
    pieces.add(b"]}")
    return pieces.end()


def _add_records(pieces: Pieces, records: Sequence[dict[str, Any]]) -> Steps[None]:
    for start in range(0, len(records), AT_A_TIME):
        if start:
            pieces.add(b",")
        pieces.add(orjson.dumps(list(records[start : start + AT_A_TIME]))[1:-1])
        yield


class Insertions:
    """Placeholders for long values in a JSON document until it is written."""

    def __init__(self) -> None:
        self.as_text, self.as_value = secrets.token_hex(16), secrets.token_hex(16)

    def inserted(self, document: bytes, answer: Sequence[bytes]) -> Steps[list[bytes]]:
        """Return a document with both placeholders replaced by a JSON answer: as a text, and as a value."""
        pieces = Pieces()
        for number, part in enumerate(document.split(b'"' + self.as_text.encode() + b'"')):
            if number:
                pieces.add(b'"')
                for piece in answer:
                    pieces.add(orjson.dumps(piece.decode())[1:-1])
                    yield
                pieces.add(b'"')
            for place, rest in enumerate(part.split(b'"' + self.as_value.encode() + b'"')):
                if place:
                    for piece in answer:
                        pieces.add(piece)
                        yield
                pieces.add(rest)
        return pieces.end()


async def send_pieces(request: Request, response: HTTPResponse, pieces: Sequence[bytes]) -> None:
    """Send a body in pieces on Sanic's connection, at the pace of the client."""
    response.headers["content-length"] = str(sum(map(len, pieces)))
    untyped: Any = request
    sending = await untyped.respond(response)
    for piece in pieces:
        await sending.send(piece)
        await asyncio.sleep(0)
    await sending.eof()
