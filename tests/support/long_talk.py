"""A core in this process, and conversations in it that are longer than what agents keep in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from actors.core import CoreOptions
from actors.engines.openai.engine import OpenAIEngine
from tests.support.disk import rows
from tests.support.gateway import Client
from tests.support.in_process import CoreGateway, commanded
from tests.support.provider import Provider, providing, says

FACT = "My locker code is quartz-7731."
QUESTION = "What is my locker code?"
QUOTE = f"You said: “{FACT}”"


@asynccontextmanager
async def gateway_in(folder: Path, **parts: Any) -> AsyncIterator[CoreGateway]:
    """Run a core with its database in a folder, where users are on the plan enterprise."""
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with commanded(folder, options=options, **parts) as gateway:
        yield gateway


@asynccontextmanager
async def answering(message: str, *replies: str) -> AsyncIterator[tuple[Provider, OpenAIEngine]]:
    """Run an OpenAI-compatible server that answers a message with these replies in turn, and an engine that asks it."""
    async with providing() as provider:
        provider.on(message, *(says(reply) for reply in replies))
        engine = OpenAIEngine(provider.base_url, "sk-key", "llama")
        yield provider, engine
        await engine.close()


async def reply_to(user: Client, message: str, **target: str) -> str:
    """Send a chat; return the agent's reply."""
    body = {"target": target} if target else {}
    return (await user.command("AP_Chat", content=message, **body)).ok().content[1]["content"]


async def talk(user: Client, chats: int, first: int = 0, **body: Any) -> None:
    """Say this many different things, 16 at a time."""

    async def say(numbers: list[int]) -> None:
        for number in numbers:
            (await user.command("AP_Chat", content=f"Parcel p{number} went to town t{number}.", **body)).ok()

    numbers = list(range(first, first + chats))
    await asyncio.gather(*(say(numbers[start::16]) for start in range(16)))


async def until_reached(gateway: CoreGateway, seq: int) -> None:
    """Wait until the messages of the only conversation or zone are indexed up to a seq, and no more."""
    async with asyncio.timeout(30):
        while await rows(gateway.core.store, "SELECT reached FROM collections") != ([(seq,)] if seq else []):
            await asyncio.sleep(0.01)
