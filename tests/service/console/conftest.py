"""A gateway with an operator, behind a trusted proxy."""

from collections.abc import AsyncIterator

import pytest

from tests.support.cookies import CookieSession, logged_on
from tests.support.gateway import Client, GatewayProcess
from tests.support.operator import LISTED, Cast, made_cast, operated


@pytest.fixture(scope="package")
async def console_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway that trusts what its clients tell as proxies."""
    data = tmp_path_factory.mktemp("console") / "data"
    async with operated(data, PARLEY_TRUSTED_PROXIES="127.0.0.1") as gateway:
        yield gateway


@pytest.fixture
async def nobody(console_server: GatewayProcess) -> AsyncIterator[Client]:
    """A client without a credential."""
    async with console_server.client() as client:
        yield client


@pytest.fixture
async def member(nobody: Client, unique: str) -> Client:
    """A new user, with a token in a header."""
    return await nobody.register(f"{unique}-member")


@pytest.fixture
async def page(nobody: Client, member: Client) -> CookieSession:
    """The same user, logged on to the console."""
    return await logged_on(nobody, member.name)


@pytest.fixture
async def cast(nobody: Client, unique: str) -> Cast:
    """Users of each role."""
    return await made_cast(await nobody.log_on(LISTED), unique)
