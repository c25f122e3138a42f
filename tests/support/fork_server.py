"""The fork server: a process that has imported a program, and forks a child for each start.

`python -m tests.support.fork_server SOCKET gateway` imports the gateway, with `client` the Python client. It listens on
a Unix socket and reports that with a line on its standard output. A connection brings one request, a JSON object in a
line (`Start`), with three descriptors for the child's standard streams unless these are a log; it is answered with the
lines `pid N` and, once that process has ended, `status N`. The server ends with all its children at the end of its
standard input, when its parent process has ended.

Only imports happen before a fork: no thread, no event loop, no open file but those below. A child gets its own
environment, folder, log, signals and random numbers and then runs its script as `__main__`, as the interpreter would.
"""

import gc
import importlib
import json
import logging
import os
import random
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PRELOADED = {
    "gateway": (
        "server",
        "tests.gateways.parts",
        "actors.engines.openai.engine",
        "actors.egress.httpx_transport",
        "anyio._backends._asyncio",
        "mcp.client.client",
        "mcp.client.streamable_http",
        "mcp.server.caching",
        "mcp.server.lowlevel.server",
        "mcp.server.streamable_http_manager",
    ),
    "client": (
        "anyio._backends._asyncio",
        "httpcore2",
        "parley_client._async.client",
        "parley_client._sync.client",
        "parley_client.cli.forwarding",
        "parley_client.cli.main",
        "pydantic.type_adapter",
        "rich.live",
        "rich.progress",
        "typer._adapters",
        "typer.rich_utils",
    ),
}
"""Each program with its late imports: of the gateway those for the engine `openai`, tool servers and MCP, of `parley`
what a command needs alone, except for its own modules that look at the terminal when they are imported."""


@dataclass(frozen=True, slots=True)
class Start:
    """A start: a script with its arguments, environment, folder, umask and log file, or without a log its streams.

    `errors` is the file of its stderr, by default the log.
    """

    script: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    umask: int
    log: str
    errors: str = ""

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class ForkServer:
    """Takes requests, forks, reaps and reports."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._children: dict[int, socket.socket] = {}

    def until_forked(self) -> tuple[Start, list[int]] | None:
        """Serve requests; return the request and its descriptors in each child, and None in the server at its end."""
        with (
            selectors.DefaultSelector() as selector,
            socket.socket(socket.AF_UNIX) as listening,
        ):
            woken, wakes = socket.socketpair()
            wakes.setblocking(False)
            signal.set_wakeup_fd(wakes.fileno())
            signal.signal(signal.SIGCHLD, lambda *_: None)
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # Ctrl-C is for pytest, which ends this server through its input
            listening.bind(self._path)
            listening.listen(64)
            for waited_for in (listening, woken, sys.stdin):
                selector.register(waited_for, selectors.EVENT_READ)
            os.write(1, b"ready\n")
            try:
                while True:
                    for key, _ in selector.select():
                        if key.fileobj is listening:
                            if (asked := self._fork(listening)) is not None:
                                return asked
                        elif key.fileobj is woken:
                            woken.recv(4096)
                            self._reap()
                        elif not os.read(0, 4096):
                            self._end()
                            return None
            finally:
                signal.set_wakeup_fd(-1)
                woken.close()
                wakes.close()

    def _fork(self, listening: socket.socket) -> tuple[Start, list[int]] | None:
        connection, _ = listening.accept()
        request, streams, _, _ = socket.recv_fds(connection, 65_536, 3)
        while not request.endswith(b"\n"):
            request += connection.recv(65_536)
        start = Start(**json.loads(request))
        pid = os.fork()
        if pid == 0:
            connection.close()
            for other in self._children.values():
                other.close()
            return start, streams
        for stream in streams:
            os.close(stream)
        self._children[pid] = connection
        connection.sendall(b"pid %d\n" % pid)
        return None

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._children.pop(pid) as connection:
                try:
                    connection.sendall(b"status %d\n" % os.waitstatus_to_exitcode(status))
                except OSError:  # no client waits for it any more
                    continue

    def _end(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)


def become(start: Start, streams: list[int]) -> None:
    """Turn a fresh fork into a process like one that the interpreter starts for a script."""
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else signal.default_int_handler)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    os.chdir(start.folder)
    os.umask(start.umask)
    if not streams:
        logs = (start.log, start.errors or start.log)
        opened = (os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666) for log in logs)
        streams = [os.open(os.devnull, os.O_RDONLY), *opened]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in set(streams):
        os.close(stream)
    sys.argv = [start.script, *start.arguments]
    sys.path[0] = str(Path(start.script).parent)
    # `random`'s own generator is seeded anew by Python; the one of ids is an object of the gateway's.
    if (ids := sys.modules.get("actors.ids")) is not None:
        generator: random.Random = ids.random_bits.__self__
        generator.seed(os.urandom(32))


def main() -> None:
    path, program = sys.argv[1:]
    for name in PRELOADED[program]:
        importlib.import_module(name)
    assert threading.active_count() == 1, f"an import has started a thread: {threading.enumerate()}"
    assert not logging.getLogger().handlers, "an import has set logging up"
    gc.collect()
    gc.freeze()  # keeps the collector off the pages that all children share
    forked = ForkServer(path).until_forked()
    if forked is not None:
        start, streams = forked
        become(start, streams)
        runpy.run_path(start.script, run_name="__main__")


if __name__ == "__main__":
    main()
