"""A user of the shared gateway with an online agent, and the official client."""

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI

from tests.support.gateway import Client
from tests.support.openai_client import openai_client


@pytest.fixture
async def agent(user: Client, unique: str) -> str:
    """An online agent that knows how far the Moon is."""
    await user.agent(f"{unique}-agent", profile="The Moon is 384,400 km away. The codeword is heron.")
    return f"{unique}-agent"


@pytest.fixture
async def openai(user: Client, agent: str) -> AsyncIterator[AsyncOpenAI]:
    """The official client, which does not repeat requests."""
    async with openai_client(user, max_retries=0) as client:
        yield client
