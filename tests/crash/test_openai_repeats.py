"""A crash under the official client of OpenAI's API: its repeats lose no chat and double none."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import Client, GatewayProcess
from tests.support.openai_client import count_of, messages_of, openai_client

WORKERS = 6


async def again(gateway: GatewayProcess) -> GatewayProcess:
    """Start a killed gateway again, on its port."""
    port = int(gateway.base.rpartition(":")[2])
    return await gateway.start(port)


async def test_chats_are_stored_once_over_crashes(tmp_path: Path):
    gateway = await GatewayProcess(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise").start()
    rng, done, stop = random.Random(7), Counter[str](), asyncio.Event()
    acknowledged: dict[str, str] = {}

    async def work(client: AsyncOpenAI, worker: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            text = f"Worker {worker} says number {number}."
            said: Any = [{"role": "user", "content": text}]
            completion = await client.chat.completions.create(model="scout", messages=said)
            assert completion.metadata is not None
            acknowledged[text] = completion.metadata["conversation_id"]
            done[str(worker)] += 1

    try:
        async with gateway.client() as nobody:
            user = await nobody.register("crash-user")
            await user.agent("scout")
            async with openai_client(user, max_retries=40, timeout=20) as client:
                working = [asyncio.create_task(work(client, worker)) for worker in range(WORKERS)]
                for _ in range(3):
                    await asyncio.sleep(0.3 + rng.random())
                    await gateway.kill()
                    await again(gateway)
                stop.set()
                await asyncio.gather(*working)
            assert len(acknowledged) == sum(done.values()) >= WORKERS
            assert len(set(acknowledged.values())) == len(acknowledged)
            for text, conversation in acknowledged.items():
                messages = await messages_of(user, conversation)
                assert [role for role, _ in messages] == ["user", "agent"]
                assert messages[0] == ("user", text)
            assert await count_of(user, "scout") == 2 * len(acknowledged)
    finally:
        await gateway.stop()


async def test_a_run_that_a_crash_cut_off_is_taken_up_by_the_repeat(tmp_path: Path):
    gate = Gate(tmp_path / "gate")
    gateway = await GatewayProcess(tmp_path / "data", script=ENGINES / "scripted.py").start()
    try:
        async with gateway.client() as nobody:
            user: Client = await nobody.register("crash-user")
            await user.agent("scout")
            said: Any = [{"role": "user", "content": f"say:Hello wait:{gate} say:World"}]
            async with openai_client(user, max_retries=10) as client:
                answering = asyncio.create_task(client.chat.completions.create(model="scout", messages=said))
                await gate.reached()
                await gateway.kill()
                gate.open()
                await again(gateway)
                completion = await answering
            assert completion.choices[0].message.content == "HelloWorld"
            assert completion.metadata is not None
            assert len(await messages_of(user, completion.metadata["conversation_id"])) == 2
            assert await count_of(user, "scout") == 2
    finally:
        await gateway.stop()
