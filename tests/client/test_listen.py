"""A followed stream of own events, and `parley webhooks listen`, which forwards them."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
import stripe
from aiohttp import web

from actors.webhooks.signing import Keys, Secret, Signer, body_of, new_secret
from parley_client import AsyncParley, SignedEvent, StreamSecret
from parley_client.cli.forwarding import Forwarder
from parley_client.webhooks import verify
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.flaky_proxy import flaky
from tests.support.gateway import GatewayProcess
from tests.support.receiver import Received, receiving, status

TEST = "webhook.test"


@pytest.fixture
async def user(gateway: GatewayProcess, unique: str) -> AsyncIterator[AsyncParley]:
    async with AsyncParley(gateway.base) as client:
        yield await registered(client, f"{unique}-user")


@pytest.fixture
async def parley(user: AsyncParley, gateway: GatewayProcess, tmp_path: Path, unique: str) -> CommandLine:
    """The command line of the same user."""
    command_line = CommandLine(tmp_path, gateway.base)
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


async def registered(client: AsyncParley, name: str) -> AsyncParley:
    await client.users.create(name, PASSWORD)
    await client.log_on(name, PASSWORD)
    return client


async def emitted(client: AsyncParley, numbers: range) -> None:
    for number in numbers:
        await client.webhooks.test(TEST, {"number": number, "text": "ä \u2028 {…}"})


def number(event: dict[str, Any]) -> int:
    return event["data"]["number"]


def verified(received: Received, secret: str) -> dict[str, Any]:
    """Verify a request as the receivers of docs/webhooks.md do."""
    signature = received.headers["X-Service-Signature"]
    stripe.WebhookSignature.verify_header(received.body.decode(), signature, secret, tolerance=300)
    assert standardwebhooks.Webhook(secret).verify(received.body, dict(received.headers)) == received.event
    return received.event


async def test_followed_events_have_no_gap_and_no_double_over_twenty_cuts(
    gateway: GatewayProcess, user: AsyncParley, unique: str
) -> None:
    async with flaky(gateway.base) as proxy, AsyncParley(proxy.base) as client:
        await client.log_on(f"{unique}-user", PASSWORD)
        stream = client.webhooks.stream(events=[TEST])
        losses: list[float] = []
        stream.on_loss = lambda _, wait: losses.append(wait)
        signed: list[SignedEvent] = []
        secrets: list[str] = []

        async def follow() -> None:
            async for item in stream:
                if isinstance(item, StreamSecret):
                    secrets.append(item.secret)
                else:
                    signed.append(item)

        following = asyncio.create_task(follow())
        async with asyncio.timeout(60):
            while stream.secret is None:
                await asyncio.sleep(0.01)
            for cut in range(20):
                proxy.cut()
                await emitted(user, range(2 * cut, 2 * cut + 2))
                await asyncio.sleep(0.05)
            while len(signed) < 40 and not following.done():
                await asyncio.sleep(0.01)
        following.cancel()
    (secret,) = secrets
    assert [number(verify(event.body, event.headers, secret)) for event in signed] == [*range(40)]
    assert secret not in repr(StreamSecret(secret, "0.0"))
    assert len(losses) >= 5


async def test_each_event_is_forwarded_as_a_delivery_has_it(parley: CommandLine, user: AsyncParley) -> None:
    async with receiving() as receiver, parley.going("webhooks", "listen", "--forward-to", receiver.url) as listening:
        secret = (await listening.said("  whsec_")).strip()
        await emitted(user, range(2))
        first, second = await receiver.got(2)
        assert [number(verified(got, secret)) for got in (first, second)] == [0, 1]
        assert first.headers["Content-Type"] == "application/json"
        assert first.headers["User-Agent"] == "Parley-Webhooks/1"
        assert first.headers["X-Service-Event"] == TEST
        await listening.lines(4)
        assert listening.out[0].endswith(f"  {TEST}  {first.event['id']}")
        assert listening.out[1].startswith("  -> 200 OK in ")
        receiver.answer = status(404)
        await emitted(user, range(2, 3))
        await listening.printed("  -> 404 Not Found in ")
    assert len(receiver.received) == 3  # a receiver that answers is not asked again


async def test_a_receiver_s_cookies_are_not_sent_back(parley: CommandLine, user: AsyncParley) -> None:
    async def with_a_cookie(_: Received) -> web.Response:
        return web.Response(headers={"Set-Cookie": "seen=1"})

    async with (
        receiving(with_a_cookie) as receiver,
        parley.going("webhooks", "listen", "--forward-to", receiver.url) as listening,
    ):
        await listening.said("  whsec_")
        await emitted(user, range(2))
        assert ["Cookie" in got.headers for got in await receiver.got(2)] == [False, False]


@pytest.mark.parametrize(("age_s", "is_anew"), [(0, False), (3_600, True)])
async def test_an_event_that_waited_for_long_is_forwarded_with_a_signature_of_now(age_s: int, is_anew: bool) -> None:
    secret, body, sent = new_secret(), body_of("evt_1", TEST, 0, '{"number":7}'), int(time.time() - age_s)
    headers = Signer("Service").headers([Keys.of(Secret(secret))], sent * 1000, "evt_1", TEST, "evt_1", body)
    async with receiving() as receiver:
        forwarder = Forwarder(receiver.url, lambda *_: None)
        forwarded = await asyncio.to_thread(forwarder.forward, SignedEvent("1.0", headers, body), secret)
        forwarder.close()
        (got,) = await receiver.got(1)
    assert (forwarded.status, number(verified(got, secret))) == (200, 7)
    assert (int(got.headers["webhook-timestamp"]) > sent) is is_anew
    assert got.headers["X-Service-Delivery"] == "evt_1"


async def test_ctrl_c_ends_with_130_and_says_where_to_go_on(parley: CommandLine, user: AsyncParley) -> None:
    await user.agents.create("sentry", "Watches")
    await user.domains.create("tower", "Is high", agent="sentry")
    async with (
        parley.going("webhooks", "listen", "--events", TEST) as listening,
        parley.going("zones", "follow", "tower", "--after", "0") as following,
    ):
        await listening.said("whsec_")
        await emitted(user, range(2))
        await listening.lines(2)
        await user.zones.post("All is well.", domain="tower")
        await following.printed("All is well.")
    for going in (listening, following):
        assert await going.end() == 130
        assert "Traceback" not in "\n".join(going.err)
    told = next(line for line in listening.err if line.startswith("Stopped; "))
    await emitted(user, range(2, 3))
    async with parley.going("webhooks", "listen", "--json", "--after", told.split("`")[1].split()[1]) as again:
        event = json.loads((await again.lines(2))[1])
    assert number(json.loads(event["body"])) == 2
    assert following.err[-1].startswith("Stopped; `--after ")


async def test_json_lines_hold_the_secret_and_each_event_with_its_exact_body(
    parley: CommandLine, user: AsyncParley
) -> None:
    async with (
        receiving() as receiver,
        parley.going(
            "webhooks", "listen", "--json", "--forward-to", receiver.url, "--events", "quota.*,webhook.test"
        ) as listening,
    ):
        await listening.lines(1)
        await user.agents.create("filtered-out", "Its event is of another type")
        await emitted(user, range(1))
        begun, event = map(json.loads, await listening.lines(2))
        (got,) = await receiver.got(1)
    assert begun.keys() == {"id", "secret"}
    assert event["body"].encode() == got.body
    assert event["headers"].items() <= dict(got.headers).items()
    assert number(verify(event["body"].encode(), event["headers"], begun["secret"])) == 0
    forwarded = event["forwarded"]
    assert forwarded == {"url": receiver.url, "status": 200, "ms": forwarded["ms"], "tries": 1, "error": None}
    again = await parley("webhooks", "listen", "--print-secret", "--json")
    assert again.records[0]["secret"] == begun["secret"]  # of the same session
    assert (await parley("webhooks", "listen", "--print-secret")).out == f"{begun['secret']}\n"


async def test_events_during_a_restart_of_the_gateway_come_once_after_it(tmp_path: Path) -> None:
    gateway = await GatewayProcess(tmp_path / "data").start()
    port = int(gateway.base.rpartition(":")[2])
    parley = CommandLine(tmp_path, gateway.base)
    assert (await parley("login", "listener", "--register")).status == 0
    try:
        async with (
            AsyncParley(gateway.base) as user,
            receiving() as receiver,
            parley.going("webhooks", "listen", "--events", TEST, "--forward-to", receiver.url) as listening,
        ):
            await user.log_on("listener", PASSWORD)
            await listening.said("whsec_")
            await emitted(user, range(2))
            await receiver.got(2)
            assert await gateway.stop() == 0
            await listening.said("; trying again in ")
            await gateway.start(port)
            await emitted(user, range(2, 4))
            await receiver.got(4)
            await gateway.kill()
            await gateway.start(port)
            await emitted(user, range(4, 6))
            assert [number(got.event) for got in await receiver.got(6)] == [*range(6)]
    finally:
        assert await gateway.stop() == 0


async def test_an_event_waits_for_a_receiver_that_comes_late(parley: CommandLine, user: AsyncParley) -> None:
    async with asyncio.timeout(60), receiving() as receiver:
        away = {"is": True}

        async def answer(received: Received) -> Any:
            if away["is"]:
                raise ConnectionAbortedError
            return await status(200)(received)

        receiver.answer = answer
        async with parley.going("webhooks", "listen", "--forward-to", receiver.url) as listening:
            await listening.said("whsec_")
            await emitted(user, range(1))
            assert "the event is tried again in 0.5 s" in await listening.said(f"{receiver.url} did not answer")
            away["is"] = False
            await listening.printed("  -> 200 OK in ")
        assert len({got.body for got in receiver.received}) == 1


async def test_an_event_that_reaches_nobody_is_not_lost(parley: CommandLine, user: AsyncParley, unused: int) -> None:
    url = f"127.0.0.1:{unused}/hook"
    async with parley.going("webhooks", "listen", "--forward-to", url) as listening:
        await listening.said("whsec_")
        await emitted(user, range(2))
        told = await listening.said("was not forwarded (tries: 5)")
        assert f"http://{url} can't be reached" in told
        await listening.said("was not forwarded (tries: 1)")  # nobody has come meanwhile
    after = told.partition("--after ")[2].partition("`")[0]
    async with (
        receiving() as receiver,
        parley.going("webhooks", "listen", "--after", after, "--forward-to", receiver.url),
    ):
        assert [number(got.event) for got in await receiver.got(2)] == [0, 1]


@pytest.fixture
def unused() -> int:
    """A port that nobody listens on."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


async def test_what_is_wrong_is_said_with_its_exit_status(
    parley: CommandLine, gateway: GatewayProcess, unused: int, tmp_path: Path
) -> None:
    listen = ("webhooks", "listen")
    unknown, place, nowhere, broken, elsewhere, nobody, gone = await asyncio.gather(
        parley(*listen, "--events", "no.such"),
        parley(*listen, "--after", "yesterday"),
        parley(*listen, "--forward-to", "ftp://127.0.0.1/hook"),
        parley(*listen, "--forward-to", "127.0.0.1:3000]["),
        parley("--url", "nonsense", *listen),
        parley(*listen, PARLEY_API_KEY="plk_wrong"),
        parley(*listen, PARLEY_URL=f"http://127.0.0.1:{unused}"),
    )
    assert [(ran.status, ran.out) for ran in (unknown, place, nobody, gone)] == [(11, ""), (11, ""), (12, ""), (3, "")]
    assert [(ran.status, ran.out) for ran in (nowhere, broken, elsewhere)] == 3 * [(2, "")]
    assert unknown.err.startswith("1003: ")
    assert nobody.err.startswith("2001: ")
    assert gone.err.splitlines()[-1].startswith("No connection: ")
    async with parley.going(*listen) as listening:
        await listening.said("whsec_")
        (kept,) = tmp_path.rglob("profiles.json")
        async with AsyncParley(gateway.base, json.loads(kept.read_text())["default"]["key"]) as session:
            await session.users.log_off()
        await listening.said("The stream has ended: logged off.")
        assert await listening.end() == 0


async def test_endpoints_and_deliveries_are_commands(parley: CommandLine, user: AsyncParley) -> None:
    async with receiving(status(500)) as receiver:
        (made,) = (await parley("webhooks", "endpoints", "create", receiver.url, "--events", TEST, "--json")).records
        assert made["secret"].startswith("whsec_")
        (sent,) = (await parley("webhooks", "test", "--data", '{"number": 1}', "--json")).records
        assert sent["deliveries"] == 1
        assert verified((await receiver.got(1))[0], made["secret"])["data"] == {"number": 1}
        receiver.answer = status(200)
        (delivery,) = (await parley("webhooks", "deliveries", "list", "--endpoint", made["id"], "--json")).records
        (again,) = (await parley("webhooks", "deliveries", "retry", delivery["id"], "--json")).records
        assert again["event_id"] == delivery["event_id"]
        await receiver.got(2)
        yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
        (recovered,) = (await parley("webhooks", "recover", made["id"], "--since", yesterday, "--json")).records
        assert recovered.keys() == {"deliveries"}
        (rotated,) = (await parley("webhooks", "endpoints", "rotate", made["id"], "--json")).records
        assert rotated["secret"] != made["secret"]
        changed, nothing, not_json = await asyncio.gather(
            parley("webhooks", "endpoints", "update", made["id"], "--events", "*", "--inactive", "--json"),
            parley("webhooks", "endpoints", "update", made["id"]),
            parley("webhooks", "test", "--data", "{"),
        )
        assert (changed.records[0]["events"], changed.records[0]["active"]) == ([], False)
        assert (nothing.status, not_json.status) == (2, 2)
        listed = await parley("webhooks", "endpoints", "list")
        assert receiver.url in listed.out
        assert (await parley("webhooks", "endpoints", "delete", made["id"])).status == 0
        gone = await parley("webhooks", "endpoints", "delete", made["id"], "--disable")
        assert (gone.status, gone.err.partition(":")[0]) == (13, "3000")
