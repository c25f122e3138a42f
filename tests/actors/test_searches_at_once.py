"""The searches of one user hold up nobody else: only some of them run at a time."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from actors.commands import conversations
from actors.conversations.searching import AT_ONCE_OF_USER, search
from persistence.store import Store
from tests.support.gateway import Answer, Client


async def test_a_few_searches_of_a_user_run_at_a_time(
    sanic_client: Client, unique: str, monkeypatch: pytest.MonkeyPatch
):
    running, most = Counter[str](), Counter[str]()
    go_on = asyncio.Event()

    async def noted(store: Store, user_id: str, *args: Any, **more: Any) -> Any:
        running[user_id] += 1
        most[user_id] = max(most[user_id], running[user_id])
        try:
            if user_id == next(iter(most)):  # the first user's
                await go_on.wait()
            return await search(store, user_id, *args, **more)
        finally:
            running[user_id] -= 1

    async def find(user: Client) -> Answer:
        return (await user.command("CV_Search", content="moon")).ok()

    monkeypatch.setattr(conversations, "search", noted)
    first, second = await sanic_client.register(f"{unique}-1"), await sanic_client.register(f"{unique}-2")
    searches = [asyncio.create_task(find(first)) for _ in range(AT_ONCE_OF_USER + 3)]
    while max(running.values(), default=0) < AT_ONCE_OF_USER:
        await asyncio.sleep(0.001)
    await find(second)
    go_on.set()
    await asyncio.gather(*searches)
    assert sorted(most.values()) == [1, AT_ONCE_OF_USER]
    assert not +running
