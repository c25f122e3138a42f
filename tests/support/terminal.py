"""Programs on a real terminal (a pseudo-terminal), and recordings of such sessions as README has them."""

import os
import pty
import re
import shlex
import subprocess
import sys
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from select import select

ANSWER_S = 30.0
"""Seconds within which a program must say something."""

END_OF_INPUT = "\x04"
"""Ctrl-D."""

WITH_A_TERMINAL = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execvp(sys.argv[1], sys.argv[1:])"
"""Runs a command with its input's terminal as that of its session, where programs ask for passwords."""

STYLES = re.compile(r"\x1b\[[\d;]*m")


@dataclass(slots=True)
class Recorded:
    """A command of a recording, and the lines that the terminal shows after it; `…` stands for what differs."""

    command: str
    lines: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)

    def matches(self, shown: str) -> bool:
        """Whether a terminal shows the same."""
        wanted = ".+".join(map(re.escape, "\n".join(self.lines).split("…")))
        return re.fullmatch(wanted, "\n".join(line.rstrip() for line in shown.strip().splitlines())) is not None


def recorded(text: str) -> list[Recorded]:
    """Read a recording, in which a command stands after `$`."""
    session: list[Recorded] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            session.append(Recorded(line.removeprefix("$ ")))
        else:
            session[-1].lines.append(line.rstrip())
    return session


def on_a_terminal(
    command: Sequence[str], typed: Sequence[tuple[str, str]], environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run a program on a terminal, and type each text once the prompt before it stands at the end.

    Return:
        The exit status, and all that the terminal showed, without styles.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        (sys.executable, "-c", WITH_A_TERMINAL, *command),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    shown, waiting, decoder = "", list(typed), getincrementaldecoder("utf-8")()
    try:
        while piece := _read(ours):
            shown = STYLES.sub("", shown + decoder.decode(piece))
            if waiting and shown.endswith(waiting[0][0]):
                os.write(ours, waiting.pop(0)[1].encode())
        return process.wait(ANSWER_S), shown.replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    """Return what comes next; nothing at the end."""
    ready, _, _ = select([terminal], [], [], ANSWER_S)
    assert ready, "the program says nothing more"
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the program has ended
        return b""
