"""The start of `parley`: Ctrl-C ends it with status 130 and without a traceback, from the first import to the end."""

import math
import os
import signal
import sys
import threading
import time
from types import FrameType

INTERRUPTED = 130
READER_GONE = 141
"""As a shell tells of a program that SIGPIPE has ended."""
STDERR = 2

SAME_S = 1.0
"""Seconds within which another Ctrl-C is the same one, so that it doesn't disturb the terminal's restoration."""

AGAIN_S = 0.05
"""Seconds between two signals of one Ctrl-C."""


def main() -> None:
    """Run `parley`."""
    # elsewhere, under nohup for example, Ctrl-C is none of its business
    is_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_interruptible:
        signal.signal(signal.SIGINT, _end_at_once)
    from parley_client.cli.main import run  # noqa: PLC0415

    try:
        if is_interruptible:
            _CtrlC().install()
        status = run()
    except KeyboardInterrupt:
        status = INTERRUPTED
    # Python's own end would flush to the reader that has gone, and be by SIGINT where Ctrl-C has come in an exec()
    if status in (INTERRUPTED, READER_GONE):
        os._exit(status)
    if is_interruptible:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and Python's end has no place for an exception
    sys.exit(status)


def _end_at_once(_signal: int, _frame: FrameType | None) -> None:
    """End while modules are imported, which has done nothing yet and takes no exception well."""
    if os.isatty(STDERR):
        os.write(STDERR, b"\n")  # after the terminal's ^C
    os._exit(INTERRUPTED)


class _CtrlC:
    """Raises KeyboardInterrupt, where Ctrl-C comes.

    Python runs a handler between two of its instructions. A system call that begins just after the signal is not
    interrupted and may wait for long, so another thread sends the first signal again until the handler has run.
    """

    def __init__(self) -> None:
        self._at = -math.inf

    def install(self) -> None:
        signal.signal(signal.SIGINT, self._take)
        if sys.platform != "win32":
            woken, wakes = os.pipe()
            os.set_blocking(wakes, False)
            signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
            threading.Thread(target=self._insist, args=(woken, threading.get_ident()), daemon=True).start()

    def _take(self, _signal: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._at >= SAME_S:
            self._at = now
            raise KeyboardInterrupt

    def _insist(self, woken: int, main: int) -> None:
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            os.read(woken, 1)
            while self._at == -math.inf:
                signal.pthread_kill(main, signal.SIGINT)
                time.sleep(AGAIN_S)
