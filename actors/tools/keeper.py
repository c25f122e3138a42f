"""Runs one tool server's process, and ends all of it when the gateway ends. Linux only.

Run as `python -I -S keeper.py <gateway's pid> <command> ...` by `actors/tools/stdio.py`, in a session of its own; it
imports nothing of Parley's. The server inherits stdin and stdout.

- The kernel sends the keeper SIGTERM when the gateway's thread that started it ends, by SIGKILL, too (prctl(2),
  PR_SET_PDEATHSIG). The signal is bound to the thread, not the process: it is the event loop's, which ends last.
- The keeper is its descendants' subreaper: one that changes its session or group, or whose parent ends, is still found.
- Should the keeper itself be killed, the server's own death signal is SIGKILL.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL."""
NOT_STARTED = 127
"""The exit status for a command that can't be run, as in a shell."""

_libc = ctypes.CDLL(None, use_errno=True)


def descendants() -> set[int]:
    """List the keeper's living descendants, from /proc."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                parents[int(entry)] = int(parent)
    found: set[int] = set()
    layer = {os.getpid()}
    while layer:
        layer = {child for child, parent in parents.items() if parent in layer} - found
        found |= layer
    return found


def reap() -> None:
    """Collect the exit statuses of ended children."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def send_all(number: int) -> bool:
    """Send a signal to every descendant; return whether there was one."""
    found = descendants()
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
    return bool(found)


def end_all() -> None:
    """End every descendant: politely, then by force, until none is left."""
    deadline = time.monotonic() + GRACE_S
    send_all(signal.SIGTERM)
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.02)
        reap()
    while send_all(signal.SIGKILL):
        time.sleep(0.01)
        reap()


def main() -> int:
    """Start the command, wait until it or the gateway ends, and end all remaining processes."""
    gateway, command = int(sys.argv[1]), sys.argv[2:]
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    awaited = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    if os.getppid() != gateway:  # it ended before the signal was set
        return 0
    server = os.fork()
    if server == 0:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and children inherit that
        try:
            os.execvp(command[0], command)
        except OSError:
            os._exit(NOT_STARTED)
    # Only the server keeps the pipes, so when it ends, the gateway reads their end.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    status = 0
    while signal.sigwait(awaited) == signal.SIGCHLD:
        ended = True
        try:
            while True:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    ended = False
                    break
                if pid == server:
                    status = os.waitstatus_to_exitcode(wait_status)
                    break
        except ChildProcessError:
            pass
        if ended:
            break
    end_all()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
