"""API keys and sandbox keys: rights, expiry, and secrecy (docs/contract.md, "API keys" and "Sandbox keys")."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actors.sessions.tokens import API_KEY, KINDS, SANDBOX_KEY, new_token, token_kind
from tests.gateways.gate import ENGINES
from tests.support.clock import DAY_MS, ClockFile
from tests.support.gateway import CHECKOUT, PASSWORD, Answer, Client, GatewayProcess, running
from tests.support.operator import SECRET, on_plan, set_plan
from tests.support.stored import contents
from tests.support.stores import ON_POSTGRES
from tests.support.workspaces import following

KEYS = "/api/api-keys"
SANDBOX = "/api/dev/sandbox-key"
_addresses = (f"192.0.2.{number}" for number in itertools.count(1))


@pytest.fixture
async def owner(user: Client) -> Client:
    """A user on a plan with API keys."""
    return await on_plan(user, "builder")


async def make_key(owner: Client, name: str = "a key", **more: Any) -> tuple[dict[str, Any], Client]:
    """Make an API key; return its record and a client with it."""
    answer = await owner.request("POST", KEYS, json={"name": name, **more})
    assert answer.http == 201, answer.body
    return answer.body, Client(owner.http, owner.base, answer.body["key"], owner.name)


async def lookups(client: Client) -> int:
    """Return the number of tokens looked up in the store so far."""
    said = (await client.request("GET", "/metrics")).body
    found = re.search(r"^parley_credential_lookups_total (\S+)$", said, re.MULTILINE)
    assert found
    return int(float(found[1]))


# making, listing, revoking


async def test_a_key_is_shown_once_and_listed_without_it(owner: Client):
    before = datetime.now().astimezone()
    made, key = await make_key(owner, "nightly job", expires_in_days=90)
    assert list(made) == ["id", "name", "key", "prefix", "created_at", "expires_at"]
    assert re.fullmatch(r"key_[0-9a-f]{32}", made["id"])
    assert token_kind(made["key"]) == API_KEY
    assert made["prefix"] == made["key"][:8]
    created_at = datetime.fromisoformat(made["created_at"])
    assert before - timedelta(seconds=1) < created_at
    assert datetime.fromisoformat(made["expires_at"]) - created_at == timedelta(days=90)
    listed = await owner.request("GET", KEYS)
    shown = {name: value for name, value in made.items() if name != "key"}
    assert (listed.http, listed.body) == (200, {"api_keys": [shown | {"last_used_at": None}]})
    (await key.command("US_Read")).ok()
    used_at: str | None = None
    while used_at is None:  # no request waits for its commit
        used_at = (await owner.request("GET", KEYS)).body["api_keys"][0]["last_used_at"]
    assert datetime.fromisoformat(used_at) >= created_at
    assert (await owner.command("US_Read")).ok().profile[0]["counts"]["api_keys"] == 1


async def test_keys_are_listed_oldest_first_and_each_user_sees_its_own(
    owner: Client, sanic_client: Client, unique: str
):
    names = [(await make_key(owner, name))[0]["name"] for name in ("one", "two", "two")]
    other = await on_plan(await sanic_client.register(f"{unique}-other"), "scale")
    assert [key["name"] for key in (await owner.request("GET", KEYS)).body["api_keys"]] == names
    assert (await other.request("GET", KEYS)).body == {"api_keys": []}


async def test_a_key_without_expiry_has_none(owner: Client):
    assert (await make_key(owner))[0]["expires_at"] is None
    assert (await make_key(owner, expires_in_days=None))[0]["expires_at"] is None


async def test_null_scopes_are_absent_ones(owner: Client):
    members = ("services", "agents", "banks", "domains", "read_only", "admin")
    made, key = await make_key(owner, scopes=dict.fromkeys(members))
    assert made["scopes"] == dict.fromkeys(members[:4]) | {"read_only": False, "admin": False}
    (await key.command("US_Update", vx={"description": "changed"})).ok()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 1002),
        ({"name": None}, 1002),
        ({"name": " "}, 1002),
        ({"name": 7}, 1003),
        ({"name": "x" * 201}, 1003),
        ({"name": "a\0b"}, 1003),
        ({"name": "x", "expires_in_days": 0}, 1003),
        ({"name": "x", "expires_in_days": 3651}, 1003),
        ({"name": "x", "expires_in_days": "9"}, 1003),
        ({"name": "x", "expires_in_days": 1.5}, 1003),
        ({"name": "x", "expires_in_days": True}, 1003),
        ({"name": "x", "scopes": {"agents": [None]}}, 1003),
        ({"name": "x", "scopes": {"services": ["AP_Chat", " "]}}, 1003),
        ([], 1000),
    ],
)
async def test_a_wrong_definition_is_refused(owner: Client, body: Any, code: int):
    answer = await owner.request("POST", KEYS, json=body)
    answer.refused(code, 400)
    assert answer.http == 400
    assert (await owner.request("GET", KEYS)).body == {"api_keys": []}


async def test_keys_are_made_and_listed_by_who_has_logged_on_only(owner: Client):
    _, key = await make_key(owner)
    for method, body in (("POST", {"name": "x"}), ("GET", None)):
        answer = await key.request(method, KEYS, json=body)
        assert answer.refused(2003, 403).http == 403
        answer = await Client(key.http, key.base).request(method, KEYS, json=body)
        assert answer.refused(2000, 401).http == 401


async def test_making_and_listing_take_an_entitlement_and_revoking_takes_none(owner: Client):
    made, key = await make_key(owner)
    assert (await set_plan(owner, owner.name, "free")).http == 200
    for method, body in (("POST", {"name": "x"}), ("GET", None)):
        assert (await owner.request(method, KEYS, json=body)).refused(2004, 403).http == 403
    (await key.command("US_Read")).ok()  # existing keys
    answer = await owner.request("DELETE", f"{KEYS}/{made['id']}")
    assert (answer.http, answer.body) == (204, "")
    (await key.command("US_Read")).refused(2001, 401)


async def test_a_user_has_100_keys_and_a_revoked_one_makes_room(owner: Client):
    await on_plan(owner, "enterprise")
    asked = [owner.request("POST", KEYS, json={"name": f"key {number}"}) for number in range(130)]
    answers = await asyncio.gather(*asked)
    made = [answer.body for answer in answers if answer.http == 201]
    assert len(made) == 100
    for answer in answers:
        if answer.http != 201:
            assert answer.refused(3002, 409).http == 409
            assert "revoke" in answer.note
    assert (await owner.request("DELETE", f"{KEYS}/{made[0]['id']}")).http == 204
    await make_key(owner)
    (await owner.request("POST", KEYS, json={"name": "one more"})).refused(3002, 409)


async def test_a_key_that_is_another_s_or_unknown_or_no_key_is_not_found(
    owner: Client, sanic_client: Client, unique: str
):
    other = await on_plan(await sanic_client.register(f"{unique}-other"), "builder")
    made, key = await make_key(other)
    session = (await owner.command("US_Sessions")).ok().profile[0]["id"]
    for key_id in (made["id"], "key_" + "0" * 32, session, "x", "%00", "..%2F.."):
        answer = await owner.request("DELETE", f"{KEYS}/{key_id}")
        assert answer.http == 404, key_id
    (await key.command("US_Read")).ok()
    (await owner.command("US_Revoke", vx={"name": made["id"]})).refused(3000, 404)
    (await other.command("US_Revoke", vx={"name": made["id"]})).refused(3000, 404)


async def test_a_revoked_key_is_worth_nothing_at_once_also_to_requests_in_flight(owner: Client):
    made, key = await make_key(owner)
    await asyncio.gather(*(key.command("US_Read") for _ in range(20)))
    revoked = False

    async def use() -> None:
        while True:
            revoked_before = revoked
            answer = await key.command("US_Read")
            assert answer.code in (0, 2001)
            assert answer.code == 2001 or not revoked_before
            if answer.code:
                return

    using = [asyncio.create_task(use()) for _ in range(16)]
    await asyncio.sleep(0.05)
    assert (await owner.request("DELETE", f"{KEYS}/{made['id']}")).http == 204
    revoked = True
    await asyncio.gather(*using)
    assert (await owner.request("DELETE", f"{KEYS}/{made['id']}")).http == 404
    assert (await owner.command("US_Read")).ok().profile[0]["counts"]["api_keys"] == 0


async def test_a_key_can_revoke_itself(owner: Client):
    made, key = await make_key(owner)
    assert (await key.request("DELETE", f"{KEYS}/{made['id']}")).http == 204
    (await key.command("US_Read")).refused(2001, 401)


async def test_a_revoked_key_s_stream_ends(owner: Client, unique: str):
    await owner.agent(f"{unique}-agent")
    domain = f"{unique}-domain"
    (await owner.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    made, key = await make_key(owner)
    _, other = await make_key(owner)
    async with following(key, domain) as stream, following(owner, domain) as mine, following(other, domain) as others:
        assert (await owner.request("DELETE", f"{KEYS}/{made['id']}")).http == 204
        assert await stream.next() == {"end": "revoked"}
        (await other.command("US_Update", vx={"secret": "another horse battery"})).refused(2003, 403)
        second = await owner.log_on(owner.name)
        (await second.command("US_Update", vx={"secret": "another horse battery"})).ok()
        assert await mine.next() == {"end": "revoked"}
        post = {"target": {"domain": domain}, "content": "still there"}
        (await other.command("ZN_Post", **post)).ok()
        assert (await others.next())["message"]["content"] == "still there"


# rights of keys


async def test_a_key_acts_as_its_user(owner: Client, unique: str):
    _, key = await make_key(owner)
    await owner.agent(f"{unique}-agent", select=False)
    (await key.command("AP_Select", target={"agent": f"{unique}-agent"})).ok()
    message, reply = (await key.command("AP_Chat", content="hello")).ok().content
    history = (await owner.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
    assert history == [message, reply]


async def test_a_key_comes_in_either_header_and_the_bearer_wins(owner: Client, sanic_client: Client):
    _, key = await make_key(owner)
    nobody = Client(owner.http, owner.base)
    for headers in (
        {"Authorization": f"Bearer {key.token}"},
        {"Authorization": f"bearer   {key.token}"},
        {"X-Api-Key": key.token or ""},
        {"Authorization": f"Bearer {key.token}", "X-Api-Key": "plk_wrong"},
    ):
        assert (await nobody.command("US_Read", headers=headers)).ok().context["user"] == owner.name
        assert (await nobody.request("GET", "/api/audit", headers=headers)).http == 403
    for authorization in ("Bearer plk_wrong", "Bearer", "Basic bG92ZWxhY2U6eA=="):
        headers = {"Authorization": authorization, "X-Api-Key": key.token or ""}
        assert (await nobody.command("US_Read", headers=headers)).code in (2000, 2001)


async def test_a_key_can_t_log_off(owner: Client):
    _, key = await make_key(owner)
    (await key.command("US_LogOff")).refused(2003, 403)
    (await key.command("US_Read")).ok()


async def test_a_new_password_ends_sessions_and_leaves_keys(owner: Client):
    _, key = await make_key(owner)
    other = await owner.log_on(owner.name)
    (await owner.command("US_Update", vx={"secret": "another horse battery"})).ok()
    (await other.command("US_Read")).refused(2001, 401)
    (await key.command("US_Read")).ok()
    (await key.command("US_Revoke", vx={"name": "all"})).ok()
    (await owner.command("US_Read")).refused(2001, 401)
    (await key.command("US_Read")).ok()


async def test_the_keys_of_a_destroyed_user_are_revoked_at_once(owner: Client, unique: str):
    keys = [(await make_key(owner))[1] for _ in range(3)]
    for key in keys[:2]:
        (await key.command("US_Read")).ok()
    (await owner.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    for key in keys:
        (await key.command("US_Read")).refused(2001, 401)
    again = await on_plan(await Client(owner.http, owner.base).register(owner.name), "builder")
    assert (await again.request("GET", KEYS)).body == {"api_keys": []}


async def test_an_idempotent_creation_answers_one_key_again(owner: Client, unique: str):
    async def create(name: str = "x") -> Answer:
        return await owner.request("POST", KEYS, json={"name": name}, headers={"Idempotency-Key": unique})

    answers = await asyncio.gather(*(create() for _ in range(8)))
    assert {answer.http for answer in answers} == {201}
    assert len({answer.body["key"] for answer in answers}) == 1
    assert sum(answer.headers.get("Idempotency-Replayed") == "true" for answer in answers) == 7
    assert len((await owner.request("GET", KEYS)).body["api_keys"]) == 1
    (await create("y")).refused(3002, 409)
    assert (await owner.request("DELETE", f"{KEYS}/{answers[0].body['id']}")).http == 204
    assert (await create()).body == answers[0].body
    (await Client(owner.http, owner.base, answers[0].body["key"]).command("US_Read")).refused(2001, 401)


async def test_a_key_s_context_is_its_own_and_survives_a_restart(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as nobody:
            owner = await on_plan(await nobody.register("lovelace"), "builder")
            _, key = await make_key(owner)
            await owner.agent("first-agent")
            await key.agent("second-agent", select=False)
            (await key.command("AP_Select", target={"agent": "second-agent"})).ok()
            (await key.command("DM_Create", vx={"name": "observatory", "description": "d"})).ok()
            (await key.command("ZN_Create", target={"domain": "observatory"}, vx={"name": "dome-zone"})).ok()
            (await key.command("ZN_Select", target={"domain": "observatory", "zone": "dome-zone"})).ok()
            mine = (await owner.command("US_Read")).ok().context
            its = (await key.command("US_Read")).ok().context
            assert its == {"user": "lovelace", "agent": "second-agent", "domain": "observatory", "zone": "dome-zone"}
            assert mine == {"user": "lovelace", "agent": "first-agent", "domain": None, "zone": None}
        for end in (gateway.stop, gateway.kill):
            await end()
            await gateway.start()
            async with gateway.client() as nobody:
                for client, context in ((owner, mine), (key, its)):
                    client.http, client.base = nobody.http, gateway.base
                    assert (await client.command("US_Read")).ok().context == context


# mistyped keys


@pytest.mark.one_node(reason="it compares counts of /metrics, which are of one node")
async def test_a_mistyped_key_is_refused_without_a_look_up(owner: Client):
    made, _ = await make_key(owner)
    key = made["key"]
    swapped = key[:9] + key[10] + key[9] + key[11:] if key[9] != key[10] else key[:-1] + "~"
    mistyped = [swapped, key[:-1], key + "0", key.swapcase(), key.replace("plk", "pls"), "plk_", "x", "plk_" + "0" * 38]
    before = await lookups(owner)
    for token in mistyped:
        for headers in ({"Authorization": f"Bearer {token}"}, {"X-Api-Key": token}):
            answer = await Client(owner.http, owner.base).command("US_Read", headers=headers)
            answer.refused(2001, 401)
            assert len(token) < 5 or token not in answer.note
    assert await lookups(owner) == before
    for number in (1, 2):
        stranger = Client(owner.http, owner.base, new_token(API_KEY))
        (await stranger.command("US_Read")).refused(2001, 401)
        assert await lookups(owner) == before + number


def test_the_pattern_for_secret_scanners_finds_tokens_and_nothing_shorter_or_longer():
    said = (CHECKOUT / "docs/access.md").read_text()
    (pattern,) = re.findall(r"^    (\\bpl.*)$", said, re.MULTILINE)
    scanner = re.compile(pattern)
    for kind in KINDS:
        for _ in range(200):
            token = new_token(kind)
            for text in (token, f'key = "{token}"', f"Bearer {token}\n", f"({token})", f"X-Api-Key: {token}"):
                assert scanner.findall(text) == [token]
            for typo in (token[:-1], f"{token}0", token.replace("_", ""), f"x{token}", token.replace("pl", "p")):
                assert scanner.findall(typo) == []


# time


@dataclass
class Clocked:
    """A gateway with sandbox keys, a trusted proxy and a movable clock."""

    gateway: GatewayProcess
    nobody: Client
    clock: ClockFile

    async def restart(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        assert await self.gateway.stop() == 0
        meanwhile()
        await self.gateway.start()
        self.nobody.base = self.gateway.base

    def use(self, token: str) -> Client:
        return Client(self.nobody.http, self.nobody.base, token)

    async def sandbox(self, address: str | None = None) -> Answer:
        headers = {"X-Forwarded-For": address or next(_addresses)}
        return await self.nobody.request("POST", SANDBOX, headers=headers)


@pytest.fixture
async def clocked(tmp_path: Path) -> AsyncIterator[Clocked]:
    clock = ClockFile(tmp_path / "clock")
    settings = {
        "TEST_CLOCK": str(clock.path),
        "PARLEY_SANDBOX_KEYS_ENABLED": "true",
        "PARLEY_SANDBOX_KEYS_PER_HOUR": "3",
        "PARLEY_TRUSTED_PROXIES": "127.0.0.1",
    }
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as nobody,
    ):
        yield Clocked(gateway, nobody, clock)


async def test_a_stream_that_a_key_follows_ends_when_the_key_does(tmp_path: Path):
    clock = ClockFile(tmp_path / "clock")
    settings = {"TEST_CLOCK": str(clock.path), "PARLEY_SESSION_TTL_S": "6"}  # so that uses are recorded often
    async with (
        running(tmp_path / "data", script=ENGINES / "clocked.py", **settings) as gateway,
        gateway.client() as nobody,
    ):
        owner = await on_plan(await nobody.register("lovelace"), "builder")
        _, key = await make_key(owner, expires_in_days=1)
        await key.agent("first-agent")
        (await key.command("DM_Create", vx={"name": "observatory", "description": "d"})).ok()
        async with following(key, "observatory") as stream:
            clock.move(DAY_MS)
            assert await stream.next() == {"end": "expired"}


# sandbox keys


async def test_sandbox_keys_are_refused_unless_enabled(sanic_client: Client):
    answer = await sanic_client.request("POST", SANDBOX)
    assert answer.refused(2003, 403).http == 403


async def test_a_sandbox_key_is_a_hundred_requests_a_day_as_a_user_of_its_own(clocked: Clocked):
    answer = await clocked.sandbox()
    assert answer.http == 201
    body = answer.body
    assert list(body) == ["id", "key", "plan", "limit", "window"]
    assert re.fullmatch(r"key_[0-9a-f]{32}", body["id"])
    assert token_kind(body["key"]) == SANDBOX_KEY
    assert (body["plan"], body["limit"]) == ("free", 100)
    key, other = clocked.use(body["key"]), clocked.use((await clocked.sandbox()).body["key"])
    answers = await asyncio.gather(*(key.command("US_Read") for _ in range(130)))
    served = [answer.ok() for answer in answers if answer.http == 200]
    assert len(served) == 100
    refused = [answer.refused(4000, 429) for answer in answers if answer.http != 200]
    assert all(answer.headers["Retry-After"] for answer in refused)
    assert refused[0].note.endswith("; wait, or register with US_Create.")
    shown = (await other.command("US_Read")).ok().profile[0]
    assert shown["name"] != served[0].profile[0]["name"]
    assert (shown["quota"]["used"], shown["quota"]["window"]) == (1, body["window"])


async def test_a_sandbox_key_works_as_an_api_key_does(clocked: Clocked):
    key = clocked.use((await clocked.sandbox()).body["key"])
    await key.agent("scout-agent")
    (await key.command("AP_Chat", content="hello")).ok()
    (await key.command("US_LogOff")).refused(2003, 403)
    assert "US_Create" in (await key.request("POST", KEYS, json={"name": "x"})).refused(2003, 403).note


@pytest.mark.parametrize("idempotency_key", ["one-key", "not a key"])
async def test_a_repeat_with_a_credential_and_an_idempotency_key_makes_another_sandbox(
    clocked: Clocked, idempotency_key: str
):
    first = clocked.use((await clocked.sandbox()).body["key"])
    headers = {"Idempotency-Key": idempotency_key, "X-Forwarded-For": next(_addresses)}
    answers = [await first.request("POST", SANDBOX, headers=headers) for _ in range(2)]
    assert [answer.http for answer in answers] == [201, 201]
    assert answers[0].body["id"] != answers[1].body["id"]


@pytest.mark.parametrize("secret", ["", " ", PASSWORD])
async def test_the_user_of_a_sandbox_key_has_no_password_and_gets_none(clocked: Clocked, secret: str):
    key = clocked.use((await clocked.sandbox()).body["key"])
    name = (await key.command("US_Read")).ok().context["user"]
    logged_on = await clocked.nobody.command("US_LogOn", target={"user": name}, vx={"secret": secret})
    assert logged_on.code == (2002 if secret.strip() else 1002)
    if secret.strip():
        for service in ("US_Update", "US_Destroy"):
            assert "US_Create" in (await key.command(service, vx={"secret": secret})).refused(2003, 403).note
        (await clocked.nobody.command("US_LogOn", target={"user": name}, vx={"secret": secret})).refused(2002, 401)
    (await key.command("US_Update", vx={"description": "mine"})).ok()


async def test_sandbox_keys_are_throttled_per_address(clocked: Clocked):
    address = next(_addresses)
    for _ in range(3):
        assert (await clocked.sandbox(address)).http == 201
    answer = await clocked.sandbox(address)
    assert answer.refused(4001, 429).http == 429
    assert 3_500 <= int(answer.headers["Retry-After"]) <= 3_601
    assert (await clocked.sandbox()).http == 201
    clocked.clock.move(3_601_000)
    (await clocked.sandbox(address)).refused(4001, 429)  # only the time of day was set; no time has passed
    clocked.clock.move(-2 * 3_601_000)
    clocked.clock.tick(3_601_000)
    assert (await clocked.sandbox(address)).http == 201


async def test_sandbox_keys_are_throttled_per_64_of_ipv6(clocked: Clocked):
    for number in range(3):
        assert (await clocked.sandbox(f"2001:db8:1:1::{number}")).http == 201
    (await clocked.sandbox("2001:db8:1:1:2:3:4:5")).refused(4001, 429)
    assert (await clocked.sandbox("2001:db8:1:2::1")).http == 201


# secrecy


async def test_no_key_token_or_password_is_in_logs_debug_pages_or_database_files(tmp_path: Path):
    settings: dict[str, Any] = {
        "PARLEY_LOG_LEVEL": "debug",
        "PARLEY_LOG_FORMAT": "json",
        "PARLEY_SANDBOX_KEYS_ENABLED": "true",
    }
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as nobody:
        password = "a password of this test"
        owner = await on_plan(await nobody.register("lovelace", password), "scale")
        idempotent = {"Idempotency-Key": "kept-key-of-mine"}
        answer = await owner.request("POST", KEYS, json={"name": "x"}, headers=idempotent)
        key = Client(nobody.http, nobody.base, answer.body["key"])
        again = await owner.request("POST", KEYS, json={"name": "x"}, headers=idempotent)
        assert again.body == answer.body
        sandbox = nobody_with((await nobody.request("POST", SANDBOX)).body["key"], nobody)
        for client in (owner, key, sandbox):
            (await client.command("US_Read")).ok()
            (await client.command("AP_Create", vx={"name": "!", "description": "d"})).refused(1003, 400)
        mistyped = (key.token or "")[:-1] + "~"
        (await nobody_with(mistyped, nobody).command("US_Read")).refused(2001, 401)
        tokens = [owner.token, key.token, sandbox.token, mistyped]
        secrets = [*tokens, password, *idempotent.values(), *SECRET.values()]
        pages = [(await nobody.request("GET", "/debug/actors", headers=SECRET)).body]
        for actor in pages[0]["actors"]:
            path = f"/debug/actors/{actor['kind']}/{actor['key']}"
            pages.append((await nobody.request("GET", path, headers=SECRET)).body)
        pages.append((await nobody.request("GET", "/metrics")).body)
        pages.append((await owner.request("GET", "/api/audit")).body)
        await check_files(gateway, secrets)
        assert await gateway.stop() == 0
        await check_files(gateway, secrets)
        for secret in secrets:
            assert secret
            assert secret not in str(pages)


def nobody_with(token: str, nobody: Client) -> Client:
    return Client(nobody.http, nobody.base, token)


async def check_files(gateway: GatewayProcess, secrets: list[str | None]) -> None:
    kept = await contents(gateway.data)
    assert ("credentials" if ON_POSTGRES else "parley.db") in kept
    for name, content in (kept | {"the log": gateway.log.read_bytes()}).items():
        for secret in secrets:
            assert (secret or "").encode() not in content, f"{name} holds {(secret or '')[:4]}..."
