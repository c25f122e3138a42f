"""The servers under load, each a process of its own that ends with the benchmark."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.report import BenchError, rss_mib

CHECKOUT = Path(__file__).resolve().parent.parent
START_S = 20.0
STOP_S = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server with its address and its process."""

    base: str
    pid: int

    def cpu_s(self) -> float:
        """Return the processor time of all its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self) -> float:
        """Return its resident memory."""
        return rss_mib(self.pid)


def cpu_s_of_tree(pid: int) -> float:
    """Return the processor time so far of a process and its children, of those that have ended, too."""
    taken = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if stat.parent.name == str(pid):
            taken += sum(map(int, fields[11:15]))
        elif fields[1] == str(pid):
            taken += sum(map(int, fields[11:13]))
    return taken / os.sysconf("SC_CLK_TCK")


INTERNAL_SECRET = "internal-secret-of-the-bench"


@contextmanager
def gateway(folder: Path, *script: str, **more: str) -> Generator[Server]:
    """Run the gateway with default settings and `more` on an empty database; `script` replaces `server.py`.

    Registrations are not throttled, the users' plan has no daily limit, and the log goes to a file.

    Raises:
        BenchError: the gateway did not start, or did not stop in order.
    """
    settings = {
        "PARLEY_PORT": "0",
        "PARLEY_DATA_DIR": str(folder / "data"),
        "PARLEY_REGISTRATIONS_PER_HOUR": "0",
        "PARLEY_DEFAULT_PLAN": "enterprise",
        "INTERNAL_SECRET": INTERNAL_SECRET,
    } | more
    folder.mkdir(exist_ok=True)
    with _serving([*script] or ["server.py"], settings, folder / "gateway.log") as server:
        yield server


@contextmanager
def bare_echo(folder: Path) -> Generator[Server]:
    """Run the bare Sanic echo."""
    with _serving(["-m", "bench.bare_echo"], {}, folder / "bare.log") as server:
        yield server


@contextmanager
def bare_receiver(folder: Path) -> Generator[Server]:
    """Run the bare receiver of webhooks."""
    with _serving(["-m", "bench.bare_receiver"], {}, folder / "receiver.log") as server:
        yield server


@contextmanager
def _serving(arguments: list[str], settings: Mapping[str, str], log: Path) -> Generator[Server]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PARLEY_", "SANIC_"))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=CHECKOUT, env={**inherited, **settings}, stdout=output, stderr=output
        )
    try:
        yield Server(_base_url(process, log), process.pid)
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
