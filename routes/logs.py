"""Logs: one line a request, with its request id; never a secret, a token or a text."""

import asyncio
import logging
from typing import TextIO

import orjson

from actors.ids import iso, system_clock

FLUSH_S = 0.1

Line = tuple[int, str, str, int, int, float, str | None, str]
"""When (ms), request id, what, HTTP status, internal code, seconds, user, address."""


class AccessLog:
    """Writes lines in blocks, at most a tenth of a second late: a write a line would cost a tenth of a request.

    `stream` None writes nothing. `json` makes each line an object.
    """

    def __init__(self, stream: TextIO | None, *, json: bool = False) -> None:
        self._stream = stream
        self._json = json
        self._lines: list[Line] = []

    def write(
        self, request_id: str, what: str, status: int, code: int, seconds: float, user: str | None, address: str
    ) -> None:
        """Add the line of one request.

        `what` is the service, or method and path; `status` the HTTP status, `code` the internal one.
        """
        if self._stream is None:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_S, self.flush)
        self._lines.append((system_clock(), request_id, what, status, code, seconds, user, address))

    def flush(self) -> None:
        """Write what waits."""
        if self._lines and self._stream is not None:
            format_line = _as_json if self._json else _as_text
            self._stream.write("".join([format_line(*line) for line in self._lines]))
            self._stream.flush()
        self._lines.clear()


def _as_text(
    at: int, request_id: str, what: str, status: int, code: int, seconds: float, user: str | None, address: str
) -> str:
    return f"{iso(at)} {status} {code} {what} {int(seconds * 1e6)}us {user or '-'} {address} {request_id}\n"


def _as_json(
    at: int, request_id: str, what: str, status: int, code: int, seconds: float, user: str | None, address: str
) -> str:
    line = {
        "time": iso(at),
        "level": "info",
        "logger": "parley.access",
        "request_id": request_id,
        "what": what,
        "status": status,
        "internal_code": code,
        "us": int(seconds * 1e6),
        "user": user,
        "address": address,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()


class JsonFormatter(logging.Formatter):
    """Writes a log record as one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the record; an exception's traceback is in `exception`."""
        line = {
            "time": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()
