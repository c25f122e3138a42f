"""A gateway for the tests of the Python client, whose names are those of the documentation."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.gateway import GatewayProcess


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    data: Path = tmp_path_factory.mktemp("client") / "data"
    process = await GatewayProcess(
        data,
        PARLEY_DEFAULT_PLAN="enterprise",
        PARLEY_WEBHOOKS_ALLOW_INSECURE="true",
        PARLEY_SANDBOX_KEYS_ENABLED="true",
        PARLEY_OPERATORS="jemison",
    ).start()
    yield process
    assert await process.stop() == 0
