"""Movable clocks, in process and of gateways."""

from datetime import UTC, datetime
from pathlib import Path

DAY_MS = 86_400_000
MINUTE_MS = 60_000


class MovableClock:
    """A clock of ms since the epoch that a test sets; it begins at a noon."""

    def __init__(self) -> None:
        self.now = 20_000 * DAY_MS + DAY_MS // 2

    def __call__(self) -> int:
        return self.now

    def to_midnight(self, ms_before: int = 1) -> None:
        """Move to just before the day's end."""
        self.now = (self.now // DAY_MS + 1) * DAY_MS - ms_before

    @property
    def day(self) -> int:
        return self.now // DAY_MS


class ClockFile:
    """Moves the clocks of a gateway of `tests/gateways/clocked.py`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ahead_ms = 0
        self.ticks_ahead_ms = 0
        self.move(0)
        self.tick(0)

    def move(self, ms: int) -> None:
        """Set the time of day forward or back, without elapsed time."""
        self.ahead_ms += ms
        self._write(self.path, self.ahead_ms)

    def tick(self, ms: int) -> None:
        """Let time pass for throttles."""
        self.ticks_ahead_ms += ms
        self._write(self.path.with_suffix(".ticks"), self.ticks_ahead_ms)

    @staticmethod
    def _write(path: Path, ms: int) -> None:
        beside = path.with_suffix(".new")
        beside.write_text(str(ms))
        beside.replace(path)

    def now(self) -> int:
        return int(datetime.now(UTC).timestamp() * 1000) + self.ahead_ms
