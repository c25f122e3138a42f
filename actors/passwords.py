"""Password hashing: Argon2id at OWASP's parameters, in a bounded executor (product 2)."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from actors.errors import Overloaded

T = TypeVar("T")

MEMORY_KIB = 19 * 1024
ITERATIONS = 2
LANES = 1
"""OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, t=2, p=1."""


class PasswordHasher:
    """Hashes and verifies off the event loop.

    `threads` hash at a time, each taking 19 MiB; up to `waiting` more wait, one more is refused.
    """

    def __init__(self, *, threads: int = 2, waiting: int = 64) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="argon2")
        self._limit = threads + waiting
        self._running = 0
        self._nobody = _hash(os.urandom(16).hex())

    async def hash(self, secret: str) -> str:
        """Hash a password to a PHC string.

        Raises:
            Overloaded: too many wait already.
        """
        return await self._run(lambda: _hash(secret))

    async def verify(self, secret: str, phc: str | None) -> bool:
        """Tell whether the password is that of the hash; with no hash it takes as long and says no.

        Raises:
            Overloaded: too many wait already.
        """
        matches = await self._run(lambda: _verify(secret, phc or self._nobody))
        return matches and phc is not None

    async def _run(self, work: Callable[[], T]) -> T:
        if self._running >= self._limit:
            raise Overloaded("Too many log-ons at once; try again in a second.")
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self._running -= 1

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()


def _hash(secret: str) -> str:
    kdf = Argon2id(salt=os.urandom(16), length=32, iterations=ITERATIONS, lanes=LANES, memory_cost=MEMORY_KIB)
    return kdf.derive_phc_encoded(secret.encode())


def _verify(secret: str, phc: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(secret.encode(), phc)
    except InvalidKey:
        return False
    return True
