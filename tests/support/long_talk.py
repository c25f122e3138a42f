"""A core in this process, and conversations in it that are longer than what agents keep in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from actors.conversations import room
from actors.core import Core, CoreOptions
from actors.engines.dialogue_acts import UNKNOWN
from actors.engines.openai.engine import OpenAIEngine
from persistence.store import Query, Reads, Unit, Write
from tests.support.disk import rows
from tests.support.gateway import Client
from tests.support.in_process import CoreGateway, commanded
from tests.support.provider import Provider, providing, says

FACT = "My locker code is quartz-7731."
QUESTION = "What is my locker code?"
QUOTE = f"You said: “{FACT}”"


def kept_in_all() -> int:
    """Return the number of indexed statements that archives of this process keep in memory; long ones count more."""
    return room.MAX_KEPT_IN_ALL - room.Room().left


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


def sent(number: int) -> str:
    """What an agent says of a parcel that it was told of."""
    return f"You said: “Parcel p{number} went to town t{number}.”"


class CountedReads:
    """Counts the trips to a core's store that read something."""

    def __init__(self, core: Core) -> None:
        self.count = 0
        self._fetch, core.store.fetch = core.store.fetch, self.fetch  # pyright: ignore[reportAttributeAccessIssue]
        self._read, core.store.read = core.store.read, self.read  # pyright: ignore[reportAttributeAccessIssue]

    async def fetch(self, query: Query[Any]) -> list[Any]:
        self.count += 1
        return await self._fetch(query)

    async def read(self, reads: Reads[Any]) -> Any:
        self.count += 1
        return await self._read(reads)


class Gate:
    """Lets some searches of a core's store through, and holds the next ones; they are its own, only later."""

    def __init__(self, core: Core, after: int = 0) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        self._left = after
        self._read, core.store.read = core.store.read, self.read  # pyright: ignore[reportAttributeAccessIssue]

    async def read(self, reads: Reads[Any]) -> Any:
        self._left -= 1
        if self._left < 0:
            self.reached.set()
            await self.opened.wait()
        return await self._read(reads)


async def commit(gateway: CoreGateway, *statements: str) -> None:
    """Run statements on the gateway's store, as one unit."""
    await gateway.core.store.commit(Unit(tuple(Write(sql, ()) for sql in statements)))


async def ask(user: Client, chats: int, **target: str) -> None:
    """Ask this many questions that nothing answers."""
    for number in range(chats):
        assert await reply_to(user, f"What is the colour of parcel x{number}?", **target) == UNKNOWN


async def until_in_memory(user: Client, reads: CountedReads, **target: str) -> int:
    """Ask until no question needs a look-up any more; return the number of those that did."""
    async with asyncio.timeout(30):
        for number in range(1_000):
            reads.count = 0
            assert await reply_to(user, f"What is the colour of parcel q{number}?", **target) == UNKNOWN
            if not reads.count:
                return number
            await asyncio.sleep(0.01)  # in which older messages are read into memory
    raise AssertionError("each question is looked up")
