"""A gateway with an operator, an auditor and users."""

from collections.abc import AsyncIterator

import pytest

from tests.support.gateway import Client, GatewayProcess
from tests.support.operator import LISTED, Cast, made_cast
from tests.support.operator import operated as run_operated


@pytest.fixture(scope="package")
async def operated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with an operator in its settings."""
    async with run_operated(tmp_path_factory.mktemp("operated") / "data") as gateway:
        yield gateway


@pytest.fixture
async def nobody(operated: GatewayProcess) -> AsyncIterator[Client]:
    """A client without a credential."""
    async with operated.client() as client:
        yield client


@pytest.fixture
async def operator(nobody: Client) -> Client:
    """The operator of the settings."""
    return await nobody.log_on(LISTED)


@pytest.fixture
async def cast(operator: Client, unique: str) -> Cast:
    """Users of each role; the operator here has the role by another one's act."""
    return await made_cast(operator, unique)
