"""What is remembered of a user's ended runs, whatever other users of the agent do meanwhile."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.agents.messages import HearRun, RunHeard, SetOnline
from actors.agents.remembered import MOST, MOST_OF_USER, Remembered
from actors.calls.call import Call
from actors.commands.talk import Saying, Talked, key_digest, talk
from actors.conversations.ids import message_of
from actors.conversations.place import RunKey
from actors.core import Core
from actors.engines.options import Usage
from actors.engines.turn import Piece, Turn
from actors.errors import EngineFailed
from actors.sessions.messages import Caller
from actors.users.messages import CreateAgent
from persistence.users import UserRow
from tests.support.core import make_user, open_core


class Counting:
    """An engine that counts tokens, and fails on "fail"."""

    name = "counting"

    async def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        yield "One"
        if turn.message == "fail":
            raise EngineFailed("The model broke off.")
        yield Usage(7, 1)


async def say(core: Core, agent_id: str, user: UserRow, text: str, key: RunKey | None = None) -> Talked:
    call = Call(core, "request", address="")
    call.sent_by(Caller("ses_1", user.id, user.name))
    return await talk(call, agent_id, Saying(text, key=key, once=key is not None))


async def test_a_user_s_ended_runs_are_remembered_though_others_have_many(tmp_path: Path):
    async with open_core(tmp_path, engine=Counting()) as core:
        owner, other = await make_user(core), await make_user(core)
        agent = (await core.directory.ask("user", owner.id, CreateAgent("scout", "d", None, "public"))).id
        await core.directory.ask("agent", agent, SetOnline(owner.id, True))

        async def use_all(user: UserRow, key: RunKey) -> tuple[str, str, str]:
            """Return the run of an answer, of a failure, and of an answer that is not stored."""
            answered = await say(core, agent, user, "answer")
            with pytest.raises(EngineFailed) as failed:
                await say(core, agent, user, "fail")
            return answered.run, failed.value.run or "", (await say(core, agent, user, "answer", key)).run

        async def heard(run: str) -> RunHeard:
            return await core.directory.ask("agent", agent, HearRun(owner.id, message_of(run) or "", 0, 0))

        key = RunKey(key_digest("usr", "key"), "print")
        answered, failed, unstored = await use_all(owner, key)
        for number in range(MOST_OF_USER + 1):
            await use_all(other, RunKey(key_digest("other", str(number)), "print"))
        outcome = (await heard(answered)).outcome
        assert outcome is not None
        assert outcome.usage == Usage(7, 1)
        assert (await heard(failed)).text == "One"
        assert (await say(core, agent, owner, "answer", key)).run == unstored


def test_each_user_s_newest_things_are_remembered_for_some_time():
    now = 0.0
    remembered = Remembered[int](lambda: now, 10)
    for number in range(MOST_OF_USER + 1):
        remembered.add("ada", str(number), number)
    assert [remembered.get("ada", str(number)) for number in (0, 1, MOST_OF_USER)] == [None, 1, MOST_OF_USER]
    assert remembered.get("eve", "1") is None
    now = 10
    assert remembered.get("ada", "1") == 1
    now = 10.5
    assert remembered.get("ada", "1") is None


def test_there_is_room_for_some_things_of_many_users():
    remembered = Remembered[int](lambda: 0, 10)
    for number in range(MOST + 1):
        remembered.add(str(number), "run", number)
        remembered.forget(str(number), "another")
    assert [remembered.get(str(number), "run") for number in (0, 1, MOST)] == [None, 1, MOST]
    remembered.forget("1", "run")
    remembered.add("0", "run", 0)
    assert [remembered.get(str(number), "run") for number in (0, 1, 2)] == [0, None, 2]
