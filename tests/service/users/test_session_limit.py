"""The most sessions of a user: one more ends the oldest, with its streams."""

import asyncio
from typing import Any

from tests.support.gateway import Client
from tests.support.log_ons import works
from tests.support.operator import on_plan
from tests.support.workspaces import following


async def sessions_of(user: Client, **body: Any) -> list[dict[str, Any]]:
    return (await user.command("US_Sessions", **body)).ok().profile


async def test_the_201st_session_ends_the_oldest_and_its_streams(sanic_client: Client, unique: str):
    oldest = await on_plan(await sanic_client.register(unique), "enterprise")
    second = await sanic_client.log_on(unique)
    await oldest.agent(f"{unique}-agent")
    (await oldest.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    for _ in range(22):
        await asyncio.gather(*(sanic_client.log_on(unique) for _ in range(9)))
    assert len(await sessions_of(second, page={"limit": 200})) == 200
    async with following(oldest, f"{unique}-domain") as ending, following(second, f"{unique}-domain") as staying:
        newest = await sanic_client.log_on(unique)
        assert await ending.next() == {"end": "revoked"}
        assert [await works(client) for client in (oldest, second, newest)] == [False, True, True]
        assert len(await sessions_of(second, page={"limit": 200})) == 200
        (await newest.command("ZN_Post", target={"domain": f"{unique}-domain"}, content="still there")).ok()
        assert (await staying.next())["message"]["content"] == "still there"
