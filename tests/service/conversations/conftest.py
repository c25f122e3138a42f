"""Users of the shared gateway who have conversations."""

import pytest

from tests.support.gateway import Client


@pytest.fixture
async def other(sanic_client: Client, unique: str) -> Client:
    """Another user."""
    return await sanic_client.register(f"{unique}-other")


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"
