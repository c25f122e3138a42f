"""The command bus and its aliases: the shape of answers, the order of checks, and every service."""

import io
import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.support.gateway import BUS, Answer, Client

NOBODY = {"user": None, "agent": None, "domain": None, "zone": None}
HEADER = {"service", "request_id", "time", "context", "next"}

# the shape of answers


async def test_a_success_has_header_status_profile_and_content_and_no_note(user: Client):
    answer = (await user.command("US_Read")).ok()
    assert answer.body.keys() == {"header", "status", "profile", "content"}
    assert answer.body["header"].keys() == HEADER
    assert len(answer.profile) == 1
    assert answer.content == []
    assert answer.headers["Content-Type"] == "application/json"


async def test_a_refusal_has_the_same_shape_with_a_note_and_empty_lists(user: Client):
    answer = (await user.command("AP_Read", target={"agent": "nobody-s-agent"})).refused(3000, 404)
    assert answer.body.keys() == {"header", "status", "profile", "content"}
    assert answer.body["header"].keys() == HEADER
    assert answer.body["status"].keys() == {"success", "internal_code", "http_code", "note"}
    assert answer.profile == answer.content == []


async def test_the_header_names_the_service_and_the_time_in_utc_with_milliseconds(user: Client):
    header = (await user.alias("/user/read")).ok().body["header"]
    assert header["service"] == "US_Read"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", header["time"])
    assert abs(datetime.fromisoformat(header["time"]) - datetime.now(UTC)) < timedelta(seconds=30)


async def test_the_context_names_what_is_selected_after_the_command(user: Client, unique: str):
    assert (await user.command("US_Read")).context == NOBODY | {"user": user.name}
    await user.agent(f"{unique}-scout", online=False, select=False)
    selected = NOBODY | {"user": user.name, "agent": f"{unique}-scout"}
    assert (await user.command("AP_Select", target={"agent": f"{unique}-scout"})).context == selected
    assert (await user.command("US_Read")).context == selected
    assert (await user.command("AP_Read", target={"agent": "unknown"})).refused(3000, 404).context == selected
    assert (await user.command("US_LogOff")).ok().context == NOBODY


async def test_the_context_has_the_name_of_today_and_no_agent_that_is_gone(
    user: Client, sanic_client: Client, unique: str
):
    guest = await sanic_client.register(f"{unique}-guest")
    agent = (await user.agent(f"{unique}-scout", online=False))["name"]
    await user.command("AP_Modify", target={"agent": agent}, vx={"access": "public"})
    for service in ("AP_Add", "AP_Select"):
        (await guest.command(service, target={"agent": agent})).ok()
    new = f"{unique}-curie"
    assert (await user.command("AP_Modify", target={"agent": agent}, vx={"name": new})).ok().context["agent"] == new
    assert [(await who.command("US_Read")).context["agent"] for who in (user, guest)] == [new, new]
    (await user.command("AP_Modify", target={"agent": new}, vx={"access": "agent"})).ok()
    assert [(await who.command("US_Read")).context["agent"] for who in (user, guest)] == [new, None]
    (await user.command("AP_Destroy", target={"agent": new})).ok()
    assert [(await who.command("US_Read")).context["agent"] for who in (user, guest)] == [None, None]


async def test_each_session_has_a_context_of_its_own(user: Client, unique: str):
    await user.agent(f"{unique}-scout", online=False)
    other = await user.log_on(user.name)
    assert (await other.command("US_Read")).context["agent"] is None
    assert (await user.command("US_Read")).context["agent"] == f"{unique}-scout"


@pytest.mark.parametrize("sent", ["12345678", "a_b-C_d-9", "x" * 64])
async def test_a_well_formed_request_id_comes_back(sanic_client: Client, sent: str):
    for body in ({"service": "US_Read"}, {"service": "NO_Such"}):
        answer = await sanic_client.request("POST", BUS, json=body, headers={"X-Request-Id": sent})
        assert answer.headers["X-Request-Id"] == answer.body["header"]["request_id"] == sent


@pytest.mark.parametrize("sent", [None, "", "1234567", "x" * 65, "with space", "with.dot", "caf\u00e9-caf\u00e9"])
async def test_any_other_request_id_is_replaced_by_a_uuid(sanic_client: Client, sent: str | None):
    headers = {} if sent is None else {"X-Request-Id": sent}
    first, second = [await sanic_client.command("US_Read", headers=headers) for _ in range(2)]
    made = first.headers["X-Request-Id"]
    assert str(uuid.UUID(made)) == made == first.body["header"]["request_id"]
    assert second.headers["X-Request-Id"] != made


# the order of checks: each body breaks the rule of its row and those of all rows below

WRONG_TYPE = {"target": 1, "content": 1}
DM_CREATE: dict[str, Any] = {"service": "DM_Create"}


@pytest.mark.parametrize(
    ("body", "token", "code", "note"),
    [
        (b"{" * 2**21, None, 1004, ""),
        (b"{", None, 1000, ""),
        ({"vx": 1}, None, 1002, "missing service field"),
        ({"service": "DM_Nothing", **WRONG_TYPE}, None, 1001, ""),
        ({"service": "DM_Create", **WRONG_TYPE}, None, 2000, ""),
        ({"service": "DM_Create", **WRONG_TYPE}, "pls_wrong", 2001, ""),
        ({"service": "DM_Create", **WRONG_TYPE}, "own", 1003, "Invalid value of target"),
        ({"service": "DM_Create"}, "own", 1002, "missing description field"),
        ({"service": "DM_Create", "vx": {"description": "d"}}, "own", 1002, "missing name field"),
        ({"service": "DM_Create", "vx": {"description": "d", "name": "-"}}, "own", 1003, "Invalid value of vx.name"),
    ],
    ids=lambda value: str(value)[:30] or "-",
)
async def test_checks_come_in_the_order_of_the_contract(
    user: Client, body: Any, token: str | None, code: int, note: str
):
    sender = Client(user.http, user.base, user.token if token == "own" else token)
    data = io.BytesIO(body if isinstance(body, bytes) else orjson.dumps(body))
    answer = await sender.request("POST", BUS, data=data, headers={"Content-Type": "application/json"})
    assert answer.code == code, answer.body
    assert answer.note.startswith(note)


# services


@pytest.mark.parametrize(
    "service", ["ap_list", "AP_LIST", "AP_list", " AP_List", "AP_List ", "AP-List", "", "_", "list"]
)
async def test_service_names_are_case_sensitive_and_exact(user: Client, service: str):
    answer = await user.command(service)
    answer.refused(1001 if service else 1002, 400)


@pytest.mark.parametrize("service", [1, True, 1e300, ["AP_List"], {"name": "AP_List"}])
async def test_a_service_that_is_no_text_is_an_invalid_field(user: Client, service: Any):
    assert "service" in (await user.command(service)).refused(1003, 400).note


@pytest.mark.parametrize("said", ["US_Read", "COMMAND", "no such service", 42, None, {}])
async def test_on_an_alias_the_path_fixes_the_service_whatever_the_body_says(user: Client, said: Any):
    answer = (await user.alias("/agent/list", service=said)).ok()
    assert answer.body["header"]["service"] == "AP_List"


@pytest.mark.parametrize("service", ["COMMAND", "DEFAULT"])
async def test_the_legacy_constants_are_known_but_not_routed(user: Client, sanic_client: Client, service: str):
    (await user.command(service)).refused(1005, 400)
    (await user.command(service, target=1)).refused(1003, 400)
    (await sanic_client.command(service)).refused(2000, 401)
    answer = await user.request("POST", f"{BUS}/{service.lower()}", json={})
    assert (answer.http, answer.code) == (404, 1006)


# the checks before each command (docs/contract.md, "Order of checks")

NAMED = ("description", "name")
SPEC_TABLE = [
    # path suffix, service, checks, and the answer to a bare request that passes them
    ("/agent/add", "AP_Add", (), (1002, "missing target.agent field")),
    ("/agent/chat", "AP_Chat", (), (1002, "missing content field")),
    ("/agent/create", "AP_Create", NAMED, (0, "")),
    ("/agent/destroy", "AP_Destroy", (), (3003, "")),
    ("/agent/list", "AP_List", (), (0, "")),
    ("/agent/logoff", "AP_LogOff", (), (3003, "")),
    ("/agent/logon", "AP_LogOn", (), (3003, "")),
    ("/agent/modify", "AP_Modify", (), (1003, "Invalid value of vx")),
    ("/agent/read", "AP_Read", (), (3003, "")),
    ("/agent/remove", "AP_Remove", (), (1002, "missing target.agent field")),
    ("/agent/select", "AP_Select", (), (1002, "missing target.agent field")),
    ("/agent/update", "AP_Update", NAMED, (3003, "")),
    ("/domain/ban", "DM_Ban", (), (1002, "missing target.agent field")),
    ("/domain/create", "DM_Create", NAMED, (3003, "")),
    ("/domain/destroy", "DM_Destroy", (), (3003, "")),
    ("/domain/invite", "DM_Invite", (), (3003, "")),
    ("/domain/kick", "DM_Kick", (), (1002, "missing target.agent field")),
    ("/domain/read", "DM_Read", (), (3003, "")),
    ("/domain/unban", "DM_Unban", (), (1002, "missing target.agent field")),
    ("/domain/update", "DM_Update", NAMED, (3003, "")),
    ("/bank/agentlist", "MB_AgentList", (), (1002, "missing target.bank field")),
    ("/bank/censor", "MB_Censor", (), (1002, "missing target.bank field")),
    ("/bank/create", "MB_Create", (), (1002, "missing name field")),
    ("/bank/delete", "MB_Delete", (), (1002, "missing target.bank field")),
    ("/bank/destroy", "MB_Destroy", (), (1002, "missing target.bank field")),
    ("/bank/load", "MB_Load", ("name",), (1002, "missing target.bank field")),
    ("/bank/permissions", "MB_Permissions", (), (1002, "missing target.bank field")),
]
ABSENT = object()
MISSING = {"absent": ABSENT, "null": None, "empty": "", "blank": " \t\r\n\u2003"}


def test_the_table_is_the_spec_s():
    assert len(SPEC_TABLE) == 27


async def send(client: Client, way: str, path: str, service: str, body: dict[str, Any]) -> Answer:
    return await (client.command(service, **body) if way == "bus" else client.alias(path, **body))


@pytest.mark.parametrize("way", ["bus", "alias"])
@pytest.mark.parametrize(("path", "service", "checks", "then"), SPEC_TABLE, ids=[row[1] for row in SPEC_TABLE])
async def test_services_of_the_spec_make_their_wrapper_checks(
    user: Client, unique: str, way: str, path: str, service: str, checks: tuple[str, ...], then: tuple[int, str]
):
    given: dict[str, str] = {}
    for member in checks:
        for missing in MISSING.values():
            vx = given | ({} if missing is ABSENT else {member: missing})
            answer = (await send(user, way, path, service, {"vx": vx})).refused(1002, 400)
            assert answer.note.startswith(f"missing {member} field")
            assert answer.http == 400
        given[member] = f"{unique}-{member}"
    answer = await send(user, way, path, service, {"vx": given})
    assert answer.body["header"]["service"] == service
    assert answer.code == then[0], answer.body
    assert answer.note.startswith(then[1])


@pytest.mark.parametrize(
    "empty", [{"vx": None}, {"vx": {}}, {"vx": {"name": None, "description": None}}, {"target": None}]
)
async def test_with_both_missing_the_description_is_named_first(user: Client, empty: dict[str, Any]):
    for service, _, checks in ((row[1], row[0], row[2]) for row in SPEC_TABLE):
        if checks == NAMED:
            answer = (await user.command(service, **empty)).refused(1002, 400)
            assert answer.note.startswith("missing description field")


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
async def test_null_and_blank_members_count_as_missing(user: Client, unique: str, missing: Any):
    def of(**members: Any) -> dict[str, Any]:
        return {name: value for name, value in members.items() if value is not ABSENT}

    name = f"{unique}-agent"
    vx = {"name": name, "description": "d"} | of(profile=missing, access=missing)
    made = (await user.command("AP_Create", vx=vx, target=of(user=missing))).ok().profile[0]
    assert (made["profile"], made["access"]) == (None, "agent")
    (await user.command("AP_Read", target=of(agent=missing))).refused(3003, 409)
    assert (
        (await user.command("AP_Chat", **of(content=missing)))
        .refused(1002, 400)
        .note.startswith("missing content field")
    )
    listed = await user.command("AP_List", target=of(agent=missing, user=missing), page=of(cursor=missing))
    assert [agent["name"] for agent in listed.ok().profile] == [name]


# HTTP statuses


async def test_precise_codes_fold_to_the_five_http_statuses_of_the_spec(
    user: Client, sanic_client: Client, unique: str
):
    await user.agent(f"{unique}-agent", online=False)
    definition = {"name": f"{unique}-agent", "description": "d"}
    answers = {
        (await user.command("US_Read")).http: 200,
        (await user.command("US_Sessions", page=1)).http: 400,
        (await sanic_client.command("US_Read")).http: 401,
    }
    assert all(status == expected for status, expected in answers.items())
    for answer, http_code in (
        (await user.command("AP_Read", target={"agent": "unknown"}), 404),
        (await user.command("AP_Create", vx=definition), 409),
        (await user.command("AP_Create", target={"user": "another"}, vx=definition), 403),
    ):
        assert (answer.http, answer.body["status"]["http_code"]) == (400, http_code)


async def test_routing_and_media_type_errors_keep_their_http_status_in_the_same_shape(user: Client):
    for http, answer in (
        (404, await user.request("POST", f"{BUS}/agent/fly", json={})),
        (404, await user.request("POST", f"{BUS}/agent/list/more", json={})),
        (405, await user.request("GET", BUS)),
        (405, await user.request("PUT", f"{BUS}/agent/list", json={})),
        (415, await user.request("POST", BUS, data=b"{}", headers={"Content-Type": "text/plain"})),
        (415, await user.request("POST", f"{BUS}/agent/list", data=b"{}", headers={"Content-Type": "text/plain"})),
    ):
        assert answer.http == http == answer.body["status"]["http_code"], answer.body
        assert answer.body.keys() == {"header", "status", "profile", "content"}
