"""Fixtures of the names that pytest-sanic gave them, over a real gateway on a real socket (docs/testing.md)."""

import itertools
from collections.abc import AsyncIterator

import pytest

from tests.support.gateway import Client, GatewayProcess

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
async def sanic_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """One gateway for all tests that don't need one of their own."""
    gateway = await GatewayProcess(tmp_path_factory.mktemp("gateway") / "data").start()
    yield gateway
    assert await gateway.stop() == 0


@pytest.fixture
async def sanic_client(sanic_server: GatewayProcess) -> AsyncIterator[Client]:
    """A client of the shared gateway that is nobody yet."""
    async with sanic_server.client() as client:
        yield client


test_cli = sanic_client


@pytest.fixture
def unique() -> str:
    """A name that no other test uses, to build others on."""
    return f"t{next(_numbers):05d}"


@pytest.fixture
async def user(sanic_client: Client, unique: str) -> Client:
    """A user of its own, logged on."""
    return await sanic_client.register(f"{unique}-user")
