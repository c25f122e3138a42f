"""GET /api/webhooks/stream: own events, signed like their deliveries (docs/contract.md, "The stream of events")."""

import asyncio
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.support.event_stream import STREAM, emitted, own_events
from tests.support.gateway import PASSWORD, Client, GatewayProcess, running
from tests.support.operator import on_plan, set_plan
from tests.support.receiver import receiving
from tests.support.stored import erased


@pytest.fixture
async def user(sanic_client: Client, unique: str) -> Client:
    return await sanic_client.register(f"{unique}-user")


async def used(user: Client) -> int:
    return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]


async def test_a_stream_has_own_events_from_its_beginning_on_signed_as_deliveries_are(
    user: Client, sanic_client: Client, unique: str
):
    stranger = await sanic_client.register(f"{unique}-stranger")
    await emitted(user, 0)
    async with own_events(user) as stream:
        await emitted(stranger, 1)
        id = await emitted(user, 2, grüße="äöü\n")
        event = await stream.next()
        assert (event["id"], event["type"]) == (id, "webhook.test")
        assert event["data"] == {"number": 2, "grüße": "äöü\n"}
        agent = await user.agent(f"{unique}-agent")
        event = await stream.next()
        assert event["type"] == "agent.deployment.created"
        assert event["data"]["deployment_id"] == agent["id"]
        assert stream.response.headers["Cache-Control"] == "no-store"


async def test_the_body_is_the_one_that_a_receiver_gets(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_WEBHOOKS_ALLOW_INSECURE="true") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        async with receiving() as receiver, own_events(user, events="webhook.test") as stream:
            await user.request(
                "POST", "/api/webhooks/endpoints", json={"url": receiver.url, "events": ["webhook.test"]}
            )
            await emitted(user, 1, text="é" * 5_000)
            event = await stream.next()
            (received,) = await receiver.got(1)
            assert received.event == event


async def test_a_filter_takes_types_and_groups(user: Client):
    async with own_events(user, events="quota.*,billing.plan.changed") as some, own_events(user, events="") as every:
        kinds = ["webhook.test", "quota.threshold.reached", "agent.deployment.created", "billing.plan.changed"]
        for number, kind in enumerate(kinds):
            await emitted(user, number, kind)
        assert await every.types(4) == kinds
        assert await some.types(2) == ["quota.threshold.reached", "billing.plan.changed"]


@pytest.mark.parametrize("wrong", ["nothing", "webhook.test,", "*", "quota", "webhook.test, quota.*", "Quota.*"])
async def test_another_filter_is_refused(user: Client, wrong: str):
    answer = await user.request("GET", f"{STREAM}?events={wrong}")
    assert "events" in answer.refused(1003, 400).note


async def test_an_unknown_parameter_and_a_wrong_id_are_refused(user: Client, sanic_client: Client):
    (await user.request("GET", f"{STREAM}?event=webhook.test")).refused(1003, 400)
    for wrong in ("x", "1", "1.2.3", "-1.0", "1.x", "9" * 30 + ".1"):
        (await user.request("GET", STREAM, headers={"Last-Event-ID": wrong})).refused(1003, 400)
    (await sanic_client.request("GET", STREAM)).refused(2000, 401)


async def test_who_comes_back_misses_nothing_and_has_nothing_twice(user: Client):
    count = 60
    seen: list[int] = []
    async with own_events(user) as stream:
        last_id, secret = stream.last_id, stream.secret

    async def speak() -> None:
        for number in range(count):
            await emitted(user, number, text="x" * 6_000 if number % 7 == 0 else "")

    speaking = asyncio.create_task(speak())
    while len(seen) < count:
        async with own_events(user, last_id) as stream:
            assert stream.secret == secret
            seen += await stream.numbers(min(13, count - len(seen)))
            last_id = stream.last_id
    await speaking
    assert seen == list(range(count))


async def test_a_stream_counts_one_request_and_none_when_it_is_taken_up_again(user: Client):
    await emitted(user, 0)
    before = await used(user)
    async with own_events(user) as stream:
        last_id = stream.last_id
    for _ in range(3):
        async with own_events(user, last_id):
            pass
    assert await used(user) == before + 2, "the stream and this US_Read"


async def test_an_id_that_no_stream_has_had_to_give_is_counted_and_needs_quota(user: Client):
    before = await used(user)
    async with own_events(user, "0.0"):
        pass
    (await user.request("GET", STREAM, headers={"Last-Event-ID": "1"})).refused(1003, 400)
    assert await used(user) == before + 3, "both, and this US_Read"
    assert (await set_plan(user, user.name, "enterprise", limit=before + 3)).http == 200
    for id in ("0.0", "000.0", "1", "junk"):
        (await user.request("GET", STREAM, headers={"Last-Event-ID": id})).refused(4000, 429)


async def test_more_events_than_one_read_returns_come_in_order(user: Client):
    async with own_events(user, events="webhook.test") as stream:
        last_id = stream.last_id
    for number in range(70):
        await emitted(user, number, "quota.threshold.reached")
    for number in range(5):
        await emitted(user, number, text="long" * 30_000)
    async with own_events(user, last_id, events="webhook.test") as stream:
        assert await stream.numbers(5) == list(range(5))
    async with own_events(user, last_id) as stream:
        assert await stream.numbers(75) == [*range(70), *range(5)]


async def test_a_stream_ends_with_its_credential(user: Client, sanic_client: Client):
    other, leaving = await sanic_client.log_on(user.name), await sanic_client.log_on(user.name)
    async with own_events(other) as revoked, own_events(leaving) as left, own_events(user) as mine:
        assert len({revoked.secret, left.secret, mine.secret}) == 3
        (await leaving.command("US_LogOff")).ok()
        assert await left.end() == "logged off"
        (await user.command("US_Revoke", vx={"name": "all"})).ok()
        assert await revoked.end() == "revoked"
        await emitted(user, 1)
        assert await mine.numbers(1) == [1]
        (await user.command("US_Destroy", vx={"secret": PASSWORD})).ok()
        assert await mine.end()


async def test_a_key_s_stream_outlives_the_sessions_and_ends_with_the_key(user: Client):
    await on_plan(user, "builder")
    made = (await user.request("POST", "/api/api-keys", json={"name": "a key"})).body
    async with own_events(user.as_user(made["key"], user.name)) as stream:
        (await user.command("US_Revoke", vx={"name": "all"})).ok()
        await emitted(user, 1)
        assert await stream.numbers(1) == [1]
        assert (await user.request("DELETE", f"/api/api-keys/{made['id']}")).http == 204
        assert await stream.end() == "revoked"


async def test_a_stream_ends_when_the_gateway_stops_and_goes_on_after_its_start(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        async with own_events(user) as stream:
            await emitted(user, 1)
            assert await stream.numbers(1) == [1]
            secret = stream.secret
            stopping = asyncio.create_task(gateway.stop())
            assert await stream.end() == "gateway stops"
            await stopping
        await gateway.start()
        user.base = gateway.base
        await emitted(user, 2)
        await gateway.kill()
        await gateway.start()
        user.base = gateway.base
        async with own_events(user, stream.last_id) as again:
            assert again.secret == secret
            await emitted(user, 3)
            assert await again.numbers(2) == [2, 3]


async def test_an_open_stream_keeps_its_session(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SESSION_TTL_S="4") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        async with own_events(user) as stream:
            await asyncio.sleep(5)
            await emitted(user, 1)
            assert await stream.numbers(1) == [1]


async def test_what_was_deleted_for_good_leaves_no_url(user: Client, sanic_server: GatewayProcess, unique: str):
    path, word, key = "/api/webhooks/endpoints", f"quartz{unique}", {"Idempotency-Key": "made"}
    body = {"url": f"https://example.com/{word}", "description": f"for {word}"}
    made = (await user.request("POST", path, json=body, headers=key)).body
    kept = (await user.request("POST", path, json={"url": "https://example.com/kept"})).body
    change = {"url": f"https://example.com/{word}/2", "active": False}
    assert (await user.request("PATCH", f"{path}/{made['id']}", json=change)).http == 200
    assert (await user.request("DELETE", f"{path}/{made['id']}?hard=true")).http == 204
    async with own_events(user, events="webhook.endpoint.*", last_id="0.0") as stream:
        told = [await stream.next() for _ in range(4)]
    seen = [(event["type"].split(".")[-1], event["data"]["url"], event["data"]["active"]) for event in told]
    assert seen == [
        ("created", None, True),
        ("created", kept["url"], True),
        ("updated", None, False),
        ("deleted", None, False),
    ]
    schemas = {
        kind["type"]: kind["schema"] for kind in (await user.request("GET", "/api/webhooks/events")).body["events"]
    }
    for event in told:
        Draft202012Validator(schemas[event["type"]]).validate(event["data"])
    repeat = await user.request("POST", path, json=body, headers=key)
    assert (repeat.http, repeat.body, repeat.headers["Idempotency-Replayed"]) == (200, {}, "true")
    await erased(sanic_server.data, word, within_s=60)
