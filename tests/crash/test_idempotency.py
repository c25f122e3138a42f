"""A crash under load with Idempotency-Keys: each command runs once, and every retry gets the first answer."""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.gateway import BUS, Client, running
from tests.support.load import UNKNOWN
from tests.support.stored import reading

DOMAIN = "observatory"
WORKERS = 12
MAX_API_KEYS = 100
PATIENCE_S = (0.002, 0.05, 5.0)
"""Seconds after which a client cuts the connection and tries again."""


@dataclass
class Worker:
    """Sends one command after another, each with its own key, until it has an answer."""

    client: Client
    rng: random.Random
    numbers: "itertools.count[int]"
    answers: dict[str, tuple[str, dict[str, Any], Any]] = field(default_factory=dict)
    """The request and the first answer of each key."""
    replays: int = 0
    stop: bool = False
    keys_left: int = MAX_API_KEYS // WORKERS
    """Number of API keys that it may still make, so that all workers together stay within their user's limit."""

    async def work(self) -> None:
        while not self.stop:
            number = next(self.numbers)
            path, body = self._something(number)
            await self._insist(f"key-{number}", path, body)

    def _something(self, number: int) -> tuple[str, dict[str, Any]]:
        match self.rng.randrange(5):
            case 0:
                return BUS, {"service": "AP_Create", "vx": {"name": f"agent-{number}", "description": "d"}}
            case 1:
                return BUS, {"service": "ZN_Post", "target": {"domain": DOMAIN}, "content": f"post {number}"}
            case 2:
                return BUS, {"service": "ZN_Create", "target": {"domain": DOMAIN}, "vx": {"name": f"zone-{number}"}}
            case 3 if self.keys_left:
                self.keys_left -= 1
                return "/api/api-keys", {"name": f"job {number}"}
            case _:
                return BUS, {"service": "AP_Chat", "content": f"chat {number}"}

    async def _insist(self, key: str, path: str, body: dict[str, Any]) -> None:
        """Send a command until it is answered, and sometimes again: the answer must be the same."""
        again = self.rng.random() < 0.3
        while not self.stop:
            try:
                answer = await self._send(key, path, body, self.rng.choice(PATIENCE_S))
            except UNKNOWN:
                await asyncio.sleep(0.01)
                continue
            if key in self.answers:
                assert answer == self.answers[key][2]
                self.replays += 1
                return
            self.answers[key] = path, body, answer
            if not again:
                return

    async def _send(self, key: str, path: str, body: dict[str, Any], patience_s: float) -> Any:
        timeout = aiohttp.ClientTimeout(total=patience_s)
        headers = self.client.headers({"Idempotency-Key": key})
        async with self.client.http.post(self.client.base + path, json=body, headers=headers, timeout=timeout) as sent:
            answer = await sent.json()
        assert sent.status in (200, 201), answer
        return answer

    async def verify(self) -> None:
        """Every key still gets its first answer."""
        for key, (path, body, answer) in self.answers.items():
            assert await self._send(key, path, body, 30) == answer


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.soak)])
async def test_retries_through_crashes_make_each_entity_once(tmp_path: Path, kills: int):
    rng = random.Random(20_264)
    numbers = itertools.count()
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        owner = await nobody.register("lovelace")
        await owner.agent("host-agent")
        (await owner.command("DM_Create", vx={"name": DOMAIN, "description": "d"})).ok()
        workers = [Worker(owner, random.Random(rng.random()), numbers) for _ in range(WORKERS)]
        tasks = [asyncio.create_task(worker.work()) for worker in workers]
        for kill in range(kills):
            await asyncio.sleep(rng.uniform(0.3, 0.8))
            while sum(len(worker.answers) for worker in workers) <= 20 * (kill + 1):  # on a busy machine
                await asyncio.sleep(0.01)
            await gateway.kill()
            await gateway.start()
            owner.base = gateway.base
        for worker in workers:
            worker.stop = True
        await asyncio.gather(*tasks)
        for worker in workers:
            await worker.verify()
        answers = [answer for worker in workers for answer in worker.answers.values()]
        assert len(answers) > 20 * kills
        replays = sum(worker.replays for worker in workers)
        print(f"{len(answers)} commands answered, {replays} repeated at once, {kills} kills")  # noqa: T201
    await once(tmp_path / "data", [(path, body) for path, body, _ in answers])


class Librarian(Worker):
    """Loads memories in a bank and sometimes deletes all of them, until each command has its answer."""

    async def work(self) -> None:
        while not self.stop:
            number = next(self.numbers)
            body: dict[str, Any] = {"service": "MB_Delete", "target": {"bank": "notes"}, "vx": {"name": "*"}}
            if self.rng.random() < 0.8:
                body |= {"service": "MB_Load", "vx": {"name": f"memory {number}"}, "content": "text"}
            key = f"key-{number}"
            while key not in self.answers:
                try:
                    self.answers[key] = BUS, body, await self._send(key, BUS, body, self.rng.choice(PATIENCE_S))
                except UNKNOWN:
                    await asyncio.sleep(0.01)

    def deleted(self) -> int:
        """Return the sum of its deletions' answers."""
        deletions = [answer for _, body, answer in self.answers.values() if body["service"] == "MB_Delete"]
        return sum(answer["content"][0]["memories"] for answer in deletions)

    def loaded(self) -> int:
        """Return the number of its loads."""
        return sum(body["service"] == "MB_Load" for _, body, _ in self.answers.values())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.soak)])
async def test_deletions_retried_through_crashes_tell_the_numbers_that_went(tmp_path: Path, kills: int):
    rng = random.Random(20_265)
    numbers = itertools.count()
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        owner = await nobody.register("lovelace")
        await owner.agent("host-agent")
        (await owner.command("MB_Create", vx={"name": "notes"})).ok()
        workers = [Librarian(owner, random.Random(rng.random()), numbers) for _ in range(WORKERS)]
        tasks = [asyncio.create_task(worker.work()) for worker in workers]
        for _ in range(kills):
            await asyncio.sleep(rng.uniform(0.3, 0.8))
            while not any(worker.deleted() for worker in workers):  # on a busy machine
                await asyncio.sleep(0.01)
            await gateway.kill()
            await gateway.start()
            owner.base = gateway.base
        for worker in workers:
            worker.stop = True
        await asyncio.gather(*tasks)
        (bank,) = (await owner.command("MB_Read", target={"bank": "notes"})).ok().profile
        loaded, deleted = (sum(numbers) for numbers in zip(*((w.loaded(), w.deleted()) for w in workers), strict=True))
        assert deleted > 0
        assert deleted + bank["memories"] == loaded
        for worker in workers:
            await worker.verify()
        print(f"{loaded} loaded, {deleted} deleted, {kills} kills")  # noqa: T201


async def once(data: Path, acknowledged: list[tuple[str, dict[str, Any]]]) -> None:
    """Assert that the database holds everything acknowledged, and nothing twice."""
    async with reading(data) as fetch:

        async def column(sql: str) -> Counter[str]:
            return Counter([value for (value,) in await fetch(sql)])

        stored = {
            "AP_Create": await column("SELECT name FROM agents"),
            "ZN_Create": await column("SELECT name FROM zones"),
            "ZN_Post": await column("SELECT content FROM zone_messages WHERE role = 'user'"),
            "AP_Chat": await column("SELECT content FROM messages WHERE role = 'user'"),
            "key": await column("SELECT name FROM credentials WHERE kind = 'key'"),
        }
    for kind, found in stored.items():
        assert not [value for value, count in found.items() if count > 1], kind
    for _, body in acknowledged:
        value = body.get("content") or body.get("vx", body)["name"]
        assert stored[body.get("service", "key")][value] == 1
