"""A request of a user who was destroyed while it was on its way ends no chat of others."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.agents.messages import AgentView, ReadAgent, SendChat, SetOnline
from actors.conversations.conversation import ChatSent
from actors.conversations.place import Beginning, ChatPlace, Earlier
from actors.core import Core
from actors.engines.turn import Turn
from actors.errors import InvalidCredential
from actors.ids import new_id, new_number
from actors.users.messages import CreateAgent, DestroyUser, ReadUser
from persistence.users import UserRow
from tests.support.core import make_user, open_core


class Patient:
    """An engine that answers when it is told to, those who say "quick" at once."""

    name = "patient"

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = asyncio.Event()
        self.stopped: list[str] = []

    async def stream(self, turn: Turn) -> AsyncIterator[str]:
        if turn.message != "quick":
            self.asked.set()
            try:
                await self.may_answer.wait()
            except asyncio.CancelledError:
                self.stopped.append(turn.message)
                raise
        yield f"Well, {turn.message}"


async def online_agent(core: Core, owner: UserRow) -> str:
    agent = await core.directory.ask("user", owner.id, CreateAgent("scout", "d", None, "public"))
    await core.directory.ask("agent", agent.id, SetOnline(owner.id, True))
    return agent.id


def saying(core: Core, agent_id: str, user: UserRow, text: str) -> asyncio.Task[Any]:
    return asyncio.create_task(core.directory.ask("agent", agent_id, SendChat(user.id, user.name, text)))


async def answer_of(chat: asyncio.Task[Any]) -> str:
    sent = await chat
    assert isinstance(sent, ChatSent)
    return sent.reply.content


@pytest.mark.parametrize(
    "place",
    [None, ChatPlace(new_number(), begins=Beginning()), ChatPlace(1, begins=Beginning((Earlier("user", "hello"),)))],
)
async def test_a_chat_of_a_user_who_is_gone_is_refused_and_those_of_others_go_on(
    tmp_path: Path, place: ChatPlace | None
):
    engine = Patient()
    async with open_core(tmp_path, engine=engine) as core:
        owner, other = await make_user(core), await make_user(core)
        agent = await online_agent(core, owner)
        chat = saying(core, agent, other, "yes")
        await engine.asked.wait()
        gone = SendChat(new_id("usr"), "gone", "quick", place=place)
        with pytest.raises(InvalidCredential):
            await core.directory.ask("agent", agent, gone)
        engine.may_answer.set()
        assert await answer_of(chat) == "Well, yes"


async def test_a_user_destroyed_while_a_reply_is_stored_ends_no_chat_of_others(tmp_path: Path):
    engine, disk, held = Patient(), threading.Event(), threading.Event()
    disk.set()

    def before_commit() -> None:
        if not disk.is_set():
            held.set()
            disk.wait()

    async with open_core(tmp_path, engine=engine, before_commit=before_commit) as core:
        owner, other, leaving = await make_user(core), await make_user(core), await make_user(core)
        agent = await online_agent(core, owner)
        await saying(core, agent, leaving, "quick")
        chat = saying(core, agent, other, "yes")
        await engine.asked.wait()
        await core.directory.ask("agent", agent, ReadAgent(other.id))  # so that its message is stored
        await core.directory.ask("user", leaving.id, ReadUser())  # so that its actor is there
        disk.clear()
        end = asyncio.create_task(core.directory.ask("user", leaving.id, DestroyUser("hash", (agent,))))
        await asyncio.to_thread(held.wait)
        late = saying(core, agent, leaving, "quick")
        view = asyncio.create_task(core.directory.ask("agent", agent, ReadAgent(other.id)))
        await asyncio.sleep(0)
        disk.set()
        await end
        with pytest.raises(InvalidCredential):
            await late
        assert isinstance(await view, AgentView)
        engine.may_answer.set()
        assert await answer_of(chat) == "Well, yes"


async def test_the_engine_s_work_for_a_user_who_is_destroyed_is_stopped_and_that_for_others_goes_on(tmp_path: Path):
    engine = Patient()
    async with open_core(tmp_path, engine=engine) as core:
        owner, other, leaving = await make_user(core), await make_user(core), await make_user(core)
        agent = await online_agent(core, owner)
        chat = saying(core, agent, other, "yes")
        await engine.asked.wait()
        engine.asked.clear()
        late = saying(core, agent, leaving, "no")
        await engine.asked.wait()
        await core.directory.ask("user", leaving.id, DestroyUser("hash", (agent,)))
        with pytest.raises(InvalidCredential):
            await late
        engine.may_answer.set()
        assert await answer_of(chat) == "Well, yes"
        assert engine.stopped == ["no"]
