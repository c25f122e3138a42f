"""Where the console's cookie is a credential, and with which proof (docs/contract.md, "The console's cookie")."""

from typing import Any, NamedTuple

import orjson
import pytest

from tests.support.cookies import NAME, PROOF, CookieSession, logged_on
from tests.support.gateway import BUS, Answer, Client
from tests.support.operator import Cast
from tests.support.wire import connected, events_of, raw_post, read_answer, send_raw


class Asked(NamedTuple):
    """A request that an operator may send; `taken` tells whether the cookie is a credential there."""

    method: str
    path: str
    body: Any = None
    taken: bool = True

    @property
    def safe(self) -> bool:
        return self.method in ("GET", "HEAD")


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "US_Read", "arguments": {}}}
CHAT = {"model": "{agent}", "messages": [{"role": "user", "content": "Hello"}]}
SAID = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
RUN = {
    "threadId": "t-1",
    "runId": "r-1",
    "state": {},
    "messages": [{"id": "u-1", "role": "user", "content": "Hello"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}

TABLE = [
    Asked("POST", BUS, {"service": "US_Read"}),
    Asked("POST", f"{BUS}/", {"service": "AP_Create", "vx": {"name": "{unique}-new", "description": "d"}}),
    Asked("POST", f"{BUS}/user/read", {}),
    Asked("POST", f"{BUS}/agent/chat", {"target": {"agent": "{agent}"}, "content": "Hello"}),
    Asked("GET", "/api/skills"),
    Asked("HEAD", "/api/skills"),
    Asked("GET", "/api/audit"),
    Asked("POST", "/api/documents", {"name": "notes.md", "content": "Notes"}),
    Asked("PATCH", "/api/webhooks/endpoints/whe_none", {"active": False}),
    Asked("DELETE", "/api/skills/none"),
    Asked("GET", "/api/runs/run_none"),
    Asked("GET", "/api/admin/users"),
    Asked("PUT", "/api/admin/users/{target}/role", {"role": "user"}),
    Asked("GET", "/debug/actors"),
    Asked("HEAD", "/debug/actors"),
    Asked("GET", "/console/session"),
    Asked("DELETE", "/console/session"),
    Asked("POST", "/mcp", CALL, taken=False),
    Asked("GET", "/mcp", taken=False),
    Asked("GET", "/v1/models", taken=False),
    Asked("POST", "/v1/chat/completions", CHAT, taken=False),
    Asked("POST", "/v1/responses", {"model": "{agent}", "input": "Hello"}, taken=False),
    Asked("DELETE", "/v1/responses/resp_none", taken=False),
    Asked("POST", "/a2a/{agent}", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": SAID}, taken=False),
    Asked("POST", "/a2a/{agent}/message:send", SAID, taken=False),
    Asked("GET", "/a2a/{agent}/tasks", taken=False),
    Asked("POST", "/ag-ui/{agent}", RUN, taken=False),
]


async def send(asked: Asked, client: Client, names: dict[str, str], headers: dict[str, str]) -> Answer:
    body = orjson.dumps(asked.body).decode()
    for name, value in names.items():
        body = body.replace(f"{{{name}}}", value)
    if asked.path.startswith("/mcp"):
        headers = headers | {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": "none"}
    if asked.path.startswith("/a2a"):
        headers = headers | {"A2A-Version": "1.0"}
    sent = {"data": body.encode()} if asked.body is not None else {}
    headers = headers | ({"Content-Type": "application/json"} if sent else {})
    return await client.request(asked.method, asked.path.format(**names), headers=headers, **sent)


def told(asked: Asked, answer: Answer) -> tuple[int, int | None]:
    """Return the status and the internal code; the answer to HEAD has none."""
    status: Any = answer.body.get("status") if isinstance(answer.body, dict) else None
    return (status["http_code"], status["internal_code"]) if isinstance(status, dict) else (answer.http, None)


@pytest.mark.parametrize("asked", TABLE, ids=lambda asked: f"{asked.method} {asked.path}")
async def test_the_cookie_is_taken_where_it_shall_be_and_with_its_proof(cast: Cast, asked: Asked, unique: str):
    page = await logged_on(cast.operator, cast.operator.name)
    other = await logged_on(cast.operator, cast.operator.name)
    names = {"agent": cast.agent, "target": cast.target.name, "unique": unique}
    wrong = ("", "0" * 64, other.csrf, page.csrf[:-1], page.csrf.upper(), page.token)
    for headers in (page.cookie, *(page.cookie | {PROOF: proof} for proof in wrong)):
        answer = await send(asked, page.client, names, headers)
        if not asked.taken:
            assert answer.http == 401, answer.body
        elif asked.safe:
            assert told(asked, answer) in ((200, None), (404, 3000)), answer.body
        else:
            answer.refused(2003, 403)
            assert "CSRF" in answer.note
    answer = await send(asked, page.client, names, page.proven)
    if asked.taken:
        assert told(asked, answer)[0] in (200, 202, 204, 404), answer.body
        assert told(asked, answer)[1] in (None, 0, 3000), answer.body
    else:
        assert answer.http == 401, answer.body


@pytest.mark.parametrize("asked", [asked for asked in TABLE if asked.taken], ids=lambda a: f"{a.method} {a.path}")
async def test_a_credential_in_a_header_needs_no_proof_beside_a_cookie(cast: Cast, asked: Asked, unique: str):
    page = await logged_on(cast.target, cast.target.name)
    names = {"agent": cast.agent, "target": cast.target.name, "unique": unique}
    headers = page.cookie | {"Authorization": f"Bearer {cast.operator.token}"}
    answer = await send(asked, page.client, names, headers)
    assert told(asked, answer)[1] in (None, 0, 3000), answer.body


async def test_roles_hold_for_cookies(cast: Cast):
    role = f"/api/admin/users/{cast.target.name}/role"
    reads = {"user": 403, "auditor": 200, "operator": 200}
    changes = {"user": 403, "auditor": 403, "operator": 200}
    for user in (cast.user, cast.auditor, cast.operator):
        page = await logged_on(user, user.name)
        kind = page.record["role"]
        for path in ("/api/admin/users?limit=1", "/api/admin/audit?limit=1", "/debug/actors?limit=1"):
            assert (await page.client.request("GET", path, headers=page.cookie)).http == reads[kind], (kind, path)
        assert (await page.request("PUT", role, json={"role": "user"})).http == changes[kind]


FORMS = [
    ("text/plain", b'{"service": "AP_Create", "vx": {"name": "%s-form", "description": "d"}}'),
    ("application/x-www-form-urlencoded", b"service=AP_Create&name=%s-form"),
    ("multipart/form-data; boundary=x", b"--x\r\n%s-form\r\n--x--\r\n"),
    ("", b'{"service": "AP_Create", "vx": {"name": "%s-form", "description": "d"}}'),
]


@pytest.mark.parametrize(("media_type", "form"), FORMS)
async def test_a_form_of_another_site_changes_nothing(page: CookieSession, unique: str, media_type: str, form: bytes):
    headers = page.cookie | {"Content-Type": media_type, "Origin": "https://other.example.org"}
    for path in (BUS, f"{BUS}/agent/create", "/api/documents", "/api/skills/install"):
        answer = await page.client.request("POST", path, data=form % unique.encode(), headers=headers)
        assert answer.http >= 400, answer.body
    assert (await page.command("AP_List")).ok().profile == []
    assert (await page.request("GET", "/api/skills")).body["skills"] == []


async def test_a_chat_streams_with_the_cookie(page: CookieSession, unique: str):
    (await page.command("AP_Create", vx={"name": f"{unique}-a", "description": "d"})).ok()
    (await page.command("AP_LogOn", target={"agent": f"{unique}-a"})).ok()
    body = {"service": "AP_Chat", "target": {"agent": f"{unique}-a"}, "content": "Hello"}
    headers = page.proven | {"Accept": "text/event-stream"}
    client = page.client
    async with client.http.post(client.base + BUS, json=body, headers=headers) as response:
        events = [event async for event in events_of(response)]
    assert events[-1].name == "response"
    assert events[-1].data["status"]["success"] is True
    async with client.http.post(
        client.base + BUS, json=body, headers=page.cookie | {"Accept": "text/event-stream"}
    ) as refused:
        assert (await refused.json())["status"]["internal_code"] == 2003


async def test_public_commands_and_open_routes_need_no_proof_beside_a_cookie(page: CookieSession, unique: str):
    vx = {"name": f"{unique}-new", "secret": "a long enough secret"}
    created = await page.client.request("POST", BUS, json={"service": "US_Create", "vx": vx}, headers=page.cookie)
    created.ok()
    log_on = {"service": "US_LogOn", "target": {"user": vx["name"]}, "vx": {"secret": vx["secret"]}}
    (await page.client.request("POST", BUS, json=log_on, headers=page.cookie)).ok()
    not_enabled = await page.client.request("POST", "/api/dev/sandbox-key", headers=page.cookie)
    assert not_enabled.note == (await page.client.request("POST", "/api/dev/sandbox-key")).note
    for path in ("/docs", "/metrics", "/api/health", "/"):
        assert (await page.client.request("GET", path, headers=page.cookie)).http == 200


# cookies that no browser has from here


JUNK = [
    NAME,
    f"{NAME}=",
    f"{NAME}==",
    f"{NAME}=undefined",
    f'{NAME}="{{token}}"',
    f"{NAME.upper()}={{token}}",
    f"x{NAME}={{token}}",
    f"{NAME}={{token}}x",
    f"{NAME}={{token}} x",
    f"{NAME}={{key}}",
    f"{NAME}=pls_" + "a" * 7_000,
    f"{NAME}={{token}}; {NAME}={{other}}",
    f"{NAME}={{other}}; a=b; {NAME}={{token}}",
    f"{NAME}={{token}}; {NAME}=",
    f"{NAME}=a-session-without-its-proof",
    "; ".join(f"c{number}={number}" for number in range(700)),
    "=;=;;;=",
]


@pytest.mark.parametrize("cookie", JUNK, ids=lambda cookie: cookie[:40])
async def test_a_cookie_that_is_not_clearly_a_session_is_none(page: CookieSession, cookie: str):
    other = await logged_on(page.client, page.record["user"])
    key = (await page.request("POST", "/api/api-keys", json={"name": "a key"})).body["key"]
    for name, value in (("token", page.token), ("other", other.token), ("key", key)):
        cookie = cookie.replace(f"{{{name}}}", value)
    for headers in ({"Cookie": cookie}, {"Cookie": cookie, PROOF: page.csrf}):
        (await page.client.request("GET", "/api/skills", headers=headers)).refused(2000, 401)
        (await page.client.request("POST", BUS, json={"service": "US_Read"}, headers=headers)).refused(2000, 401)


@pytest.mark.parametrize(
    "cookie",
    [
        "{own}",
        "a=b; {own}",
        "{own}; a=b",
        "a=b;{own};",
        "{own}; {own}",
        'a="x; y"; {own}',
        "theme=dark\r\nCookie: {own}",
    ],
)
async def test_the_cookie_is_found_among_others(page: CookieSession, cookie: str):
    own = f"{NAME}={page.token}"
    lines = ("GET /api/skills HTTP/1.1", "Host: gateway", f"Cookie: {cookie.replace('{own}', own)}", "", "")
    answer = await send_raw(page.client.base, "\r\n".join(lines).encode())
    assert answer.http == 200, answer.body


# the ways into the gateway: whole, in pieces, and pipelined


def post(page: CookieSession, *headers: str) -> bytes:
    cookie = f"Cookie: {NAME}={page.token}"
    body = orjson.dumps({"service": "US_Read"})
    return raw_post(BUS, body, "Content-Type: application/json", cookie, *headers)


async def test_it_is_taken_and_refused_alike_on_the_fast_path_and_beside_it(page: CookieSession, member: Client):
    proven, bare = post(page, f"{PROOF}: {page.csrf}"), post(page)
    with_header = post(page, f"Authorization: Bearer {member.token}")
    async with connected(page.client.base) as (reader, writer):
        writer.write(proven)
        assert (await read_answer(reader)).ok().context["user"] == member.name
        for pieces in ((proven,), (proven[:40], proven[40:]), (proven[:-3], proven[-3:])):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            (await read_answer(reader)).ok()
        for _ in range(3):
            writer.write(bare)
            (await read_answer(reader)).refused(2003, 403)
            writer.write(with_header)
            (await read_answer(reader)).ok()


async def test_pipelined_requests_are_each_looked_at_alone(page: CookieSession, member: Client):
    proven, bare = post(page, f"{PROOF}: {page.csrf}"), post(page)
    with_header = post(page, f"X-Api-Key: {member.token}")
    nobody = raw_post(BUS, b'{"service": "US_Read"}', "Content-Type: application/json")
    requests = (proven, bare, with_header, nobody, with_header, bare, proven)
    async with connected(page.client.base) as (reader, writer):
        writer.write(b"".join(requests))
        codes = [(await read_answer(reader)).code for _ in requests]
    assert codes == [0, 2003, 0, 2000, 0, 2003, 0]
