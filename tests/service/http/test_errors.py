"""Every internal code that a request can cause, through HTTP (docs/contract.md, "Errors")."""

import asyncio
import io
import re
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from actors.errors import ServiceError
from actors.sessions.tokens import API_KEY, SANDBOX_KEY, SESSION_TOKEN, new_token
from tests.gateways.gate import ENGINES, Gate
from tests.support.clock import ClockFile
from tests.support.gateway import BUS, INTERNAL_SECRET, PASSWORD, Answer, Client, GatewayProcess, running
from tests.support.operator import SECRET, on_plan
from tests.support.wire import connected, raw_post, read_answer

LATER = {
    1501: "rules",
    4000: "quotas",
}
"""Codes that no request can cause yet, and the issue that will add them."""

FOLDED = {403: 400, 404: 400, 409: 400, 413: 400, 502: 500, 503: 500}
"""HTTP statuses of the command bus that differ from the precise code."""


def refused(answer: Answer, code: int, http_code: int) -> Answer:
    """Assert a refusal by the command bus with all parts of such an answer."""
    answer.refused(code, http_code)
    assert answer.http == FOLDED.get(http_code, http_code)
    assert answer.profile == answer.content == []
    assert ("WWW-Authenticate" in answer.headers) == (http_code == 401)
    assert ("Retry-After" in answer.headers) == (http_code in (429, 503))
    if http_code in (429, 503):
        assert int(answer.headers["Retry-After"]) >= 1
    return answer


def of_gateway_route(answer: Answer, code: int, http_code: int) -> Answer:
    """Assert a refusal by a gateway route: the precise status, and the status object alone."""
    answer.refused(code, http_code)
    assert answer.http == http_code
    assert answer.body.keys() == {"status"}
    assert ("WWW-Authenticate" in answer.headers) == (http_code == 401)
    assert answer.headers["X-Request-Id"]
    return answer


async def set_plan(client: Client, body: bytes, **headers: str) -> Answer:
    headers = {"Content-Type": "application/json", "X-Internal-Secret": INTERNAL_SECRET} | headers
    path = f"/api/admin/users/{client.name or 'nobody'}/plan"
    return await client.request("PUT", path, data=io.BytesIO(body), headers=headers)


# 1xxx: the request itself


async def test_1000_a_body_that_is_no_json_object(user: Client):
    refused(await user.request("POST", BUS, data=b"[]", headers={"Content-Type": "application/json"}), 1000, 400)
    of_gateway_route(await set_plan(user, b"[]"), 1000, 400)


async def test_1001_an_unknown_service(user: Client):
    refused(await user.command("AP_Fly"), 1001, 400)
    assert "the nearest is MB_Recall." in (await user.command("MB_Recal")).note
    for service in ("ap_Chat", "ap_chat", "AP_CHAT"):
        assert "the nearest is AP_Chat." in (await user.command(service)).note
    assert "nearest" not in (await user.command("x" * 100_000)).note


async def test_1002_a_missing_field(user: Client):
    refused(await user.command("AP_Create", vx={"name": "scout"}), 1002, 400)


async def test_1003_an_invalid_field(user: Client):
    refused(await user.command("AP_List", page={"limit": 0}), 1003, 400)
    note = of_gateway_route(await set_plan(user, b'{"plan": "gold"}'), 1003, 400).note
    assert "plan" in note


async def test_1004_a_body_too_large(user: Client):
    body = b'{"x": "' + b"x" * 2**21 + b'"}'
    answer = await user.request("POST", BUS, data=io.BytesIO(body), headers={"Content-Type": "application/json"})
    refused(answer, 1004, 413)
    of_gateway_route(await set_plan(user, body), 1004, 413)


async def test_1004_follows_the_setting(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_MAX_BODY_BYTES="100") as gateway, gateway.client() as client:
        refused(await client.command("US_Create", vx={"description": "x" * 100}), 1004, 413)
        refused(await client.command("US_Create"), 1002, 400)


async def test_1004_follows_a_setting_below_the_limit_of_heads_on_routes_that_read_their_bodies(tmp_path: Path):
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    body = b'{"x": "' + b"x" * 391 + b'"}'
    async with running(tmp_path / "data", PARLEY_MAX_BODY_BYTES="400") as gateway, gateway.client() as client:
        user = await client.register("faraday")
        for path in ("/v1/chat/completions", "/v1/responses", "/a2a/x", "/ag-ui/x", "/api/skills/install"):
            assert (await user.request("POST", path, data=body, headers=headers)).http != 413
            assert (await user.request("POST", path, data=body + b" ", headers=headers)).http == 413


async def test_1005_a_service_that_is_not_available(user: Client):
    for service in ("COMMAND", "DEFAULT"):
        refused(await user.command(service), 1005, 400)


@pytest.mark.parametrize("path", ["/api", "/api/", "/nothing", "/api/users", "/docs/nothing", "/debug", "/%2e%2e/x"])
async def test_1006_no_such_route(user: Client, path: str):
    of_gateway_route(await user.request("GET", path), 1006, 404)


@pytest.mark.parametrize("path", ["/agent", "/agent/fly", "/zone/fly", "/agent/list/x", "/Agent/list", "/agent/LIST"])
async def test_1006_no_such_alias(user: Client, path: str):
    answer = (await user.request("POST", BUS + path, json={})).refused(1006, 404)
    assert answer.http == 404


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (BUS, "POST"),
        (f"{BUS}/agent/list", "POST"),
        ("/api/health", "GET"),
        ("/api/tps/openapi.json", "GET"),
        ("/docs", "GET"),
        ("/metrics", "GET"),
        ("/api/admin/users/x/plan", "PUT"),
    ],
)
async def test_1006_a_method_that_the_route_does_not_take(user: Client, path: str, allowed: str):
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - {allowed}:
        answer = (await user.request(method, path)).refused(1006, 405)
        assert answer.http == 405
        assert {word.strip() for word in answer.headers["Allow"].split(",")} - {"HEAD", "OPTIONS"} == {allowed}


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/webhooks/endpoints", {"GET", "HEAD", "POST"}),
        ("/api/webhooks/endpoints/whe_x", {"PATCH", "DELETE"}),
        ("/api/rules/x", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/v1/responses/resp_x", {"GET", "HEAD", "DELETE"}),
        ("/a2a/x/tasks/run_x/pushNotificationConfigs/c", {"GET", "HEAD", "DELETE"}),
        ("/a2a/x/tasks/run_x", {"GET", "HEAD"}),
        ("/a2a/x/tasks/run_x:cancel", {"POST"}),
    ],
)
async def test_allow_names_all_methods_of_a_path_that_takes_several(user: Client, path: str, allowed: set[str]):
    answer = await user.request("TRACE", path)
    assert answer.http == 405
    assert set(answer.headers["Allow"].split(", ")) == allowed


async def test_1007_a_request_that_does_not_arrive_in_time(tmp_path: Path):
    body = b'{"service": "US_Read"}'
    halves = (raw_post(BUS, body)[:30], raw_post(BUS, body)[:-5], b"GET /api/health HTTP/1.1\r\nHost: gateway\r\n")
    settings = {"TEST_TIMEOUT_S": "2"}  # on a slow machine, a second may pass before the first byte
    impatient = running(tmp_path / "data", script=ENGINES / "impatient.py", **settings)
    async with impatient as gateway, gateway.client() as client:

        async def send_half(half: bytes) -> None:
            async with connected(gateway.base) as (reader, writer):
                writer.write(half)
                answer = (await read_answer(reader)).refused(1007, 408)
                assert answer.http == 408
                assert await reader.read() == b""

        await asyncio.gather(*(send_half(half) for half in halves))
        refused(await client.command("US_Read"), 2000, 401)


async def test_1008_another_media_type(user: Client):
    answer = await user.request("POST", BUS, data=b"{}", headers={"Content-Type": "text/plain"})
    refused(answer, 1008, 415)
    of_gateway_route(await set_plan(user, b"{}", **{"Content-Type": "text/plain"}), 1008, 415)


# 2xxx: the caller


async def test_2000_no_credential(sanic_client: Client):
    refused(await sanic_client.command("US_Read"), 2000, 401)
    refused(await sanic_client.alias("/user/read", headers={"Authorization": ""}), 2000, 401)
    of_gateway_route(await sanic_client.request("GET", "/debug/actors"), 2000, 401)


BAD_CREDENTIALS = {
    "no token": {"Authorization": "Bearer hello"},
    "another scheme": {"Authorization": "Basic bG92ZWxhY2U6c2VjcmV0"},
    "a session that never was": {"Authorization": f"Bearer {new_token(SESSION_TOKEN)}"},
    "an API key that never was": {"X-Api-Key": new_token(API_KEY)},
    "a sandbox key that never was": {"X-Api-Key": new_token(SANDBOX_KEY)},
    "a wrong checksum": {"Authorization": f"Bearer {new_token(SESSION_TOKEN)[:-1]}-"},
    "very long": {"Authorization": "Bearer " + "x" * 4_000},
}


@pytest.mark.parametrize("headers", BAD_CREDENTIALS.values(), ids=BAD_CREDENTIALS)
async def test_2001_a_credential_that_is_none(sanic_client: Client, headers: dict[str, str]):
    refused(await sanic_client.command("US_Read", headers=headers), 2001, 401)


async def test_2001_a_mistyped_token(user: Client):
    assert user.token
    swapped = user.token[:10] + user.token[11] + user.token[10] + user.token[12:]
    for token in (user.token[:-1], user.token + "0", user.token.lower(), user.token.swapcase(), swapped):
        if token != user.token:
            refused(await Client(user.http, user.base, token).command("US_Read"), 2001, 401)


async def test_2001_a_revoked_token(user: Client):
    other = await user.log_on(user.name)
    (await other.command("US_LogOff")).ok()
    answer = await other.command("US_Read")
    refused(answer, 2001, 401)
    assert "has ended, was revoked, or never existed; log on" in answer.note
    (await user.command("US_Read")).ok()


async def test_2001_an_expired_token(tmp_path: Path):
    clock = ClockFile(tmp_path / "clock")
    settings = {"TEST_CLOCK": str(clock.path), "PARLEY_SESSION_TTL_S": "1"}
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as client,
    ):
        user = await client.register("lovelace")
        clock.move(1_100)
        refused(await user.command("US_Read"), 2001, 401)


async def test_authorization_wins_where_both_headers_are_sent(user: Client, sanic_client: Client):
    (await user.command("US_Read", headers={"X-Api-Key": "plk_wrong"})).ok()
    headers = {"Authorization": "Bearer pls_wrong", "X-Api-Key": user.token or ""}
    refused(await sanic_client.command("US_Read", headers=headers), 2001, 401)


async def test_the_bearer_scheme_is_known_in_any_case(user: Client, sanic_client: Client):
    for scheme in ("bearer", "BEARER", "Bearer  "):
        (await sanic_client.command("US_Read", headers={"Authorization": f"{scheme} {user.token}"})).ok()


async def test_2002_a_wrong_user_name_or_password(proxied: Client, unique: str):
    own_address = {"X-Forwarded-For": "192.0.2.1"}
    user = await proxied.register(f"{unique}-user")
    wrong = {"target": {"user": user.name}, "vx": {"secret": "not the password"}}
    refused(await proxied.command("US_LogOn", **wrong, headers=own_address), 2002, 401)
    wrong = await user.command("US_Destroy", vx={"secret": "not the password"})
    refused(wrong, 2002, 401)
    assert wrong.note == "The password is wrong, so nothing was done; send your own as `vx.secret`."


async def test_2003_not_permitted(user: Client, sanic_client: Client, unique: str):
    await user.agent(f"{unique}-agent", access="public")
    other = await sanic_client.register(f"{unique}-other")
    refused(await other.command("AP_LogOff", target={"agent": f"{unique}-agent"}), 2003, 403)


async def test_2005_a_suspended_user(user: Client):
    path = f"/api/admin/users/{user.name}/suspend"
    assert (await user.request("POST", path, headers=SECRET)).http == 200
    log_on = {"target": {"user": user.name}, "vx": {"secret": PASSWORD}}
    refused(await user.as_user().command("US_LogOn", **log_on), 2005, 403)


async def test_2004_a_premium_name_on_a_plan_without_them(user: Client, sanic_client: Client, unique: str):
    premium = {"name": "e4-x", "description": "d"}
    refused(await sanic_client.command("US_Create", vx=premium | {"secret": PASSWORD}), 2004, 403)
    for plan in ("free", "builder"):
        await on_plan(user, plan)
        refused(await user.command("AP_Create", vx=premium), 2004, 403)
    await user.agent(f"{unique}-agent")
    refused(await user.command("AP_Modify", vx={"name": "e4-x"}), 2004, 403)
    refused(await user.command("AP_Update", vx=premium), 2004, 403)


# 3xxx: the entity


async def test_3000_no_such_agent_or_user(user: Client):
    for service in ("AP_Read", "AP_Add", "AP_Remove", "AP_Select", "AP_Chat", "AP_LogOn", "AP_Destroy", "AP_History"):
        refused(await user.command(service, target={"agent": "nobody-s"}, content="Hello"), 3000, 404)
    refused(await user.command("AP_List", target={"user": "nobody"}), 3000, 404)
    refused(await user.command("US_Revoke", vx={"name": "ses_unknown"}), 3000, 404)
    path = "/api/admin/users/nobody/plan"
    of_gateway_route(await user.request("PUT", path, json={"plan": "free"}, headers=SECRET), 3000, 404)
    of_gateway_route(await user.request("GET", "/debug/actors/agent/nobody", headers=SECRET), 3000, 404)


async def test_3000_the_domain_of_a_chat_and_3003_a_zone_of_none(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    refused(await user.command("AP_Chat", target={"domain": "unknown"}, content="Hello"), 3000, 404)
    refused(await user.command("AP_Chat", target={"zone": "lobby"}, content="Hello"), 3003, 409)


async def test_3001_a_name_that_is_taken(user: Client, sanic_client: Client, unique: str):
    definition = {"name": f"{unique}-agent", "description": "d"}
    (await user.command("AP_Create", vx=definition)).ok()
    refused(await user.command("AP_Create", vx=definition), 3001, 409)
    refused(await sanic_client.command("US_Create", vx={"name": user.name, "secret": PASSWORD}), 3001, 409)


async def test_3002_an_agent_that_is_offline(user: Client, unique: str):
    await user.agent(f"{unique}-agent", online=False)
    refused(await user.command("AP_Chat", content="Hello"), 3002, 409)


async def test_3003_nothing_is_selected(user: Client):
    for service in ("AP_Read", "AP_Chat", "AP_LogOn", "AP_LogOff", "AP_Destroy", "AP_History"):
        refused(await user.command(service, content="Hello"), 3003, 409)


# 4xxx: limits


async def test_4001_too_many_attempts(proxied: Client, unique: str):
    own_address = {"X-Forwarded-For": "192.0.2.2"}
    user = await proxied.register(f"{unique}-user")
    wrong = {"target": {"user": user.name}, "vx": {"secret": "not the password"}}
    for _ in range(10):
        refused(await proxied.command("US_LogOn", **wrong, headers=own_address), 2002, 401)
    answer = refused(await proxied.command("US_LogOn", **wrong, headers=own_address), 4001, 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 300


# 5xxx: the gateway


async def test_5000_a_bug_is_logged_and_not_told(faulty_server: GatewayProcess, faulty_user: Client):
    answer = refused(await faulty_user.command("US_Sessions", headers={"X-Request-Id": "bug-hunter"}), 5000, 500)
    assert "detail-of-the-bug" not in str(answer.body)
    assert "detail-of-the-bug" in faulty_server.logged()
    (await faulty_user.command("US_Read")).ok()


async def roles_and_texts(user: Client) -> list[tuple[str, str]]:
    history = (await user.command("AP_History")).ok().content
    assert [message["seq"] for message in history] == list(range(1, len(history) + 1))
    return [(message["role"], message["content"]) for message in history]


async def test_5001_an_instant_engine_that_fails_keeps_the_user_s_message(faulty_user: Client, unique: str):
    await faulty_user.agent(f"{unique}-agent")
    for text in ("Hello", "Are you there?"):
        answer = refused(await faulty_user.command("AP_Chat", content=text), 5001, 502)
        assert "detail-of-the-engine" not in str(answer.body)
    assert await roles_and_texts(faulty_user) == [("user", "Hello"), ("user", "Are you there?")]


async def test_5001_a_streaming_engine_that_fails_keeps_the_user_s_message_and_goes_on(
    scripted_user: Client, unique: str
):
    await scripted_user.agent(f"{unique}-agent")
    refused(await scripted_user.command("AP_Chat", content="fail"), 5001, 502)
    refused(await scripted_user.command("AP_Chat", content="say:half fail"), 5001, 502)
    (await scripted_user.command("AP_Chat", content="say:well")).ok()
    said = [("user", "fail"), ("user", "say:half fail"), ("user", "say:well"), ("agent", "well")]
    assert await roles_and_texts(scripted_user) == said


async def test_5002_a_store_that_takes_no_writes_keeps_nothing_and_comes_back(
    faulty_server: GatewayProcess, faulty_user: Client, unique: str
):
    await faulty_user.agent(f"{unique}-agent")
    before = (await faulty_user.command("AP_Read")).ok()
    broken = [node.data / "broken" for node in faulty_server.nodes]
    for file in broken:
        file.touch()
    try:
        definition = {"name": f"{unique}-other", "description": "d"}
        writing: dict[str, dict[str, Any]] = {
            "AP_Create": {"vx": definition},
            "AP_Modify": {"vx": {"description": "changed"}},
            "AP_LogOff": {},
            "AP_Chat": {"content": "Hello"},
            "US_Create": {"vx": {"name": f"{unique}-new", "secret": PASSWORD}},
            "US_LogOff": {},
        }
        for service, body in writing.items():
            refused(await faulty_user.command(service, **body), 5002, 503)
        # More than are counted in advance, because an error is sent only once its request is counted.
        for _ in range(30):
            unknown = await faulty_user.request("GET", "/api/documents/doc_unknown")
            if unknown.http != 404:
                break
        assert (unknown.http, unknown.code) == (503, 5002)
        health = await faulty_user.request("GET", "/api/health")
        assert (health.http, health.body["status"], health.body["storage"]) == (503, "unavailable", "unavailable")
        assert int(health.headers["Retry-After"]) >= 1
    finally:
        for file in broken:
            file.unlink()
    after = (await faulty_user.command("AP_Read")).ok()
    assert (after.profile, after.content) == (before.profile, before.content)
    assert (await faulty_user.request("GET", "/api/health")).http == 200
    (await faulty_user.command("AP_Create", vx=definition)).ok()
    assert await roles_and_texts(faulty_user) == []


async def test_5003_too_many_messages_wait_in_one_conversation(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    running_chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:first"))
    await gate.reached()
    waiting = [asyncio.create_task(scripted_user.command("AP_Chat", content=f"say:{n}")) for n in range(40)]
    # Those beyond the limit are answered while all others wait.
    for answered in islice(asyncio.as_completed(waiting), 40 - 32):
        refused(await answered, 5003, 503)
    gate.open()
    (await running_chat).ok()
    answers = [await chat for chat in waiting]
    kept = [answer for answer in answers if answer.code == 0]
    assert len(kept) == 32
    for answer in answers:
        if answer not in kept:
            refused(answer, 5003, 503)
    messages = (await scripted_user.command("AP_History", page={"limit": 200})).ok().content
    assert [message["seq"] for message in messages] == list(range(1, 67))  # nothing of the refused ones is stored


# the table


def test_every_code_is_named_by_a_test_here_or_comes_with_a_later_issue():
    tested = {int(found[1]) for name in globals() if (found := re.match(r"test_(\d{4})_", name))}
    codes = {error.internal_code for error in ServiceError.__subclasses__()}
    assert tested | LATER.keys() == codes
    assert not tested & LATER.keys()


@pytest.mark.parametrize("error", ServiceError.__subclasses__(), ids=lambda error: error.__name__)
def test_errors_carry_the_codes_of_the_contract(error: type[ServiceError]):
    assert (error.internal_code, error.http_code) in CONTRACT


CONTRACT: set[Any] = {
    *((code, 400) for code in (1000, 1001, 1002, 1003, 1005)),
    (1004, 413),
    (1006, 404),
    (1006, 405),
    (1007, 408),
    (1008, 415),
    (1501, 501),
    *((code, 401) for code in (2000, 2001, 2002)),
    *((code, 403) for code in (2003, 2004, 2005)),
    (3000, 404),
    *((code, 409) for code in (3001, 3002, 3003)),
    *((code, 429) for code in (4000, 4001)),
    (5000, 500),
    (5001, 502),
    *((code, 503) for code in (5002, 5003)),
}
