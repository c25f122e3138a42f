"""The numbers of erased conversations that an agent's actor remembers: of what was read before, nothing counts."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from actors.agents.conversations_in_use import ConversationLoaded, ConversationsInUse
from actors.agents.messages import SendChat
from actors.conversations.conversation import Conversation
from actors.engines.answering import EngineRunner
from actors.engines.recall import RecallEngine
from actors.ids import system_clock
from actors.runtime.future import AsyncFuture
from persistence.agents import AgentRow

NUMBER = 7
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
READ_BEFORE = ConversationLoaded(Conversation("usr_1", "agt_1", NUMBER), (NUMBER, 2))


def in_use() -> tuple[ConversationsInUse, EngineRunner]:
    engine = EngineRunner(RecallEngine(), "agent agt_1")
    return ConversationsInUse(cast(Any, SimpleNamespace(key="agt_1")), engine, system_clock), engine


def test_the_number_of_an_erased_conversation_is_forgotten_once_its_unit_is_settled():
    conversations, _ = in_use()
    first, second = AsyncFuture[None](), AsyncFuture[None]()
    conversations.erase(NUMBER, NUMBER, first)
    conversations.erase(NUMBER + 1, NUMBER + 1, second)
    first.set()
    assert conversations.still_stored(READ_BEFORE) is None
    second.set()
    assert conversations.still_stored(READ_BEFORE) == (NUMBER, 2)


async def test_it_is_remembered_while_a_conversation_is_loaded_that_may_have_been_read_before():
    conversations, engine = in_use()
    loading = conversations.of(AGENT, SendChat("usr_1", "ada", "hello"))
    ended = AsyncFuture[None]()
    conversations.erase(NUMBER, NUMBER, ended)
    ended.set()
    assert conversations.still_stored(READ_BEFORE) is None
    loading.loaded = True
    again = AsyncFuture[None]()
    conversations.erase(NUMBER + 1, NUMBER + 1, again)
    again.set()
    assert conversations.still_stored(READ_BEFORE) == (NUMBER, 2)
    engine.stop()
    await asyncio.sleep(0)
