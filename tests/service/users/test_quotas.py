"""Quotas over HTTP: exactness, headers, counted requests, plans, midnight (docs/contract.md, "The daily quota")."""

import asyncio
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES
from tests.support.clock import DAY_MS, ClockFile
from tests.support.gateway import BUS, PASSWORD, Answer, Client, GatewayProcess, running
from tests.support.operator import SECRET, on_plan, set_plan
from tests.support.stored import read
from tests.support.workspaces import following

POLICY = '"day";q=100;w=86400'


async def quota(user: Client) -> dict[str, Any]:
    """Return the quota in US_Read, itself a counted request."""
    return (await user.command("US_Read")).ok().profile[0]["quota"]


async def use(user: Client, requests: int) -> None:
    """Send a number of requests, a few at a time."""
    few = asyncio.Semaphore(20)

    async def one() -> None:
        async with few:
            (await user.command("US_Read")).ok()

    await asyncio.gather(*(one() for _ in range(requests)))


def left(answer: Answer) -> int | None:
    """Return the remaining requests in an answer's headers; assert their form."""
    policy, standing = answer.headers.get("RateLimit-Policy"), answer.headers.get("RateLimit")
    assert (policy is None) == (standing is None)
    if standing is None:
        return None
    assert re.fullmatch(r'"day";q=[1-9][0-9]*;w=86400', policy or "")
    found = re.fullmatch(r'"day";r=([0-9]+);t=([0-9]+)', standing)
    assert found
    assert 1 <= int(found[2]) <= 86_400
    return int(found[1])


def refused_for_today(answer: Answer) -> bool:
    """Return whether an answer is the 429 of a used-up quota; assert all its parts."""
    if answer.http != 429:
        return False
    answer.refused(4000, 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 86_400
    assert left(answer) == 0
    assert "100 requests a day" in answer.note
    return True


async def with_key(user: Client) -> Client:
    """Make an API key on a plan with API keys; return a client with it."""
    await on_plan(user, "builder")
    answer = await user.request("POST", "/api/api-keys", json={"name": "a key"})
    assert answer.http == 201
    return Client(user.http, user.base, answer.body["key"], user.name)


# exactness


async def test_of_500_requests_at_once_with_37_left_37_succeed_and_463_are_refused(user: Client):
    await use(user, 63)
    answers = await asyncio.gather(*(user.command("AP_List") for _ in range(500)))
    refused = [answer for answer in answers if refused_for_today(answer)]
    served = [answer.ok() for answer in answers if answer.http == 200]
    assert (len(served), len(refused)) == (37, 463)
    assert sorted(left(answer) or 0 for answer in served) == list(range(37))


async def test_sessions_and_api_keys_of_a_user_share_its_count(user: Client):
    key = await with_key(user)  # one request
    others = [await user.log_on(user.name) for _ in range(3)]
    clients = [user, key, *others]
    assert (await set_plan(user, user.name, "free")).http == 200
    assert (await quota(key))["used"] == 2
    await use(others[0], 61)
    paths = ("/user/read", "/agent/list")
    answers = await asyncio.gather(*(clients[n % 5].alias(paths[n % 2]) for n in range(500)))
    assert Counter(answer.http for answer in answers) == {200: 37, 429: 463}
    assert all(refused_for_today(answer) for answer in answers if answer.http == 429)


async def test_users_do_not_share_a_count(user: Client, sanic_client: Client, unique: str):
    await use(user, 100)
    assert refused_for_today(await user.command("US_Read"))
    other = await sanic_client.register(f"{unique}-other")
    assert (await quota(other))["used"] == 1


# headers


async def test_counted_answers_tell_what_is_left_whatever_their_outcome(user: Client):
    calls: list[Any] = [
        lambda: user.command("US_Read"),
        lambda: user.command("AP_Read", target={"agent": "nobody-of-this-name"}),  # 3000
        lambda: user.command("AP_Read"),  # 3003
        lambda: user.command("AP_Create", vx={"name": 7}),  # 1003
        lambda: user.command("AP_Create", vx={}),  # 1002
        lambda: user.command("COMMAND", vx={"name": "x", "description": "d"}),  # 1005
        lambda: user.command("AP_Create", vx={"name": "abcd", "description": "d"}),  # 2004
        lambda: user.command("US_Destroy", vx={"secret": "not the password"}),  # 2002
        lambda: user.command("AP_List", page={"cursor": "x"}),  # 1003 of the core
        lambda: user.command("AP_Chat", content="x", headers={"Accept": "text/event-stream"}),
        lambda: user.request("GET", "/api/api-keys"),  # 2004
        lambda: user.request("GET", "/api/audit"),
        lambda: user.request("DELETE", "/api/api-keys/key_unknown"),  # 404
        lambda: user.request("POST", "/api/api-keys", json={"name": 7}),  # 1003
        lambda: user.command("AP_Create", vx={"name": "x", "description": "d"}, headers={"Idempotency-Key": "é"}),
    ]
    codes = []
    for count, call in enumerate(calls, start=1):
        answer = await call()
        codes.append(answer.code)
        assert (count, answer.code, left(answer)) == (count, answer.code, 100 - count)
        assert answer.headers["RateLimit-Policy"] == POLICY
    assert codes == [0, 3000, 3003, 1003, 1002, 1005, 2004, 2002, 1003, 3003, 2004, 2004, 3000, 1003, 1003]
    assert (await quota(user))["used"] == len(calls) + 1


async def test_streams_tell_what_is_left(scripted_user: Client, unique: str):
    await scripted_user.agent(f"{unique}-agent")  # three requests
    domain = {"name": f"{unique}-domain", "description": "d"}
    (await scripted_user.command("DM_Create", vx=domain)).ok()
    headers = scripted_user.headers({"Accept": "text/event-stream"})
    chat = {"service": "AP_Chat", "content": "say:hello"}
    async with scripted_user.http.post(scripted_user.base + BUS, json=chat, headers=headers) as response:
        await response.read()
        assert response.headers["RateLimit-Policy"] == POLICY
        assert response.headers["RateLimit"].startswith('"day";r=95;t=')
    async with following(scripted_user, f"{unique}-domain") as stream:
        assert stream.response.headers["RateLimit"].startswith('"day";r=94;t=')
    assert (await quota(scripted_user))["used"] == 7


async def test_a_replayed_answer_tells_what_is_left_now_and_counts(user: Client, unique: str):
    vx = {"name": unique, "description": "d"}
    for count in (1, 2, 3):
        answer = (await user.command("AP_Create", vx=vx, headers={"Idempotency-Key": unique})).ok()
        assert left(answer) == 100 - count
    assert answer.headers["Idempotency-Replayed"] == "true"


async def test_without_a_limit_there_are_no_headers(user: Client):
    await on_plan(user, "enterprise")
    for answer in (await user.command("US_Read"), await user.request("GET", "/api/api-keys")):
        assert answer.http == 200
        assert left(answer) is None
    shown = await quota(user)
    assert (shown["limit"], shown["remaining"], shown["used"]) == (None, None, 3)


async def test_a_user_s_own_limit_stands_in_the_headers(user: Client):
    assert (await set_plan(user, user.name, "enterprise", limit=1)).http == 200
    answer = (await user.command("US_Read")).ok()
    assert answer.headers["RateLimit-Policy"] == '"day";q=1;w=86400'
    assert left(answer) == 0
    assert (await user.command("US_Read")).refused(4000, 429).note == (
        "The 1 request a day of the plan enterprise is used up until 00:00 UTC; wait, or change the plan."
    )


# counted requests


async def test_what_no_accepted_credential_came_with_is_neither_counted_nor_told_of(user: Client, unique: str):
    (await user.command("US_Create", vx={"name": unique, "secret": PASSWORD})).ok()
    nobody, mistyped = Client(user.http, user.base), Client(user.http, user.base, (user.token or "")[:-1] + "~")
    answers = [
        await user.command("US_LogOn", target={"user": user.name}, vx={"secret": PASSWORD}),
        await user.command("US_LogOn", target={"user": user.name}, vx={"secret": "not the password"}),
        await nobody.command("US_Read"),
        await mistyped.command("US_Read"),
        await mistyped.request("GET", "/api/audit"),
        await user.request("GET", "/api/health"),
        await user.request("GET", "/metrics"),
        await user.request("POST", BUS, data="no JSON", headers={"Content-Type": "application/json"}),
        await user.command("NO_Such"),
        await user.request("GET", "/api/no-such-route"),
        await user.request("PUT", "/api/audit"),
        await user.request("POST", "/api/api-keys", data="{", headers={"Content-Type": "application/json"}),
        await user.request("POST", "/api/dev/sandbox-key"),
        await set_plan(user, user.name, "free"),
    ]
    assert [left(answer) for answer in answers] == [None] * len(answers)
    assert (await quota(user))["used"] == 1


async def test_a_request_that_is_refused_for_today_is_not_counted_and_does_nothing(user: Client, unique: str):
    await use(user, 100)
    answers = [await user.command("AP_Create", vx={"name": unique, "description": "d"}) for _ in range(30)]
    assert all(refused_for_today(answer) for answer in answers)
    assert answers[0].context["user"] == user.name
    gateway_route = await user.request("DELETE", "/api/api-keys/key_x")
    assert gateway_route.http == 429
    assert gateway_route.body["status"]["internal_code"] == 4000
    assert int(gateway_route.headers["Retry-After"]) >= 1
    assert left(gateway_route) == 0
    assert (await set_plan(user, user.name, "builder")).body["quota"]["used"] == 100
    (await user.command("AP_Read", target={"agent": unique})).refused(3000, 404)


async def test_a_password_that_is_refused_for_too_many_attempts_is_not_counted(user: Client):
    guesses = [await user.command("US_Destroy", vx={"secret": f"guess {number}"}) for number in range(10)]
    assert [answer.refused(2002, 401) and left(answer) for answer in guesses] == list(range(99, 89, -1))
    for service in ("US_Destroy", "US_Update"):
        answer = (await user.command(service, vx={"secret": PASSWORD})).refused(4001, 429)
        assert left(answer) == 90
    assert (await quota(user))["used"] == 11


async def test_the_own_record_shows_the_quota_with_this_request_in_it(user: Client):
    now = datetime.now(UTC)
    shown = await quota(user)
    assert shown["window"] in (now.strftime("%Y-%m-%d"), datetime.now(UTC).strftime("%Y-%m-%d"))
    resets_at = datetime.fromisoformat(shown["resets_at"])
    assert resets_at > now
    assert shown["resets_at"].endswith("T00:00:00.000Z")
    assert (resets_at.date() - datetime.fromisoformat(shown["window"]).date()).days == 1
    assert (shown["limit"], shown["used"], shown["remaining"]) == (100, 1, 99)
    assert (await quota(user))["used"] == 2


# plans


async def test_the_billing_hook_answers_the_own_record_and_counts_nothing(user: Client, sanic_client: Client):
    answer = await set_plan(sanic_client, user.name.upper(), "enterprise", limit=5_000)
    assert answer.http == 200
    record = answer.body
    assert (record["name"], record["plan"]) == (user.name, "enterprise")
    assert record["quota"].items() >= {"limit": 5_000, "used": 0, "remaining": 5_000}.items()
    assert record["counts"] == {"agents": 0, "domains": 0, "banks": 0, "api_keys": 0}
    assert left(answer) is None
    assert left(await user.command("US_Read")) == 4_999


@pytest.mark.parametrize(
    "body",
    [
        {"plan": "gold"},
        {"plan": "builder", "limit": 5},
        {"plan": "enterprise", "limit": 0},
        {"plan": "enterprise", "limit": "5"},
        {"plan": "enterprise", "limit": 2**53 + 1},
        {"plan": "enterprise", "limit": True},
        {"plan": None},
        {},
    ],
)
async def test_a_wrong_plan_is_refused(user: Client, body: dict[str, Any]):
    answer = await user.request("PUT", f"/api/admin/users/{user.name}/plan", json=body, headers=SECRET)
    assert answer.http == 400
    answer.refused(1003 if body.get("plan") else 1002, 400)
    assert (await quota(user))["limit"] == 100


async def test_the_plan_of_an_unknown_user_is_not_found(sanic_client: Client):
    assert (await set_plan(sanic_client, "nobody-of-this-name", "free")).refused(3000, 404).http == 404


async def test_a_change_of_plan_in_flight_admits_no_more_than_the_larger_limit(user: Client):
    """Every success is counted, and no count exceeds the limit at its time."""
    served = 0
    most = 300

    async def one() -> None:
        nonlocal served
        answer = await user.command("AP_List")
        if answer.http != 429:
            served += answer.ok().http == 200
            assert 0 <= (left(answer) or 0) < most

    async def change() -> None:
        for plan, more in [("enterprise", {"limit": most}), ("free", {}), ("enterprise", {"limit": most})] * 3:
            assert (await set_plan(user, user.name, plan, **more)).http == 200
            await asyncio.sleep(0)

    await asyncio.gather(change(), *(one() for _ in range(800)))
    await asyncio.gather(*(one() for _ in range(400)))
    assert served == most
    answer = await set_plan(user, user.name, "builder")
    assert answer.body["quota"]["used"] == most


# restarts and midnight


async def stored_bound(gateway: GatewayProcess) -> int:
    ((bound,),) = await read(gateway, "SELECT reserved FROM quota_windows")
    return bound


@pytest.mark.parametrize(("limit", "block"), [(100, 1), (1_000, 10), (10_000, 64), (50_000, 64)])
async def test_the_stored_bound_is_at_most_a_block_ahead_and_an_orderly_stop_stores_the_count(
    tmp_path: Path, limit: int, block: int
):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as nobody:
            user = await nobody.register("lovelace")
            assert (await set_plan(user, user.name, "enterprise", limit=limit)).http == 200
            for used in (1, 2, 9, 40, 77):
                await use(user, used - await counted(user))
                assert used <= await stored_bound(gateway) <= used + block
        assert await gateway.stop() == 0
        assert await stored_bound(gateway) == 77
        await gateway.start()
        async with gateway.client() as nobody:
            user.http, user.base = nobody.http, gateway.base
            assert (await quota(user))["used"] == 78


async def counted(client: Client) -> int:
    """Return the count of the user, wherever its actor is; this counts nothing."""
    answer = await client.request("GET", f"/api/admin/users/{client.name}", headers=SECRET)
    return answer.body["quota"]["used"]


@pytest.fixture
def clock(tmp_path: Path) -> ClockFile:
    return ClockFile(tmp_path / "clock")


async def test_midnight_gives_a_new_day_without_a_restart_and_without_a_burst(tmp_path: Path, clock: ClockFile):
    settings = {"TEST_CLOCK": str(clock.path), "PARLEY_SESSION_TTL_S": "864000"}
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as nobody,
    ):
        user = await nobody.register("lovelace")
        to_midnight = DAY_MS - clock.now() % DAY_MS
        clock.move(to_midnight - 60_000)
        before = await quota(user)
        assert before["resets_at"][:10] == _date(clock.now() + DAY_MS)
        await use(user, 49)

        async def burst() -> list[Answer]:
            return list(await asyncio.gather(*(user.command("AP_List") for _ in range(200))))

        bursts = asyncio.gather(burst(), burst(), burst())
        await asyncio.sleep(0.05)
        clock.move(61_000)
        answers = [answer for answers in await bursts for answer in answers]
        assert all(refused_for_today(answer) for answer in answers if answer.http != 200)
        wait_s = [int(answer.headers["RateLimit"].rpartition("=")[2]) for answer in answers if answer.http == 200]
        evening = sum(seconds <= 60 for seconds in wait_s)
        morning = len(wait_s) - evening
        assert evening <= 50
        assert morning <= 100
        assert await counted(user) == morning or morning == 0
        after = (await set_plan(user, user.name, "builder")).body["quota"]
        assert after["window"] == _date(clock.now())
        assert after["window"] != before["window"]
        clock.move(-120_000)  # the quota is not renewed
        assert (await quota(user))["window"] == after["window"]
        clock.move(120_000 + DAY_MS)
        later = await quota(user)
        assert (later["used"], later["window"]) == (1, _date(clock.now()))


def _date(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d")
