"""How the process is set up for one busy loop beside a few threads (docs/performance.md, "Where the time goes")."""

import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

SWITCH_S = 0.000_01
"""How long a thread waits for the interpreter lock before it demands it; Python's own 5 ms are fifty chats."""

TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""By how much the kernel may delay this thread's timers, and those of threads that it starts (proc(5))."""

OPEN_FILES = 65_536
"""Files that may be open at a time, where the system allows so many; its usual limit is 1,024."""


def tune() -> None:
    """Set interpreter and process up; before any thread is started, and once all modules are imported."""
    # A thread of the store's gets its turn soon, so that commits overlap with requests. While it waits, each callback
    # of the loop wakes it for nothing; the kernel would have it wait 50 us longer than it asks for.
    sys.setswitchinterval(SWITCH_S)
    with suppress(OSError):  # there is no such file but on Linux
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
