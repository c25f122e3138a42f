"""A real store on a disk that a test can block or make fail."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from persistence.store import Store
from tests.support.disk import Disk, open_store


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def store(tmp_path: Path, disk: Disk) -> AsyncIterator[Store]:
    async with open_store(tmp_path, disk) as store:
        yield store
