"""Cores over a real store: one with a movable clock and a disk under the test's control, and two that take commands.

`sanic_server`, `sanic_client` and so `user` have the same meaning as in the other layers, but without HTTP: their
commands go to the command bus in this process.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.core import Core
from tests.gateways.scripted import ScriptedEngine
from tests.support.clock import MovableClock
from tests.support.core import open_core
from tests.support.disk import Disk
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway, commanded


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


@pytest.fixture(scope="session")
async def sanic_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CoreGateway]:
    """One core with its bus for all tests that don't need one of their own."""
    async with commanded(tmp_path_factory.mktemp("core")) as gateway:
        yield gateway


@pytest.fixture
def sanic_client(sanic_server: CoreGateway) -> CommandClient:
    """A client of the shared core that is nobody yet."""
    return CommandClient(sanic_server)


@pytest.fixture(scope="session")
async def scripted_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CoreGateway]:
    """A core whose engine does what the message says; see tests/gateways/scripted.py."""
    async with commanded(tmp_path_factory.mktemp("scripted"), engine=ScriptedEngine()) as gateway:
        yield gateway


@pytest.fixture
async def scripted_user(scripted_server: CoreGateway, unique: str) -> Client:
    """A user of the scripted core."""
    return await CommandClient(scripted_server).register(f"{unique}-user")
