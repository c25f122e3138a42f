"""A gate by which a test blocks the scripted engine."""

import asyncio
from pathlib import Path

ENGINES = Path(__file__).parent
"""The folder with scripts of gateways with replaced parts."""


class Gate:
    """`wait:{gate}` in a message to the scripted engine waits until the gate is opened."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    async def reached(self) -> None:
        """Wait until an engine waits at the gate."""
        reached = self._path.with_name(f"{self._path.name}.reached")
        while not reached.exists():
            await asyncio.sleep(0.01)

    def open(self) -> None:
        """Let the engine go on."""
        self._path.touch()
