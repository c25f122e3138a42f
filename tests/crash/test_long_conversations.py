"""A crash between a message and its index: what was said long ago is still found."""

import asyncio
import random
from pathlib import Path

from tests.support.gateway import running
from tests.support.long_talk import FACT, QUESTION, QUOTE, reply_to, talk


async def test_what_an_agent_was_told_before_a_crash_is_found_after_it(tmp_path: Path):
    rng = random.Random(11)
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("ada")
        await user.agent("scout")
        (await user.command("DM_Create", vx={"name": "office", "description": "Parcels."})).ok()
        places = [{"agent": "scout"}, {"agent": "scout", "domain": "office"}]
        for place in places:
            await reply_to(user, FACT, **place)
        told = 0
        for _ in range(3):
            for place in places:
                await talk(user, 120, first=told, target=place)
            told += 120
            more = asyncio.create_task(talk(user, 1_000, first=10_000, target=rng.choice(places)))
            await asyncio.sleep(rng.uniform(0.05, 0.4))
            await gateway.kill()
            await asyncio.gather(more, return_exceptions=True)
            await gateway.start()
            user.base = gateway.base
            for place in places:
                assert await reply_to(user, QUESTION, **place) == QUOTE
                number = rng.randrange(told)
                wanted = f"You said: “Parcel p{number} went to town t{number}.”"
                assert await reply_to(user, f"Where did parcel p{number} go?", **place) == wanted
