"""The log: one line per request with its request id, and never a secret, a token or a text."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import NamedTuple, TextIO

import orjson

from actors.ids import system_clock
from actors.wire import iso

FLUSH_S = 0.1

log = logging.getLogger("parley")


class RequestLine(NamedTuple):
    """A request as the log tells of it.

    Attributes:
        at: the time of its end, in ms since the epoch.
        what: the service or the name of the route; empty if the request named none.
        status: the HTTP status.
        code: the internal code.
        seconds: its whole duration.
        user: the user's name, if it was authenticated.
    """

    at: int
    request_id: str
    what: str
    status: int
    code: int
    seconds: float
    user: str | None
    address: str


class AccessLog:
    """Writes the access log in blocks, up to 0.1 s late, because one write per line would cost a tenth of a request.

    With `stream` None nothing is written. With `json` each line is an object.
    """

    def __init__(self, stream: TextIO | None, *, json: bool = False) -> None:
        self._stream = stream
        self._json = json
        self._lines: list[RequestLine] = []
        self._losing = False

    def write(self, line: RequestLine) -> None:
        """Add the line of one request."""
        if self._stream is None:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_S, self.flush)
        self._lines.append(line)

    def flush(self) -> None:
        """Write the lines collected so far."""
        if self._lines and self._stream is not None:
            format_line = _as_json if self._json else _as_text
            error = _written(self._stream, "".join([format_line(line) for line in self._lines]))
            if error is not None and not self._losing:
                log.warning("lines of requests are lost because stdout takes none: %s", error)
            self._losing = error is not None
        self._lines.clear()


def _as_text(line: RequestLine) -> str:
    at, request_id, what, status, code, seconds, user, address = line
    return f"{iso(at)} {status} {code} {what or '-'} {int(seconds * 1e6)}us {user or '-'} {address} {request_id}\n"


def _as_json(line: RequestLine) -> str:
    members = {
        "time": iso(line.at),
        "level": "info",
        "logger": "parley.access",
        "request_id": line.request_id,
        "what": line.what or "-",
        "status": line.status,
        "internal_code": line.code,
        "us": int(line.seconds * 1e6),
        "user": line.user,
        "address": line.address,
    }
    return orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE).decode()


class JsonFormatter(logging.Formatter):
    """Formats a log record as one JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON; the traceback of an exception is in `exception`."""
        try:
            message = record.getMessage()
        except Exception:  # arguments that don't fit must not lose the line
            message = str(record.msg)
        exception = self.formatException(record.exc_info) if record.exc_info else None
        return json_line(record.levelname.lower(), record.name, message, int(record.created * 1000), exception)


def json_line(level: str, logger: str, message: str, at: int | None = None, exception: str | None = None) -> str:
    """Return a line of the log as a JSON object, without a line feed; `at` None is now."""
    line = {
        "time": iso(system_clock() if at is None else at),
        "level": level,
        "logger": logger,
        "message": _valid(message),
    }
    if exception is not None:
        line["exception"] = _valid(exception)
    return orjson.dumps(line).decode()


def _valid(text: str) -> str:
    """Escape surrogates, which undecodable bytes of a path or URL leave."""
    return text.encode("utf-8", "backslashreplace").decode()


def tell(text: str, *, as_json: bool) -> None:
    """Print a message for the operator on stdout at any log level."""
    _written(sys.stdout, f"{json_line('info', 'parley', text) if as_json else text}\n")


def refuse(text: str, *, as_json: bool) -> int:
    """Print the reason of a refused start on stderr; return the exit status."""
    _written(sys.stderr, f"{json_line('error', 'parley', text) if as_json else text}\n")
    return 2


def _written(stream: TextIO, text: str) -> OSError | None:
    """Write a text; return the error if it is lost.

    A full disk, or a reader that has gone, must not end the gateway.
    """
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        return error
    return None


def log_what_nobody_catches() -> None:
    """Send warnings and uncaught exceptions to the log, because Python would write them to stderr unformatted."""
    logging.captureWarnings(True)

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.critical("an exception that nothing caught", exc_info=(kind, error, trace))

    def uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            name = args.thread.name if args.thread else "?"
            trace = (args.exc_type, args.exc_value, args.exc_traceback)
            log.critical("an exception that nothing caught in the thread %s", name, exc_info=trace)

    def unraisable(args: "sys.UnraisableHookArgs") -> None:
        error = args.exc_value
        trace = None if error is None else (args.exc_type, error, args.exc_traceback)
        log.error("%s: %r", args.err_msg or "an exception that could not be raised", args.object, exc_info=trace)

    sys.excepthook = uncaught
    threading.excepthook = uncaught_in_thread
    sys.unraisablehook = unraisable
