"""A core over a real store, with a clock that a test moves and a disk that it can hold up or make fail."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.core import Core
from tests.support.clock import MovableClock
from tests.support.core import open_core
from tests.support.disk import Disk


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def core(tmp_path: Path, disk: Disk, clock: MovableClock) -> AsyncIterator[Core]:
    async with open_core(tmp_path, clock, before_commit=disk.before_commit) as core:
        yield core
        disk.let_go()
        disk.fails = lambda: False
