"""A child process of the cluster: its output goes to the terminal with its name before each line."""

import asyncio
import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
MAX_LINE = 1_048_576
"""Bytes of a line that are passed on as one."""

_libc = ctypes.CDLL(None)


def say(name: str, line: str) -> None:
    """Print a line of a process."""
    print(f"{name:<10}| {line}", flush=True)


@dataclass(slots=True)
class Child:
    """A process that `start` begins and `stop` ends; it also ends when this process is killed (Linux).

    Args:
        name: the word before each line of its output.
        ready: found in the line with which it says that it serves; None if it says nothing.
        stop_signal: the signal for an orderly end.
        user: the account to run it as; None is this process's.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    ready: re.Pattern[str] | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    user: str | None = None
    on_end: Callable[["Child"], None] | None = None
    """Called once, when it has ended without `stop`."""
    status: int | None = None
    """The exit status; negative is the number of the signal that killed it."""
    _process: asyncio.subprocess.Process | None = None
    _is_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _stopping: bool = False
    _reading: "asyncio.Task[None] | None" = None

    @property
    def pid(self) -> int:
        """The process's id, once it has begun."""
        """The process's id, once it has begun."""
        assert self._process is not None
        return self._process.pid

    @property
    def end(self) -> str:
        """How it ended, in words."""
        assert self.status is not None
        if self.status < 0:
            return f"was killed by {signal.Signals(-self.status).name}"
        return f"has ended with status {self.status}"

    async def start(self) -> None:
        """Begin the process, in a session of its own, because Ctrl-C is for the one that orders the ends."""
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            env=dict(self.environment),
            cwd=self.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=MAX_LINE,
            start_new_session=True,
            preexec_fn=_ending_with_parent(self.stop_signal),
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        self._reading = asyncio.create_task(self._pass_on())

    async def is_ready(self, timeout_s: float) -> bool:
        """Wait until it serves; False if it ended instead, or has not said so in time."""
        waits = [asyncio.create_task(event.wait()) for event in (self._is_ready, self._ended)]
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return self._is_ready.is_set() and not self._ended.is_set()

    async def stop(self, grace_s: float) -> None:
        """Ask it to end, and kill it if it does not in time; nothing if it has ended or was never begun."""
        if self._process is None or self._reading is None:
            return
        self._stopping = True
        self.send(self.stop_signal)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._ended.wait()
        if not self._ended.is_set():
            say(self.name, f"did not end in {grace_s:g} s and is killed")
            self.send(signal.SIGKILL)
        await self._reading

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is there."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _pass_on(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # a longer line; readline has dropped its beginning
                continue
            if not line:
                break
            text = line.decode(errors="replace").rstrip()
            say(self.name, text)
            if self.ready is None or self.ready.search(text):
                self._is_ready.set()
        self.status = await process.wait()
        self._ended.set()
        if not self._stopping and self.on_end is not None:
            self.on_end(self)


def _ending_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """Return a function for the child, which has the kernel signal it when its parent ends."""
    if sys.platform != "linux":
        return None
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # it ended before
            os._exit(1)

    return prepare
