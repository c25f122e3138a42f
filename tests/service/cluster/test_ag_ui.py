"""AG-UI on three nodes: home, entry and the agent's node may all differ."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from actors.core import CoreOptions
from tests.support.ag_ui import history, reply_of, run, run_input, said, texts, types_of, user_says
from tests.support.loopback_post import Network
from tests.support.nodes import running
from tests.support.roaming import Entries

ENTRIES = range(3)


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_thread_goes_on_through_each_node(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    agent = f"{unique}-agent"
    await owner.through[0].agent(agent, access="public")
    for user in (owner, guest):
        messages = [user_says("First")]
        first = await run(user.through[entry], agent, run_input(*messages, thread="t"))
        messages += [reply_of(first), user_says("Second")]
        sent = run_input(*messages, thread="t")
        second = await run(user.through[(entry + 1) % 3], agent, sent)
        replayed = await run(user.through[(entry + 2) % 3], agent, sent)
        conversation = second.headers["X-Conversation-Id"]
        assert first.headers["X-Conversation-Id"] == conversation
        assert (reply_of(replayed), replayed.headers["X-Run-Id"]) == (reply_of(second), second.headers["X-Run-Id"])
        kept = await history(user.through[entry], conversation)
        assert texts(kept) == ["First", said(first), "Second", said(second)]
        anew = await run(user.through[entry], agent, run_input(*messages, thread="t"))
        fork = anew.headers["X-Conversation-Id"]
        assert fork != conversation
        on = await run(user.through[(entry + 1) % 3], agent, run_input(user_says("Third"), thread="t"))
        assert on.headers["X-Conversation-Id"] == fork
        assert len(await history(user.through[entry], conversation)) == 4


async def test_a_run_that_got_lost_is_sent_again_and_stored_once(tmp_path: Path):
    network = Network(11)
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(running(tmp_path, 2, http=True, options=options, network=network))
        entries = Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(2)])
        user = await entries.user_on(0, "lovelace")
        await user.through[0].agent("scout")
        network.failed = 0.4
        for number in range(20):
            answer = await run(user.through[1], "scout", run_input(user_says(f"message {number}"), thread="t"))
            assert answer.http == 200, answer.body
            assert types_of(answer)[-1] == "RUN_FINISHED"
        network.failed = 0.0
        last = await run(user.through[1], "scout", run_input(user_says("last"), thread="t"))
        kept = await history(user.through[0], last.headers["X-Conversation-Id"])
        assert texts(kept)[::2] == [*(f"message {number}" for number in range(20)), "last"]
