"""The lines of requests on a stdout that takes none for a while."""

import os
from contextlib import suppress

import pytest

from routes.http.access_log import AccessLog, RequestLine

SIZE = 65_536


def told(log: AccessLog, request_id: str) -> None:
    log.write(RequestLine(0, request_id, "AP_Chat", 200, 0, 0.001, "ada", "127.0.0.1"))
    log.flush()


def fill(pipe: int) -> None:
    """Write until not a byte more fits."""
    for size in (SIZE, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, b"-" * size)


def emptied(pipe: int) -> bytes:
    """Read all that is there."""
    read = b""
    with suppress(BlockingIOError):
        while True:
            read += os.read(pipe, SIZE)
    return read


async def test_after_a_time_without_room_lines_are_written_again(caplog: pytest.LogCaptureFixture):
    reader, writer = os.pipe()
    for pipe in (reader, writer):
        os.set_blocking(pipe, False)
    try:
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            log = AccessLog(stream)
            for number in range(2):
                fill(writer)
                told(log, f"lost-{number}")
            assert caplog.text.count("lines of requests are lost") == 1
            emptied(reader)
            told(log, "shown")
            assert emptied(reader).endswith(b" shown\n")
            fill(writer)
            told(log, "lost-again")
            assert caplog.text.count("lines of requests are lost") == 2
            emptied(reader)
    finally:
        os.close(reader)
