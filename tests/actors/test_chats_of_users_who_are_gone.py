"""A request of a user who was destroyed while it was on its way ends no chat of others."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.agents.messages import SendChat, SetOnline
from actors.conversations.conversation import ChatSent
from actors.engines.turn import Turn
from actors.errors import InvalidCredential
from actors.ids import new_id
from actors.users.messages import CreateAgent
from tests.support.core import make_user, open_core


class Patient:
    """An engine that answers when it is told to."""

    name = "patient"

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = asyncio.Event()

    async def stream(self, turn: Turn) -> AsyncIterator[str]:
        self.asked.set()
        await self.may_answer.wait()
        yield f"Well, {turn.message}"


async def test_a_chat_of_a_user_who_is_gone_is_refused_and_those_of_others_go_on(tmp_path: Path):
    engine = Patient()
    async with open_core(tmp_path, engine=engine) as core:
        owner, other = await make_user(core), await make_user(core)
        agent = await core.directory.ask("user", owner.id, CreateAgent("scout", "d", None, "public"))
        await core.directory.ask("agent", agent.id, SetOnline(owner.id, True))
        chat = asyncio.create_task(core.directory.ask("agent", agent.id, SendChat(other.id, other.name, "yes")))
        await engine.asked.wait()
        gone = SendChat(new_id("usr"), "gone", "no")
        with pytest.raises(InvalidCredential):
            await core.directory.ask("agent", agent.id, gone)
        engine.may_answer.set()
        sent = await chat
        assert isinstance(sent, ChatSent)
        assert sent.reply.content == "Well, yes"
