"""Streams of the client over a gateway that dies and comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from parley_client import AsyncParley, ChatDelta, ChatDone, GatewayError, NoConnection
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess
from tests.support.provider import Answer, chunk, providing, refuses, says, sends, stalls


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


@asynccontextmanager
async def modelled(tmp_path: Path, *answers: Answer) -> AsyncIterator[GatewayProcess]:
    """A gateway whose model server has these answers, one after another, to "How many?"."""
    async with providing() as provider:
        provider.on("How many?", *answers)
        gateway = GatewayProcess(
            tmp_path / "data",
            PARLEY_CHAT_ENGINE="openai",
            PARLEY_OPENAI_BASE_URL=provider.base_url,
            PARLEY_OPENAI_MODEL="m",
        )
        await gateway.start()
        try:
            yield gateway
        finally:
            assert await gateway.stop() == 0


@pytest.mark.parametrize("domain", ["observatory", None])
@pytest.mark.parametrize(
    ("second", "is_another"), [(("On", "e moon."), False), (("Two ", "moons."), True), (("One", "-ish."), True)]
)
async def test_a_reply_that_died_with_its_gateway_is_not_shown_twice(
    tmp_path: Path, second: tuple[str, ...], is_another: bool, domain: str | None
) -> None:
    async with (
        modelled(tmp_path, stalls(chunk(content="One ")), says(*second)) as gateway,
        client_of(gateway) as client,
    ):
        shown: list[str] = []
        whole = ""
        async for made in client.agents.stream_chat("How many?", agent="scout", domain=domain):
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
        messages = client.agents.history("scout") if domain is None else client.zones.read(domain=domain)
        said = [(message.role, message.content) async for message in messages]
    assert "".join(shown) == ("One " if is_another else "") + "".join(second)
    assert said == [("user", "How many?"), ("agent", "".join(second))]


async def test_a_stream_that_gave_up_on_a_cut_off_chat_goes_on_with_its_message_when_it_is_iterated_again(
    tmp_path: Path,
) -> None:
    async with (
        modelled(tmp_path, stalls(chunk(content="One ")), says("Two.")) as gateway,
        client_of(gateway) as client,
        AsyncParley(gateway.base, tries=1) as once,
    ):
        await once.log_on("lovelace", PASSWORD)
        stream = once.agents.stream_chat("How many?", agent="scout")
        shown = aiter(stream)
        await anext(shown)
        await gateway.kill()
        with pytest.raises(NoConnection):
            await anext(shown)
        await gateway.start(port_of(gateway))
        with pytest.raises(GatewayError, match="cut off"):
            [_ async for _ in stream]
        first, last = [made async for made in stream]
        said = [(message.role, message.content) async for message in client.agents.history("scout")]
    assert isinstance(first, ChatDelta)
    assert (first.text, first.anew) == ("Two.", True)
    assert isinstance(last, ChatDone)
    assert said == [("user", "How many?"), ("agent", "Two.")]


async def test_a_message_that_is_kept_has_its_run_also_where_nothing_was_streamed(tmp_path: Path) -> None:
    async with modelled(tmp_path, refuses(400), says("Two.")) as gateway, client_of(gateway) as client:
        stream = client.agents.stream_chat("How many?", agent="scout")
        with pytest.raises(GatewayError, match="5001"):
            await anext(aiter(stream))
        assert stream.run is not None
        assert (await client.runs.read(stream.run)).state == "failed"
        assert [made.text async for made in stream if isinstance(made, ChatDelta)] == ["Two."]
        assert [message.content async for message in client.agents.history("scout")] == ["How many?", "Two."]


async def test_an_error_after_a_part_of_a_reply_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    async with modelled(tmp_path, sends(chunk(content="One "))) as gateway:
        parley = CommandLine(tmp_path, gateway.base)
        async with client_of(gateway):
            assert (await parley("login", "lovelace")).status == 0
            chat = await parley("chat", "scout", "How many?")
    assert (chat.status, chat.out) == (15, "One \n")
    said, advice = chat.err.splitlines()
    assert said.startswith("5001: ")
    assert advice.endswith("it stands there twice.")


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
