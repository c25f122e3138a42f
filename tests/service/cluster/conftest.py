"""Three nodes of one gateway, with sockets."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from actors.core import CoreOptions
from tests.support.nodes import Nodes, running
from tests.support.roaming import Entries


@pytest.fixture(scope="session")
async def three(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Nodes]:
    """The nodes of all tests that neither cut nor kill one."""
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise", sandbox_keys=True)
    async with running(tmp_path_factory.mktemp("nodes"), 3, http=True, options=options) as nodes:
        yield nodes


@pytest.fixture
async def entries(three: Nodes) -> AsyncIterator[Entries]:
    """Clients of each of the three nodes."""
    async with AsyncExitStack() as stack:
        yield Entries(three, [await stack.enter_async_context(three.client(index)) for index in range(3)])
