"""Password hashing: Argon2id at OWASP's parameters, in a bounded executor."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from actors.errors import Overloaded
from actors.users.fair_queue import FairQueue, SenderLane

T = TypeVar("T")

TOO_MANY = "Too many log-ons and registrations at once; try again in a second."


@dataclass(frozen=True, slots=True)
class HashCost:
    """The cost of a new hash. A stored hash carries its own."""

    memory_kib: int
    iterations: int
    lanes: int = 1


OWASP_COST = HashCost(memory_kib=19 * 1024, iterations=2)
"""OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, t=2, p=1."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Work for a thread, and the future of its result."""

    run: Callable[[], Any]
    result: asyncio.Future[Any]


class PasswordHasher:
    """Hashes and verifies off the event loop.

    `threads` hash at once, each with 19 MiB; up to `waiting` more wait, in turns by place and user. One more is
    refused, or replaces the newest job of a longer lane, which is then refused (see `FairQueue`).
    """

    def __init__(self, *, threads: int = 2, waiting: int = 64, cost: HashCost = OWASP_COST) -> None:
        self._cost = cost
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="argon2")
        self._idle = threads
        self._waiting = FairQueue[_Job](waiting)
        self._nobody = _hash(os.urandom(16).hex(), cost)

    async def hash(self, secret: str, lane: SenderLane) -> str:
        """Hash a password to a PHC string.

        Raises:
            Overloaded: too many wait already.
        """
        return await self._run(lambda: _hash(secret, self._cost), lane)

    async def verify(self, secret: str, phc: str | None, lane: SenderLane) -> bool:
        """Return whether the password matches the hash; without a hash, return False after the same time.

        Raises:
            Overloaded: too many wait already.
        """
        matches = await self._run(lambda: _verify(secret, phc or self._nobody), lane)
        return matches and phc is not None

    async def _run(self, work: Callable[[], T], lane: SenderLane) -> T:
        job = _Job(work, asyncio.get_running_loop().create_future())
        if self._idle:
            self._begin(job)
        else:
            evicted = self._waiting.add(lane, job)
            if evicted is not None and not evicted.result.done():
                evicted.result.set_exception(Overloaded(TOO_MANY))
        try:
            return await job.result
        finally:
            self._waiting.remove(lane, job)  # a client that disconnected gives up its turn

    def _begin(self, job: _Job) -> None:
        self._idle -= 1
        running = asyncio.get_running_loop().run_in_executor(self._executor, job.run)

        def done(_: object) -> None:
            self._idle += 1
            if job.result.done():  # cancelled
                running.exception()
            elif (error := running.exception()) is not None:
                job.result.set_exception(error)
            else:
                job.result.set_result(running.result())
            following = self._waiting.next()
            if following is not None:
                self._begin(following)

        running.add_done_callback(done)

    def close(self) -> None:
        """End the threads and refuse the waiting jobs."""
        while (job := self._waiting.next()) is not None:
            if not job.result.done():
                job.result.set_exception(Overloaded("The gateway is stopping; try again in a few seconds."))
        self._executor.shutdown()


def _hash(secret: str, cost: HashCost) -> str:
    kdf = Argon2id(
        salt=os.urandom(16), length=32, iterations=cost.iterations, lanes=cost.lanes, memory_cost=cost.memory_kib
    )
    return kdf.derive_phc_encoded(secret.encode())


def _verify(secret: str, phc: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(secret.encode(), phc)
    except InvalidKey:
        return False
    return True
