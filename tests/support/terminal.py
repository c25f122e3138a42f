"""Programs on a real terminal (a pseudo-terminal), and recordings of such sessions as README has them."""

import os
import pty
import re
import shlex
import subprocess
import sys
import termios
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from select import select

ANSWER_S = 30.0
"""Seconds within which a program must say something."""

END_OF_INPUT = "\x04"
"""Ctrl-D."""

CTRL_C = "\x03"

WITH_A_TERMINAL = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execvp(sys.argv[1], sys.argv[1:])"
"""Runs a command with its input's terminal as that of its session, where programs ask for passwords."""

ON_AND_OFF = (("\x1b[?25h", "\x1b[?25l"), ("\x1b[?1049l", "\x1b[?1049h"))
"""The codes that show and hide the cursor, and those that leave and enter the other screen."""

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
    command: Sequence[str],
    typed: Sequence[tuple[str, str]],
    environment: Mapping[str, str],
    *,
    with_styles: bool = False,
) -> tuple[int, str]:
    """Run a program on a terminal, and type each text once the prompt before it stands at the end.

    It must leave the terminal as it was.

    Return:
        The exit status, and all that the terminal showed, without styles unless they are asked for.
    """
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(ours)
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
            shown += decoder.decode(piece)
            shown = shown if with_styles else STYLES.sub("", shown)
            if waiting and shown.endswith(waiting[0][0]):
                os.write(ours, waiting.pop(0)[1].encode())
        assert is_left_sane(shown), shown
        assert termios.tcgetattr(ours) == before
        return process.wait(ANSWER_S), shown.replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def is_left_sane(shown: str) -> bool:
    """Whether what a terminal was sent leaves it with a cursor, and on its main screen."""
    return all(shown.count(off) <= shown.count(on) for on, off in ON_AND_OFF)


def _read(terminal: int) -> bytes:
    """Return what comes next; nothing at the end."""
    ready, _, _ = select([terminal], [], [], ANSWER_S)
    assert ready, "the program says nothing more"
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the program has ended
        return b""
