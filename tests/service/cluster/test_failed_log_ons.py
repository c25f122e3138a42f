"""The limit of a user's failed log-ons from all places together, over nodes."""

import asyncio
from pathlib import Path

import pytest

from actors.calls.call import Call
from actors.commands.passwords import verified
from actors.errors import TooManyAttempts, WrongPassword
from actors.users.attempts import FAILURES_OF_USER
from tests.support.gateway import PASSWORD
from tests.support.nodes import Nodes, running


async def log_on(nodes: Nodes, index: int, place: int, user: str, secret: str) -> None:
    call = Call(nodes[index].core, "request", f"10.0.{place // 256}.{place % 256}")
    await verified(call, user, secret)


@pytest.mark.parametrize("user", ["lovelace", "no-such-user"])
async def test_a_hundred_failures_on_several_nodes_lock_the_user_on_each(tmp_path: Path, user: str):
    async with running(tmp_path, 3, http=True) as nodes:
        async with nodes.client(0) as client:
            await client.register("lovelace")
        for place in range(FAILURES_OF_USER):
            with pytest.raises(WrongPassword):
                await log_on(nodes, place % 3, place, user, "a wrong one")
        await asyncio.sleep(0.1)  # the last failure is on its way
        for index in range(3):
            with pytest.raises(TooManyAttempts):
                await log_on(nodes, index, 1_000 + index, user, PASSWORD)
