"""Logs: one line a request, with its request id; never a secret, a token or a text."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import TextIO

import orjson

from actors.ids import system_clock
from actors.wire import iso

FLUSH_S = 0.1

Line = tuple[int, str, str, int, int, float, str | None, str]
"""Time (ms), request id, service or path, HTTP status, internal code, seconds, user, address."""


class AccessLog:
    """Writes lines in blocks, up to a tenth of a second late: one write per line would cost a tenth of a request.

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
        """Write the lines that wait."""
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
        try:
            message = record.getMessage()
        except Exception:  # its arguments don't fit: that must not cost the line
            message = str(record.msg)
        exception = self.formatException(record.exc_info) if record.exc_info else None
        return json_line(record.levelname.lower(), record.name, message, int(record.created * 1000), exception)


def json_line(level: str, logger: str, message: str, at: int | None = None, exception: str | None = None) -> str:
    """Write a line of the log as a JSON object, without its line feed; `at` None is now."""
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
    """Escape bytes that are no Unicode, of an undecodable path or URL."""
    return text.encode("utf-8", "backslashreplace").decode()


def tell(text: str, *, as_json: bool) -> None:
    """Print a message for the operator on stdout, whatever the level of the log."""
    _write(sys.stdout, json_line("info", "parley", text) if as_json else text)


def refuse(text: str, *, as_json: bool) -> int:
    """Print on stderr why there is no start; return the exit status."""
    _write(sys.stderr, json_line("error", "parley", text) if as_json else text)
    return 2


def _write(stream: TextIO, line: str) -> None:
    stream.write(f"{line}\n")
    stream.flush()


def log_what_nobody_catches() -> None:
    """Send warnings and uncaught exceptions to the log, which Python would write to stderr as it likes."""
    logging.captureWarnings(True)
    log = logging.getLogger("parley")

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
