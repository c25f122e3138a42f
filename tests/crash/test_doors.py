"""Kills under load in every door that joins repeats: no acknowledged message is lost, and none is doubled."""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.doors import DOORS, Door, Heard, Saying
from tests.support.gateway import Client, running
from tests.support.load import UNKNOWN
from tests.support.stored import reading

AGENT = "scout"
REPEATABLE = [door for door in DOORS if door.repeatable]


@dataclass
class Talker:
    """Says one thing after another in its door, each until it has an answer, and sometimes once more."""

    client: Client
    door: Door
    rng: random.Random
    numbers: "itertools.count[int]"
    heard: dict[str, Heard] = field(default_factory=dict)
    stop: bool = False

    async def work(self) -> None:
        while not self.stop:
            number = next(self.numbers)
            await self._insist(Saying(f"message {number}", id=f"id-{number}"))

    async def _insist(self, saying: Saying) -> None:
        for number in itertools.count():
            tried = Saying(saying.text, id=saying.id, again=number)
            try:
                heard = await asyncio.wait_for(self.door.say(self.client, AGENT, tried), self.rng.choice((0.02, 5.0)))
            except UNKNOWN:
                if self.stop:
                    return
                await asyncio.sleep(0.01)
                continue
            assert heard.http == 200, (self.door.name, heard)
            assert self.heard.setdefault(saying.text, heard) == heard, self.door.name
            if self.rng.random() < 0.7:
                return


def _answers_by_door(talkers: list[Talker]) -> dict[str, int]:
    answers = dict.fromkeys([door.name for door in REPEATABLE], 0)
    for talker in talkers:
        answers[talker.door.name] += len(talker.heard)
    return answers


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.soak)])
async def test_kills_lose_no_message_of_any_door_and_double_none(tmp_path: Path, kills: int):
    rng, numbers = random.Random(18), itertools.count()
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        await user.agent(AGENT)
        talkers = [Talker(user, door, random.Random(rng.random()), numbers) for door in REPEATABLE for _ in range(2)]
        tasks = [asyncio.create_task(talker.work()) for talker in talkers]
        for _ in range(kills):
            await asyncio.sleep(rng.uniform(0.4, 0.9))
            await gateway.kill()
            await gateway.start()
            user.base = gateway.base
        while min(_answers_by_door(talkers).values()) <= 2 * kills and not any(task.done() for task in tasks):
            await asyncio.sleep(0.1)
        for talker in talkers:
            talker.stop = True
        await asyncio.gather(*tasks)
    answered = {text: heard for talker in talkers for text, heard in talker.heard.items()}
    async with reading(tmp_path / "data") as fetch:
        said = Counter([text for (text,) in await fetch("SELECT content FROM messages WHERE role = 'user'")])
        replies = await fetch(
            "SELECT said.content, reply.content FROM messages AS said JOIN messages AS reply"
            " ON reply.conversation_id = said.conversation_id AND reply.seq = said.seq + 1 WHERE said.role = 'user'"
        )
    assert max(said.values()) == 1, said.most_common(3)
    assert answered.keys() <= said.keys()
    stored = dict(replies)
    assert all(stored[text] == heard.reply for text, heard in answered.items())
    print(f"{len(answered)} messages answered in {len(REPEATABLE)} doors, {kills} kills")  # noqa: T201
