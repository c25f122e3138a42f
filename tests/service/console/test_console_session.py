"""Log-on to the console, its session, and its end (docs/contract.md, "The console's session")."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from config.version import VERSION
from tests.support.cookies import NAME, PROOF, SESSION, CookieSession, logged_on, try_log_on
from tests.support.gateway import BUS, PASSWORD, Client, running
from tests.support.log_ons import OTHER, WRONG, elsewhere, log_on
from tests.support.operator import Cast

KEPT = ["HttpOnly", "Path=/", "SameSite=Strict"]


def attributes(header: str) -> list[str]:
    return sorted(header.split("; ")[1:])


async def test_a_log_on_answers_what_the_page_needs_and_sets_a_cookie_that_scripts_can_t_read(member: Client):
    answer = await try_log_on(member, member.name.upper())
    assert answer.http == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(answer.body) == {"user", "role", "csrf", "expires_at", "version", "bus"}
    told = {name: answer.body[name] for name in ("user", "role", "version", "bus")}
    assert told == {"user": member.name, "role": "user", "version": VERSION, "bus": BUS}
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{NAME}=pls_")
    assert attributes(cookie) == KEPT
    assert cookie.partition("=")[2][:20] not in str(answer.body)


@pytest.mark.parametrize(
    ("headers", "secure"),
    [
        ({"X-Forwarded-Proto": "https"}, True),
        ({"Forwarded": "for=192.0.2.7;proto=https;host=parley.example.org"}, True),
        ({"X-Forwarded-Proto": "http"}, False),
        ({"Forwarded": "for=192.0.2.7;proto=http", "X-Forwarded-Proto": "https"}, False),
        ({}, False),
    ],
)
async def test_the_cookie_is_secure_where_a_trusted_proxy_was_asked_by_https(
    member: Client, headers: dict[str, str], secure: bool
):
    expected = sorted([*KEPT, *(["Secure"] if secure else [])])
    answer = await try_log_on(member, member.name, **headers)
    assert attributes(answer.headers["Set-Cookie"]) == expected
    session = await logged_on(member, member.name)
    ended = await session.request("DELETE", SESSION, headers=headers)
    assert attributes(ended.headers["Set-Cookie"]) == sorted([*expected, "Max-Age=0"])


async def test_a_proxy_that_is_not_trusted_can_t_make_the_cookie_secure(user: Client):
    answer = await try_log_on(user, user.name, **{"X-Forwarded-Proto": "https", "Forwarded": "proto=https"})
    assert attributes(answer.headers["Set-Cookie"]) == KEPT


async def test_the_session_s_record_is_read_without_a_proof_and_without_being_counted(
    page: CookieSession, member: Client
):
    used = (await member.command("US_Read")).ok().profile[0]["quota"]["used"]
    for _ in range(3):
        answer = await page.client.request("GET", SESSION, headers=page.cookie)
        assert answer.http == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.body == page.record
    assert (await member.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 1


async def test_a_credential_in_a_header_wins_over_the_cookie(nobody: Client, page: CookieSession, unique: str):
    other = await nobody.register(f"{unique}-other")
    key = await page.request("POST", "/api/api-keys", json={"name": "a key"})
    for header in ({"Authorization": f"Bearer {other.token}"}, {"X-Api-Key": other.token or ""}):
        read = await nobody.request("POST", BUS, json={"service": "US_Read"}, headers=page.cookie | header)
        assert read.ok().context["user"] == other.name
        assert (await nobody.request("GET", SESSION, headers=page.cookie | header)).body["user"] == other.name
    for header in ({"Authorization": "Bearer pls_wrong"}, {"X-Api-Key": "wrong"}):
        for method, path in (("GET", "/api/skills"), ("GET", SESSION), ("DELETE", SESSION)):
            (await nobody.request(method, path, headers=page.proven | header)).refused(2001, 401)
    for header in ({"Authorization": ""}, {"X-Api-Key": ""}):
        (await nobody.request("GET", "/api/skills", headers=page.proven | header)).refused(2000, 401)
    of_key = page.proven | {"X-Api-Key": key.body["key"]}
    for method in ("GET", "DELETE"):
        (await nobody.request(method, SESSION, headers=of_key)).refused(2003, 403)
    assert (await page.request("GET", SESSION)).http == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": " ", "password": PASSWORD}, 1002),
        ({"name": "some-name", "password": ""}, 1002),
        ({"name": "nobody-of-this-name", "password": PASSWORD}, 2002),
        ({"name": "x" * 5_000, "password": PASSWORD}, 1003),
        ({"name": 7, "password": PASSWORD}, 1003),
        ({"name": "some-name", "password": "\0" * 12}, 1003),
        ({"name": "some-name"}, 1002),
        ({}, 1002),
        ({"name": "some-name", "password": PASSWORD, "secret": "x"}, 1003),
        ([], 1000),
    ],
)
async def test_a_wrong_log_on_sets_no_cookie(nobody: Client, body: Any, code: int):
    answer = await nobody.request("POST", SESSION, json=body, headers=elsewhere())
    assert 400 <= answer.http < 500
    assert answer.http == answer.body["status"]["http_code"]
    assert answer.code == code
    assert "target" not in answer.note
    assert "Set-Cookie" not in answer.headers


FORMS = [
    ({"Content-Type": "text/plain"}, '{"name": "%s", "password": "%s"}'),
    ({"Content-Type": "application/x-www-form-urlencoded"}, "name=%s&password=%s"),
    ({"Content-Type": "multipart/form-data; boundary=x"}, '--x\r\n{"name": "%s", "password": "%s"}\r\n--x--\r\n'),
    ({"Content-Type": ""}, '{"name": "%s", "password": "%s"}'),
]


@pytest.mark.parametrize(("headers", "form"), FORMS)
async def test_a_form_of_another_site_opens_no_session(member: Client, headers: dict[str, str], form: str):
    answer = await member.as_user().request(
        "POST", SESSION, data=(form % (member.name, PASSWORD)).encode(), headers=headers
    )
    answer.refused(1008, 415)
    assert answer.http == 415
    assert "Set-Cookie" not in answer.headers
    assert len((await member.command("US_Sessions")).ok().profile) == 1


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "{own}"}, False),
        ({"Origin": "{own}"}, True),
        ({"Origin": "https://other.example.org"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "{own}.example.org"}, False),
        ({"Origin": "http://["}, False),
        ({"Origin": "http://[1]"}, False),
        ({"Origin": "http://℀.example.org"}, False),
        ({"Origin": ""}, False),
        ({"Origin": "null", "Host": ""}, False),
        ({"Origin": "", "Host": ""}, False),
        ({"Origin": "http://[::1]:8080", "Host": "[::1]:8080"}, True),
        ({"Host": "[::1]:8080"}, True),
        ({"X-Forwarded-Host": "["}, True),
        ({"Origin": "{own}", "X-Forwarded-Host": "["}, True),
        ({"Origin": "http://[", "X-Forwarded-Host": "["}, False),
        ({"Origin": "https://parley.example.org", "X-Forwarded-Host": "parley.example.org"}, True),
        ({"Origin": "https://parley.example.org", "X-Forwarded-Host": "evil.example.org"}, False),
    ],
)
async def test_a_page_of_another_origin_can_t_log_on(member: Client, headers: dict[str, str], let_in: bool):
    sent = {name: value.replace("{own}", member.base) for name, value in headers.items()}
    answer = await try_log_on(member, member.name, **sent)
    if let_in:
        assert answer.http == 200, answer.body
    else:
        answer.refused(2003, 403)
        assert "Set-Cookie" not in answer.headers


async def test_failed_log_ons_are_throttled_together_with_those_of_us_log_on(member: Client):
    address = elsewhere()
    for _ in range(5):
        (await try_log_on(member, member.name, WRONG, **address)).refused(2002, 401)
        (await log_on(member.as_user(), member.name, WRONG, **address)).refused(2002, 401)
    refused = await try_log_on(member, member.name, **address)
    assert refused.refused(4001, 429).http == 429
    assert int(refused.headers["Retry-After"]) > 0
    (await log_on(member.as_user(), member.name, **address)).refused(4001, 429)
    await logged_on(member, member.name, **elsewhere())


async def test_the_end_of_the_session_takes_the_cookie_away(page: CookieSession, member: Client):
    (await page.client.request("DELETE", SESSION, headers=page.cookie)).refused(2003, 403)
    (await page.client.request("DELETE", SESSION, headers=page.cookie | {PROOF: "0" * 64})).refused(2003, 403)
    ended = await page.request("DELETE", SESSION)
    assert ended.http == 204
    assert ended.headers["Set-Cookie"].startswith(f"{NAME}=;")
    for method in ("GET", "DELETE"):
        (await page.request(method, SESSION)).refused(2001, 401)
    (await page.command("US_Read")).refused(2001, 401)
    assert len((await member.command("US_Sessions")).ok().profile) == 1


async def test_a_log_off_on_the_bus_ends_it_too(page: CookieSession):
    (await page.command("US_LogOff")).ok()
    (await page.request("GET", SESSION)).refused(2001, 401)


async def test_a_new_password_ends_the_other_cookies(nobody: Client, page: CookieSession, member: Client):
    other = await logged_on(nobody, member.name)
    (await other.command("US_Update", vx={"secret": OTHER})).ok()
    (await page.request("GET", SESSION)).refused(2001, 401)
    (await page.command("US_Read")).refused(2001, 401)
    assert (await other.request("GET", SESSION)).http == 200
    (await try_log_on(nobody, member.name, **elsewhere())).refused(2002, 401)


async def test_a_suspended_user_is_out_at_once(nobody: Client, cast: Cast):
    page = await logged_on(nobody, cast.target.name)
    operator = await logged_on(nobody, cast.operator.name)
    path = f"/api/admin/users/{cast.target.name}"
    assert (await operator.request("POST", f"{path}/suspend")).http == 200
    for method, asked in (("GET", SESSION), ("GET", "/api/skills"), ("DELETE", SESSION)):
        (await page.request(method, asked)).refused(2001, 401)
    (await page.command("US_Read")).refused(2001, 401)
    (await try_log_on(nobody, cast.target.name)).refused(2005, 403)
    assert (await operator.request("POST", f"{path}/resume")).http == 200
    assert (await (await logged_on(nobody, cast.target.name)).request("GET", SESSION)).http == 200


async def test_a_new_role_shows_in_the_record(nobody: Client, cast: Cast):
    page, operator = await logged_on(nobody, cast.user.name), await logged_on(nobody, cast.operator.name)
    assert operator.record["role"] == "operator"
    for role in ("auditor", "user"):
        path = f"/api/admin/users/{cast.user.name}/role"
        assert (await operator.request("PUT", path, json={"role": role})).http == 200
        assert (await page.request("GET", SESSION)).body["role"] == role


async def test_reading_the_session_does_not_keep_it_alive(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SESSION_TTL_S="1") as gateway, gateway.client() as client:
        page = await logged_on(await client.register("ada-lovelace"), "ada-lovelace")
        async with asyncio.timeout(30):
            while (answer := await page.request("GET", SESSION)).http == 200:
                assert answer.body == page.record
                await asyncio.sleep(0.05)
        answer.refused(2001, 401)


@pytest.mark.parametrize("body", [None, {}], ids=["no body", "a body"])
async def test_what_the_page_does_with_its_session_leaves_no_error_in_the_log(
    tmp_path: Path, body: dict[str, Any] | None
):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as client:
            page = await logged_on(await client.register("ada-lovelace"), "ada-lovelace")
            assert (await page.request("GET", SESSION, json=body)).http == 200
            assert (await page.request("DELETE", SESSION, json=body)).http == 204
        assert await gateway.stop() == 0
        assert "not consumed" not in gateway.logged()


async def test_a_disabled_console_is_not_there_and_its_cookie_is_worth_nothing(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_CONSOLE_ENABLED="false") as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        page = CookieSession(client, user.token or "", "", {})
        for path in ("/console", "/console/agents", "/console/assets/x/app/app.js", SESSION):
            assert (await client.request("GET", path)).http == 404
        (await try_log_on(client, "ada-lovelace")).refused(1006, 404)
        (await page.request("GET", "/api/skills")).refused(2000, 401)
        (await page.command("US_Read")).refused(2000, 401)
        watch = await user.request("GET", "/console/watch?bank=none")
        assert watch.refused(1006, 404).http == 404
        assert "console" not in (await client.request("GET", "/")).body["links"]
        assert "console" not in (await client.request("GET", "/", headers={"Accept": "text/html"})).body
        assert "/console" not in (await client.request("GET", "/docs")).body
