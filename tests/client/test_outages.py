"""Streams of the client over a gateway that dies and comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from parley_client import AsyncParley, ChatDone
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess
from tests.support.provider import chunk, providing, says, stalls


@asynccontextmanager
async def client_of(gateway: GatewayProcess) -> AsyncIterator[AsyncParley]:
    """A user with an agent in a domain."""
    async with AsyncParley(gateway.base, tries=30) as client:
        await client.users.create("lovelace", PASSWORD)
        await client.log_on("lovelace", PASSWORD)
        await client.agents.create("scout", "Finds things")
        await client.agents.log_on("scout")
        await client.agents.select("scout")
        await client.domains.create("observatory", "Looks up")
        yield client


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.base.rpartition(":")[2])


@pytest.mark.parametrize(
    ("second", "is_another"), [(("On", "e moon."), False), (("Two ", "moons."), True), (("One", "-ish."), True)]
)
async def test_a_reply_in_a_zone_that_died_with_its_gateway_is_not_shown_twice(
    tmp_path: Path, second: tuple[str, ...], is_another: bool
) -> None:
    async with providing() as provider:
        provider.on("How many?", stalls(chunk(content="One ")), says(*second))
        gateway = GatewayProcess(
            tmp_path / "data",
            PARLEY_CHAT_ENGINE="openai",
            PARLEY_OPENAI_BASE_URL=provider.base_url,
            PARLEY_OPENAI_MODEL="m",
        )
        await gateway.start()
        try:
            async with client_of(gateway) as client:
                shown: list[str] = []
                whole = ""
                async for made in client.agents.stream_chat("How many?", agent="scout", domain="observatory"):
                    if isinstance(made, ChatDone):
                        assert made.reply.content == whole == "".join(second)
                        continue
                    assert made.anew <= is_another
                    shown.append(made.text)
                    whole = made.text if made.anew else whole + made.text
                    if len(shown) == 1:
                        assert whole == "One "
                        await gateway.kill()
                        await gateway.start(port_of(gateway))
                said = [(message.role, message.content) async for message in client.zones.read(domain="observatory")]
        finally:
            assert await gateway.stop() == 0
    assert "".join(shown) == ("One " if is_another else "") + "".join(second)
    assert said == [("user", "How many?"), ("agent", "".join(second))]


@pytest.mark.soak
async def test_a_followed_zone_outlasts_a_long_outage_and_says_so(tmp_path: Path) -> None:
    gateway = await GatewayProcess(tmp_path / "data").start()
    parley = CommandLine(tmp_path, gateway.base)
    try:
        async with client_of(gateway) as client:
            assert (await parley("login", "lovelace")).status == 0
            async with parley.going("zones", "follow", "observatory", "--after", "0") as following:
                await client.zones.post("Before", domain="observatory")
                await following.printed("lovelace: Before")
                await gateway.kill()
                async with asyncio.timeout(60):
                    while len([line for line in following.err if "trying again in" in line]) < 6:
                        await asyncio.sleep(0.05)
                await gateway.start(port_of(gateway))
                await client.zones.post("After", domain="observatory")
                await following.printed("lovelace: After")
                assert following.out == ["lovelace: Before", "lovelace: After"]
    finally:
        assert await gateway.stop() == 0
