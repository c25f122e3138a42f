"""The servers under load, each a process of its own that ends with the bench."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.report import BenchError

CHECKOUT = Path(__file__).resolve().parent.parent
START_S = 20.0
STOP_S = 30.0


@contextmanager
def gateway(folder: Path) -> Generator[str]:
    """Run the gateway with its default settings on an empty database; yields its base URL.

    Registrations are not throttled and the user's plan has no daily limit; all that it logs goes to a file.

    Raises:
        BenchError: it did not start, or did not stop in order.
    """
    settings = {
        "PARLEY_PORT": "0",
        "PARLEY_DATA_DIR": str(folder / "data"),
        "PARLEY_REGISTRATIONS_PER_HOUR": "0",
        "PARLEY_DEFAULT_PLAN": "enterprise",
    }
    with _serving(["server.py"], settings, folder / "gateway.log") as base:
        yield base


@contextmanager
def bare_echo(folder: Path) -> Generator[str]:
    """Run the bare Sanic echo; yields its base URL."""
    with _serving(["-m", "bench.bare_echo"], {}, folder / "bare.log") as base:
        yield base


@contextmanager
def _serving(arguments: list[str], settings: Mapping[str, str], log: Path) -> Generator[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PARLEY_", "SANIC_"))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=CHECKOUT, env={**inherited, **settings}, stdout=output, stderr=output
        )
    try:
        yield _base_url(process, log)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.send_signal(signal.SIGTERM)
    try:
        status = process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise BenchError(f"{arguments[-1]} did not stop in {STOP_S:.0f} s:\n{_end_of(log)}") from None
    if status:
        raise BenchError(f"{arguments[-1]} ended with {status}:\n{_end_of(log)}")


def _base_url(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        listening = re.search(r"listens on (http://\S+)", log.read_text(encoding="utf-8"))
        if listening:
            return listening.group(1)
        time.sleep(0.05)
    raise BenchError(f"a server did not start:\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
