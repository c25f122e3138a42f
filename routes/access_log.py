"""The access log: one line a request, with its request id; never a secret, a token or a text."""

import asyncio
from typing import TextIO

import orjson

from actors.ids import iso, system_clock

FLUSH_S = 0.1


class AccessLog:
    """Writes lines in blocks, at most a tenth of a second late: a write a line would cost a tenth of a request.

    `stream` None writes nothing. `json` makes each line an object.
    """

    def __init__(self, stream: TextIO | None, *, json: bool = False) -> None:
        self._stream = stream
        self._json = json
        self._lines: list[str] = []

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
        now, ms = iso(system_clock()), round(seconds * 1000, 2)
        if self._json:
            line = orjson.dumps(
                {
                    "time": now,
                    "level": "info",
                    "logger": "parley.access",
                    "request_id": request_id,
                    "what": what,
                    "status": status,
                    "internal_code": code,
                    "ms": ms,
                    "user": user,
                    "address": address,
                }
            ).decode()
        else:
            line = f"{now} {status} {code} {what} {ms}ms {user or '-'} {address} {request_id}"
        self._lines.append(line)

    def flush(self) -> None:
        """Write what waits."""
        if self._lines and self._stream is not None:
            self._stream.write("\n".join(self._lines) + "\n")
            self._stream.flush()
        self._lines.clear()
