"""The progress of a move: a bar on a terminal, otherwise a line for each table."""

import time
from typing import TextIO

REDRAW_S = 0.1
WIDTH = 30


class Progress:
    """Shows what is being done, and how much of `total` rows is done."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out = out
        self._total = total
        self._done = 0
        self._what = ""
        self._rows = 0
        self._drawn_at = 0.0
        self._is_terminal = out.isatty()

    def step(self, what: str, rows: int) -> None:
        """Count rows that are done."""
        if what != self._what:
            self._end_line()
            self._what, self._rows = what, 0
        self._done += rows
        self._rows += rows
        if self._is_terminal and time.monotonic() > self._drawn_at + REDRAW_S:
            self._draw()

    def end(self) -> None:
        """Show the last state, and leave the line."""
        self._end_line()
        if self._is_terminal:
            self._draw()
            self._out.write("\n")
        self._out.flush()

    @property
    def is_whole(self) -> bool:
        """Whether all rows are done, so that only the commit is left."""
        return self._done >= self._total

    @property
    def _percent(self) -> int:
        return 100 * self._done // max(self._total, 1)

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        filled = "#" * (WIDTH * self._percent // 100)
        rows = f"{self._done:,} of {self._total:,}"
        self._out.write(f"\r[{filled:.<{WIDTH}}] {self._percent:3} %  {rows}  {self._what}\x1b[K")
        self._out.flush()

    def _end_line(self) -> None:
        if self._rows and not self._is_terminal:
            self._out.write(f"{self._percent:3} %  {self._what} ({self._rows:,})\n")
            self._out.flush()
