"""Set-up of the process for one busy loop beside a few threads (docs/performance.md, "Where the time goes")."""

import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

SWITCH_S = 0.000_01
"""Time that a thread waits for the interpreter lock before it demands it; Python's default of 5 ms is fifty chats."""

TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""File of the delay that the kernel may add to this thread's timers, and to those of threads it starts (proc(5))."""

OPEN_FILES = 65_536
"""Limit of open files, where the system allows that many; its usual limit is 1,024."""


def tune() -> None:
    """Set interpreter and process up; before any thread is started, and once all modules are imported."""
    # A thread of the store's gets its turn soon, so that commits overlap with requests. While it waits, each callback
    # of the loop wakes it for nothing; the kernel would have it wait 50 us longer than it asks for.
    sys.setswitchinterval(SWITCH_S)
    with suppress(OSError):  # only Linux has this file
        TIMER_SLACK.write_text("1000")  # nanoseconds
    # Few objects here form cycles, and many live long: collect seldom, and never what the imports made.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def allow_many_connections() -> None:
    """Raise the number of files that may be open to what the system allows: clients' and receivers' connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
