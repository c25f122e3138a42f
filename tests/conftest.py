"""Fixtures with pytest-sanic's names, over a real gateway on a real socket (docs/testing.md)."""

import gc
import itertools
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.async_api import Browser

from tests.gateways.gate import Gate
from tests.support.browser import chromium
from tests.support.gateway import NODES, Client, GatewayProcess
from tests.support.idempotent import Scene, set_scene
from tests.support.sharing import Two, with_a_bank
from tests.support.stores import ON_POSTGRES

_numbers = itertools.count(1)

# by default an example that takes more than 200 ms fails its test, and so does slow making of examples
settings.register_profile("any pace", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any pace")

# What a shell runs in the background ignores SIGINT, and so would all programs that tests start and press Ctrl-C for.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Half a million objects of collected tests stay until the end, so the collector need not look at them again and again.
gc.disable()

TESTS = Path(__file__).parent

BEGIN_UNTIL = float(os.environ.get("TESTS_BEGIN_UNTIL", "inf"))
"""The time, in seconds since the epoch, from which no test begins any more; `.ci/run` sets it, which has 15 minutes."""

OF_THE_OTHER_STORE = "sqlite" if ON_POSTGRES else "postgres"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the store that these tests don't run on and, with several nodes, those of one node.

    Unit tests come first and those of the console, a quarter of all, last: on a slow machine the last are left out.
    """
    unfit = [OF_THE_OTHER_STORE, *(["one_node"] if NODES > 1 else [])]
    others = [item for item in items if any(item.get_closest_marker(mark) for mark in unfit)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    items.sort(key=lambda item: _order(item.path.relative_to(TESTS).parts[0]))


def _order(folder: str) -> int:
    return {"unit": 0, "console": 2}.get(folder, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Leave out a test that would begin too late."""
    if time.time() >= BEGIN_UNTIL:
        pytest.skip("left out, because this machine is slow")


def pytest_collection_finish() -> None:
    """Begin to collect garbage, but none of what the collected tests hold."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
async def sanic_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """The gateway of all tests without one of their own."""
    gateway = await GatewayProcess(tmp_path_factory.mktemp("gateway") / "data").start()
    yield gateway
    assert await gateway.stop() == 0


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, one for all tests of a process, because a start costs two seconds; each window has its own cookies."""
    async with chromium() as started:
        yield started


@pytest.fixture
async def sanic_client(sanic_server: GatewayProcess) -> AsyncIterator[Client]:
    """A client of the shared gateway without a user."""
    async with sanic_server.client() as client:
        yield client


test_cli = sanic_client


@pytest.fixture
def unique() -> str:
    """A prefix for names that no other test uses."""
    return f"t{next(_numbers):05d}"


@pytest.fixture
async def user(sanic_client: Client, unique: str) -> Client:
    """A new user, logged on."""
    return await sanic_client.register(f"{unique}-user")


@pytest.fixture
async def two(user: Client, sanic_client: Client, unique: str) -> Two:
    """An owner with a bank that holds a memory, and a guest with an agent that everyone sees."""
    return await with_a_bank(user, await sanic_client.register(f"{unique}-guest"), unique)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gate")


@pytest.fixture
def patient_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ledgers in this process time for their statements, because a busy machine may stop them for a second.

    What they do when a statement is late is shown by `test_patient_starts.py` and `test_take_over.py`.
    """
    monkeypatch.setattr("persistence.postgres.ledger_session.STATEMENT_S", 20.0)
    monkeypatch.setattr("persistence.postgres.ledger.BEAT_S", 20.0)


@pytest.fixture
async def scene(sanic_client: Client, unique: str) -> Scene:
    return await set_scene(sanic_client, unique)
