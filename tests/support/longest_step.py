"""The longest step of the loop during a request, from a gateway that measures it (tests/gateways/stepped.py)."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.gateways.gate import ENGINES
from tests.support.gateway import GatewayProcess, running
from tests.support.pace import MARK_MS, slower

LONGEST = 32_000
"""Characters of a message or a memory."""

TRIES = 8
"""Up to this number of attempts, each with other words, until the longest step keeps the limit. Other load of the
machine lengthens a step and never shortens one, so a test fails only on work that takes long each time."""


log = logging.getLogger("longest step")


@dataclass(slots=True)
class Stepped:
    """A gateway with a measured loop."""

    gateway: GatewayProcess
    socket: Path

    async def taken(self) -> tuple[list[tuple[float, str]], float]:
        """Return the longest steps since the last report (milliseconds and callback), and the machine's pace now.

        The pace is 0 if all kept the limit, because to measure it takes longer than most requests.
        """
        reader, writer = await asyncio.open_unix_connection(self.socket)
        said = orjson.loads(await reader.read())
        writer.close()
        return [(milliseconds, what) for milliseconds, what in said["steps"]], said["pace"]

    async def longest(self, request: Callable[[], Awaitable[Any]]) -> tuple[float, str]:
        """Send a request until it keeps the limit, up to `TRIES` times; return the shortest of its longest steps.

        In milliseconds of a quiet machine.
        """
        found: list[tuple[float, str]] = []
        _, before = await self.taken()
        for _ in range(TRIES):
            await request()
            ((milliseconds, what), *_), after = await self.taken()
            found.append((milliseconds / slower(before or after, after), what))
            before = after
            if found[-1][0] <= MARK_MS:
                break
        return min(found)

    async def is_never_held_up(self, request: Callable[[], Awaitable[Any]]) -> None:
        """Assert that no step of the loop exceeds the limit while a request is served."""
        milliseconds, what = await self.longest(request)
        log.info("%s: %.1f ms", getattr(request, "__name__", "request"), milliseconds)
        assert milliseconds <= MARK_MS, f"a step took {milliseconds:.1f} ms: {what}"


@asynccontextmanager
async def stepped(folder: Path, **settings: str) -> AsyncIterator[Stepped]:
    """Run a gateway with a measured loop, with a user without limits."""
    socket = folder / "steps"
    settings = {"PARLEY_DEFAULT_PLAN": "enterprise", "PARLEY_LOG_LEVEL": "error"} | settings
    script = ENGINES / "stepped.py"
    async with running(folder / "data", script=script, STEPS_SOCKET=str(socket), **settings) as gateway:
        yield Stepped(gateway, socket)


_random = random.Random(13)
HAN = "".join(map(chr, range(0x4E00, 0x9FFF)))
LATIN = "abcdefghijklmnopqrstuvwxyz"


def _drawn(letters: str, count: int) -> str:
    return "".join(_random.choices(letters, k=count))


def words_of(letters: str, shortest: int = 2, longest: int = 9) -> Callable[[int], str]:
    """Return a maker of texts of random words with spaces between."""

    def text(length: int) -> str:
        drawn, end = _random.choices(letters, k=length), -1
        for size in _random.choices(range(shortest, longest + 1), k=length // (shortest + 1) + 1):
            end += size + 1
            if end >= length:
                break
            drawn[end] = " "
        return "".join(drawn)

    return text


TEXTS: dict[str, Callable[[int], str]] = {
    "spaced Han": lambda length: " ".join(_drawn(HAN, length // 2)),
    "Han": lambda length: _drawn(HAN, length),
    "Hangul": words_of("".join(map(chr, range(0xAC00, 0xD7A3))), 1, 3),
    "Thai": words_of("".join(map(chr, range(0xE01, 0xE3A))), 1, 5),
    "Latin": words_of(LATIN),
    "accents": words_of("abcdeéèàüöñçijklmnop"),
    "right to left": words_of("".join(map(chr, range(0x5D0, 0x5EB)))),
    "digits": words_of("0123456789", 1, 4),
    "one word": lambda length: _random.choice("xyz") * length,
    "combining marks": lambda length: (
        _random.choice(LATIN) + _random.choice("\u0301\u0302") * (length // 2 - 1) + "\u0316" * (length // 2)
    ),
    "emoji": lambda length: _drawn("".join(map(chr, range(0x1F300, 0x1F6FF))), length),
    "a letter that NFKC makes 18 of": lambda length: _drawn(LATIN, 4) + "\ufdfa" * (length - 4),
    "punctuation": lambda length: _drawn(".,;:!?-()\"'", length),
    "numbered": lambda length: f"{_random.randint(10, 99)}. " * (length // 4),
    "mentions": lambda length: "@a " * (length // 3),
    "line breaks": lambda length: "a" + "\n" * (length - 2) + "b",
    "lines": lambda length: "a\n" * (length // 2),
    "questions": lambda length: f"what is {_random.choice(HAN)}? " * (length // 12),
}
"""Makers of worst-case texts by kind; each call returns another text."""
