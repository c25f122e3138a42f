"""Gateways of the service tests with other settings or parts than the shared one."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.gateways.gate import ENGINES
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.log_ons import elsewhere
from tests.support.longest_step import LONGEST, TEXTS, Stepped, stepped


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty tab in a window of its own."""
    window = await browser.new_context()
    yield await window.new_page()
    await window.close()


@pytest.fixture(scope="session")
async def scripted_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with the scripted engine; see tests/gateways/scripted.py."""
    data = tmp_path_factory.mktemp("scripted") / "data"
    async with running(data, script=ENGINES / "scripted.py") as gateway:
        yield gateway


@pytest.fixture
async def scripted_user(scripted_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    """A user of the scripted gateway."""
    async with scripted_server.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture(scope="session")
async def faulty_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with faults; see tests/gateways/faulty.py."""
    data = tmp_path_factory.mktemp("faulty") / "data"
    async with running(data, script=ENGINES / "faulty.py") as gateway:
        yield gateway


@pytest.fixture
async def faulty_user(faulty_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    """A user of the faulty gateway."""
    async with faulty_server.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture(scope="session")
async def proxied_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway behind a trusted proxy, so that tests of throttles share no address; its passwords take some time."""
    data = tmp_path_factory.mktemp("proxied") / "data"
    async with running(data, PARLEY_TRUSTED_PROXIES="127.0.0.1", TEST_PASSWORDS="quarter") as gateway:
        yield gateway


@pytest.fixture
async def proxied(proxied_server: GatewayProcess) -> AsyncIterator[Client]:
    """A client of the proxied gateway without a user."""
    async with proxied_server.client() as client:
        yield client


@pytest.fixture
def address() -> dict[str, str]:
    """Return headers of a caller at an address that no other test uses; the proxied gateway trusts them."""
    return elsewhere()


@pytest.fixture(scope="session")
async def stepped_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stepped]:
    """A warmed-up gateway that measures its loop."""
    folder = tmp_path_factory.mktemp("stepped")
    async with stepped(folder, PARLEY_WEBHOOKS_ALLOW_INSECURE="true") as loop:
        async with loop.gateway.client() as client:
            warm = await client.register("warm-user")
            await warm.agent("warm-agent")
            for text in ("Hello!", "What is this?", TEXTS["Han"](LONGEST)):
                (await warm.command("AP_Chat", content=text)).ok()
            await warm.command("MB_Create", vx={"name": "warm-bank"})
            (await warm.command("MB_Load", target={"bank": "warm-bank"}, vx={"name": "one"}, content="One")).ok()
            (await warm.command("MB_Recall", target={"bank": "warm-bank"}, content="one")).ok()
            (await warm.command("AP_Chat", content="What is one?")).ok()
        yield loop


@pytest.fixture
async def loop_user(stepped_server: Stepped, unique: str) -> AsyncIterator[Client]:
    """A user with an agent online and selected."""
    async with stepped_server.gateway.client() as client:
        user = await client.register(f"{unique}-user")
        await user.agent(f"{unique}-agent")
        yield user
