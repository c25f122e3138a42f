"""A domain with readers in it."""

import pytest

from tests.support.gateway import Client
from tests.support.operator import on_plan
from tests.support.workspaces import Workspace, opened


@pytest.fixture
async def workspace(sanic_client: Client, unique: str) -> Workspace:
    """A domain on a plan with many requests, with an agent of a guest in it."""
    owner = await on_plan(await sanic_client.register(f"{unique}-owner"), "builder")
    guest = await on_plan(await sanic_client.register(f"{unique}-guest"), "builder")
    return await opened(owner, guest, f"{unique}-domain")
