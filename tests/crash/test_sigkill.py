"""A crash: everything acknowledged is stored, once and in order."""

import asyncio
import random
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.gateway import REAL, running
from tests.support.load import crowd, verify_rows


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kills", "agents"), [(3, 20), pytest.param(40, 50, marks=pytest.mark.soak)])
async def test_crashes_under_load_lose_and_double_nothing_that_was_acknowledged(
    tmp_path: Path, kills: int, agents: int
):
    rng = random.Random(20_261)
    async with (
        running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
        crowd(gateway, agents, seed=20_262) as clients,
    ):
        for kill in range(kills):
            before = clients.acknowledged
            acting = asyncio.create_task(clients.act(lambda: True))
            await asyncio.sleep(rng.uniform(0.3, 1.2))
            while clients.acknowledged == before and not acting.done():  # also on a slow machine
                await asyncio.sleep(0.05)
            assert not acting.done()
            await gateway.kill()
            cut_off = await acting
            assert cut_off == 2 * agents
            assert clients.acknowledged > before
            # half of the time where it was, half of the time elsewhere
            port = urlsplit(gateway.base).port if kill % 2 else 0
            await gateway.start(port or 0)
            clients.meet(gateway)
            await clients.verify()
        await gateway.kill()
        stored = await verify_rows(gateway, clients)
        assert stored == clients.acknowledged
        print(f"{clients.acknowledged} messages acknowledged, {kills + 1} kills")  # noqa: T201


async def test_a_gateway_that_crashes_while_it_starts_starts_the_next_time(tmp_path: Path):
    rng = random.Random(7)
    async with running(tmp_path / "data", command=REAL) as gateway:
        async with gateway.client() as nobody:
            await nobody.register("lovelace")
        await gateway.kill()
        for _ in range(4):
            starting = asyncio.create_task(gateway.start())
            await asyncio.sleep(rng.uniform(0.05, 0.9))
            assert gateway.process is not None
            await gateway.kill()
            await asyncio.gather(starting, return_exceptions=True)
        await gateway.start()
        async with gateway.client() as nobody:
            await nobody.log_on("lovelace")
