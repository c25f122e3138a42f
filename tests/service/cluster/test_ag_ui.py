"""AG-UI on three nodes: home, entry and the agent's node may all differ."""

import pytest

from tests.support.ag_ui import history, reply_of, run, run_input, said, texts, user_says
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
