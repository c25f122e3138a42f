"""Set-up of the process for one busy loop beside a few threads (docs/performance.md, "Where the time goes")."""

import gc
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

SWITCH_S = 0.000_01
"""Seconds after which a thread demands the interpreter lock; Python's default of 5 ms is the time of fifty chats."""

TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""File with the delay that the kernel may add to timers of this thread and its children (proc(5))."""

OPEN_FILES = 65_536
"""Limit of open files, if the system allows it; the usual limit is 1,024."""


def open_standard_streams() -> None:
    """Open /dev/null for each standard stream that is closed; call it before anything else opens a descriptor for good.

    The event loop would get the number of a closed one, and libuv aborts the process where it closes a number up to 2.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            os.set_inheritable(descriptor, True)  # tool servers need it, too
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process


def tune() -> None:
    """Configure interpreter and process; call it before any thread starts, and after all imports."""
    # The store's threads get their turn soon, so that commits overlap with requests. While one waits, each callback
    # of the loop wakes it for nothing; the kernel would have it wait 50 us longer than it asks for.
    sys.setswitchinterval(SWITCH_S)
    with suppress(OSError):  # only Linux has this file
        TIMER_SLACK.write_text("1000")  # nanoseconds
    # Few objects form cycles and many live long, so collections are rare and skip objects of the imports.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def allow_many_connections() -> None:
    """Raise the limit of open files as far as the system allows, for connections of clients and receivers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
