"""PostgreSQL stays away: each request is told so, and the gateway serves again by itself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import MASTER_KEY, Client, running
from tests.support.load import OVERLOADED, STORAGE_UNAVAILABLE
from tests.support.postgres import SUPERUSER, Cluster
from tests.support.relay import SOCKET, linked
from tests.support.stores import postgres_only

pytestmark = postgres_only

DATABASE = "parley"
SERVES_AGAIN_S = 60
"""The longest time from the server's return to a stored change, in seconds, on a machine that is busy."""


@pytest.fixture
async def own() -> AsyncIterator[Cluster]:
    """A server that the test may stop."""
    cluster = await Cluster.start()
    yield cluster
    await asyncio.to_thread(cluster.stop)


async def settings(own: Cluster) -> dict[str, Any]:
    url = await own.database(DATABASE)
    return {"PARLEY_STORE_URL": url, "PARLEY_MASTER_KEY": MASTER_KEY, "PARLEY_DEFAULT_PLAN": "enterprise"}


async def serves(client: Client) -> None:
    """Wait until the gateway stores a change."""
    async with asyncio.timeout(SERVES_AGAIN_S):
        while (await client.command("US_Update", vx={"description": "again"})).code:
            await asyncio.sleep(0.05)


async def test_a_database_that_stays_away_is_told_and_the_gateway_serves_when_it_is_back(tmp_path: Path, own: Cluster):
    async with running(tmp_path / "data", **await settings(own)) as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        await user.agent("scout")
        (await user.command("AP_Chat", content="Before")).ok()
        await own.down("immediate")
        assert "not done" in (await user.command("AP_Chat", content="Lost")).refused(STORAGE_UNAVAILABLE, 503).note
        unread = await nobody.command("US_LogOn", target={"user": "lovelace"}, vx={"secret": "wrong words"})
        unread.refused(STORAGE_UNAVAILABLE, 503)
        health = await nobody.request("GET", "/api/health")
        assert (health.http, health.body["storage"]) == (503, "unavailable")
        await own.up()
        await serves(user)
        assert (await nobody.request("GET", "/api/health")).http == 200
        (await user.command("AP_Chat", content="After")).ok()
        history = (await user.command("AP_History")).ok().content
        assert [message["content"] for message in history if message["role"] == "user"] == ["Before", "After"]
        assert await gateway.stop() == 0
    log = gateway.log.read_text()
    assert "Traceback" not in log
    assert "connected to the database again" in log


async def test_a_database_that_hangs_is_told_and_the_gateway_serves_when_it_goes_on(tmp_path: Path, own: Cluster):
    parts = await settings(own)
    async with linked(own.folder / SOCKET) as link:
        parts["PARLEY_STORE_URL"] = f"postgresql://{SUPERUSER}@127.0.0.1:{link.port}/{DATABASE}"
        async with running(tmp_path / "data", **parts) as gateway, gateway.client() as nobody:
            user = await nobody.register("lovelace")
            await user.agent("scout")
            (await user.command("AP_Chat", content="Before")).ok()
            link.stall()
            chat = asyncio.create_task(user.command("AP_Chat", content="During"))
            health = await nobody.request("GET", "/api/health")
            assert (health.http, health.body["status"], health.headers["Retry-After"]) == (503, "unavailable", "1")
            assert "2 s" in health.body["note"]
            assert (await chat).code in {STORAGE_UNAVAILABLE, OVERLOADED}
            health = await nobody.request("GET", "/api/health")
            assert (health.http, health.body["note"]) == (503, "the database can't be reached")
            refused = await user.command("AP_Chat", content="Lost")
            refused.refused(STORAGE_UNAVAILABLE, 503)
            assert refused.headers["Retry-After"] == "1"
            link.mend()
            await serves(user)
            (await user.command("AP_Chat", content="After")).ok()
            history = (await user.command("AP_History")).ok().content
            asked = [message["content"] for message in history if message["role"] == "user"]
            assert asked in (["Before", "After"], ["Before", "During", "After"])


async def test_a_stop_while_the_database_is_away_ends_in_an_orderly_way(tmp_path: Path, own: Cluster):
    async with running(tmp_path / "data", **await settings(own)) as gateway:
        async with gateway.client() as nobody:
            await nobody.register("lovelace")
            await own.down("immediate")
        assert await gateway.stop() == 0
        assert "Traceback" not in gateway.log.read_text()
        await own.up()
        await gateway.start()
        async with gateway.client() as nobody:
            await nobody.log_on("lovelace")
