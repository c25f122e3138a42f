"""The gateway and the browser of the console's tests."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.support.console import Console, console_of
from tests.support.gateway import Client, GatewayProcess
from tests.support.operator import LISTED, operated
from tests.support.windows import Windows


@pytest.fixture(scope="session")
async def console_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with an operator, whose users have no limit."""
    data = tmp_path_factory.mktemp("console") / "data"
    async with operated(data, PARLEY_WEBHOOKS_ALLOW_INSECURE="true") as gateway:
        yield gateway


@pytest.fixture(scope="session")
async def windows_of_the_shared_gateway(browser: Browser, console_server: GatewayProcess) -> AsyncIterator[Windows]:
    """Windows that tests use one after another."""
    windows = Windows(browser, console_server.base)
    yield windows
    await windows.close()


@pytest.fixture
async def console(
    browser: Browser, console_server: GatewayProcess, windows_of_the_shared_gateway: Windows
) -> AsyncIterator[Console]:
    """Windows of the shared gateway: `await console.window(user, "/console/agents")`."""
    async with console_of(browser, console_server, windows=windows_of_the_shared_gateway) as opened:
        yield opened


@pytest.fixture
async def nobody(console_server: GatewayProcess) -> AsyncIterator[Client]:
    """A client without a user."""
    async with console_server.client() as client:
        yield client


@pytest.fixture
async def user(nobody: Client, unique: str) -> Client:
    """A new user, logged on for the API; `console.window(user)` logs it on in a window."""
    return await nobody.register(f"{unique}-user")


@pytest.fixture
async def operator(nobody: Client) -> Client:
    """The operator, logged on for the API."""
    return await nobody.log_on(LISTED)


@pytest.fixture
async def auditor(operator: Client, unique: str) -> Client:
    """A new auditor, logged on for the API."""
    made = await operator.register(f"{unique}-auditor")
    path = f"/api/admin/users/{made.name}/role"
    assert (await operator.request("PUT", path, json={"role": "auditor"})).body["role"] == "auditor"
    return made
