"""The audit log of changes, on the plans that have one (docs/contract.md, "The audit log")."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actors.commands.table import COMMANDS
from tests.support.gateway import PASSWORD, Answer, Client, running
from tests.support.operator import on_plan, set_plan

AUDIT = "/api/audit"
NOT_LOGGED = {"US_Create", "US_Destroy"}
"""A service without a credential, and one that leaves no user to read its row."""


async def read(user: Client, **query: Any) -> Answer:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return await user.request("GET", f"{AUDIT}?{asked}")


async def entries(user: Client, **query: Any) -> list[dict[str, Any]]:
    """Return a page of the log, newest first."""
    answer = await read(user, **query)
    assert answer.http == 200, answer.body
    assert answer.body.keys() == {"entries", "next"}
    return answer.body["entries"]


@pytest.fixture(params=["scale", "enterprise"])
async def logged(request: pytest.FixtureRequest, user: Client) -> Client:
    """A user on a plan with an audit log."""
    return await on_plan(user, request.param)


@pytest.fixture
async def scale(user: Client) -> Client:
    return await on_plan(user, "scale")


def everything(unique: str, other_agent: str) -> list[tuple[str, dict[str, Any]]]:
    """Every command that changes something, in an order in which all succeed, with the private text where possible."""
    private = f"private-text-{unique}"
    agent, domain, bank, second = f"{unique}-agent", f"{unique}-domain", f"{unique}-bank", f"{unique}-second"
    vx = {"description": private, "profile": private}
    guest = {"domain": domain, "agent": other_agent}
    zone = {"domain": domain, "zone": f"{unique}-zone"}
    return [
        ("US_Update", {"vx": {"description": private}}),
        ("AP_Create", {"vx": {"name": agent, **vx}}),
        ("AP_Create", {"vx": {"name": second, **vx}}),
        ("AP_LogOn", {"target": {"agent": agent}}),
        ("AP_Select", {"target": {"agent": agent}}),
        ("AP_Chat", {"content": private}),
        ("AP_Modify", {"target": {"agent": agent}, "vx": {"profile": private}}),
        ("AP_Update", {"target": {"agent": second}, "vx": {"name": second, **vx}}),
        ("AP_Add", {"target": {"agent": other_agent}}),
        ("AP_Remove", {"target": {"agent": other_agent}}),
        ("DM_Create", {"vx": {"name": domain, **vx}}),
        ("DM_Update", {"target": {"domain": domain}, "vx": {"name": domain, **vx}}),
        ("DM_Select", {"target": {"domain": domain}}),
        ("DM_Invite", {"target": {"domain": domain, "agent": second}}),
        ("DM_Leave", {"target": {"domain": domain, "agent": second}}),
        ("DM_Invite", {"target": guest}),
        ("DM_Kick", {"target": guest}),
        ("DM_Ban", {"target": guest}),
        ("DM_Unban", {"target": guest}),
        ("ZN_Create", {"target": {"domain": domain}, "vx": {"name": f"{unique}-zone"}}),
        ("ZN_Select", {"target": zone}),
        ("ZN_Post", {"target": zone, "content": private}),
        ("AP_Chat", {"target": zone, "content": private}),
        ("ZN_Destroy", {"target": zone}),
        ("CV_Create", {"vx": {"name": private}}),
        ("CV_Update", {"target": {"conversation": "default"}, "vx": {"name": private}}),
        ("CV_Fork", {"target": {"conversation": "default"}}),
        ("CV_Destroy", {"target": {"conversation": "default"}}),
        ("MB_Create", {"vx": {"name": bank, "description": private}}),
        ("MB_Update", {"target": {"bank": bank}, "vx": {"name": bank, "description": private}}),
        ("MB_Load", {"target": {"bank": bank}, "vx": {"name": "private-text"}, "content": private}),
        ("MB_Permissions", {"target": {"bank": bank, "agent": second}, "vx": {"permission": "read"}}),
        ("MB_Unload", {"target": {"bank": bank, "agent": second}}),
        ("MB_Censor", {"target": {"bank": bank}, "vx": {"name": "private-text"}}),
        ("MB_Delete", {"target": {"bank": bank}, "vx": {"name": "private-text"}}),
        ("MB_Destroy", {"target": {"bank": bank}}),
        ("DM_Destroy", {"target": {"domain": domain}}),
        ("AP_LogOff", {"target": {"agent": agent}}),
        ("AP_Destroy", {"target": {"agent": agent}}),
        ("US_Revoke", {"vx": {"name": "all"}}),
    ]


async def test_every_command_that_changes_something_leaves_one_row_without_a_text(
    logged: Client, sanic_client: Client, unique: str
):
    other = await sanic_client.register(f"{unique}-other")
    await other.agent(f"{unique}-guest", access="public")
    commands = everything(unique, f"{unique}-guest")
    began = datetime.now(UTC)
    session = (await logged.command("US_Sessions")).ok().profile[0]["id"]
    sent: list[dict[str, Any]] = []
    for service, body in commands:
        answer = (await logged.command(service, **body)).ok()
        sent.append(
            {
                "credential_id": session,
                "address": "127.0.0.1",
                "service": service,
                "target": body.get("target", {}),
                "internal_code": 0,
                "request_id": answer.body["header"]["request_id"],
            }
        )
    found = (await entries(logged, limit=200))[::-1]
    now = datetime.now(UTC)
    times = [datetime.fromisoformat(entry.pop("time")) for entry in found]
    assert found == sent
    assert times == sorted(times)
    assert all(began - timedelta(seconds=1) < at <= now + timedelta(seconds=1) for at in times)
    assert "private" not in json.dumps(found)
    session_user = await logged.log_on(logged.name)
    (await session_user.command("US_LogOff")).ok()
    assert [entry["service"] for entry in (await entries(logged))[:2]] == ["US_LogOff", "US_LogOn"]
    mutating = {command.service for command in COMMANDS.values() if command.mutates and command.available}
    assert mutating - NOT_LOGGED - {"DM_Join", "MB_Accept"} == {service for service, _ in commands} | {
        "US_LogOn",
        "US_LogOff",
    }


async def test_a_log_on_leaves_a_row_of_its_session_and_a_failed_one_none(scale: Client, sanic_client: Client):
    (await sanic_client.command("US_LogOn", target={"user": scale.name}, vx={"secret": "not the password"})).refused(
        2002, 401
    )
    on_bus = await sanic_client.command("US_LogOn", target={"user": scale.name}, vx={"secret": PASSWORD})
    body = {"name": scale.name, "password": PASSWORD}
    assert (await sanic_client.request("POST", "/console/session", json=body)).http == 200
    by_console, row = await entries(scale)
    assert row.pop("time") == on_bus.ok().profile[0]["created_at"]
    assert row == {
        "credential_id": on_bus.profile[0]["id"],
        "address": "127.0.0.1",
        "service": "US_LogOn",
        "target": {"user": scale.name},
        "internal_code": 0,
        "request_id": on_bus.body["header"]["request_id"],
    }
    assert by_console["service"] == "US_LogOn"


async def test_what_the_core_refuses_leaves_a_row_with_its_code(scale: Client, unique: str):
    target = {"agent": "nobody-of-this-name"}
    (await scale.command("AP_LogOn", target=target)).refused(3000, 404)
    (await scale.command("AP_Chat", content="private-text")).refused(3003, 409)
    await scale.agent(unique, online=False)
    (await scale.command("AP_Chat", content="private-text")).refused(3002, 409)
    (await scale.command("AP_Create", vx={"name": unique, "description": "d"})).refused(3001, 409)
    (await scale.command("US_Destroy", vx={"secret": "not the password"})).refused(2002, 401)
    found = [(entry["service"], entry["internal_code"]) for entry in await entries(scale)]
    expected = [("US_Destroy", 2002), ("AP_Create", 3001), ("AP_Chat", 3002), ("AP_Select", 0), ("AP_Create", 0)]
    assert found == [*expected, ("AP_Chat", 3003), ("AP_LogOn", 3000)]


async def test_what_was_wrong_before_the_core_leaves_none(scale: Client):
    (await scale.command("AP_Create", vx={})).refused(1002, 400)
    (await scale.command("AP_Create", vx={"name": 7})).refused(1003, 400)
    (await scale.command("COMMAND", vx={"name": "x", "description": "d"})).refused(1005, 400)
    assert await entries(scale) == []


async def test_reading_leaves_none(scale: Client, unique: str):
    await scale.agent(unique)
    before = await entries(scale)
    for service in ("US_Read", "US_Sessions", "AP_List", "AP_Read", "AP_History", "DM_List", "MB_List"):
        (await scale.command(service)).ok()
    (await scale.command("AP_Read", target={"agent": "nobody-of-this-name"})).refused(3000, 404)
    for path in ("/api/api-keys", AUDIT):
        assert (await scale.request("GET", path)).http == 200
    assert await entries(scale) == before


@pytest.mark.parametrize("plan", ["free", "builder"])
async def test_lower_plans_have_no_log_neither_to_read_nor_to_be_written(user: Client, unique: str, plan: str):
    await on_plan(user, plan)
    await user.agent(unique)
    answer = await user.request("GET", AUDIT)
    assert answer.refused(2004, 403).http == 403
    await on_plan(user, "scale")
    assert await entries(user) == []
    (await user.command("AP_LogOff")).ok()
    await on_plan(user, plan)
    (await user.request("GET", AUDIT)).refused(2004, 403)
    (await user.command("AP_LogOn")).ok()
    await on_plan(user, "enterprise")  # rows stay
    assert [entry["service"] for entry in await entries(user)] == ["AP_LogOff"]


async def test_gateway_routes_that_change_something_leave_a_row(scale: Client):
    made = (await scale.request("POST", "/api/api-keys", json={"name": "private-text"})).body
    key = Client(scale.http, scale.base, made["key"])
    (await key.command("US_Update", vx={"description": "d"})).ok()
    (await key.request("POST", "/api/api-keys", json={"name": "x"})).refused(2003, 403)
    assert (await key.request("DELETE", f"/api/api-keys/{made['id']}")).http == 204
    assert (await scale.request("DELETE", f"/api/api-keys/{made['id']}")).http == 404
    found = await entries(scale)
    session = (await scale.command("US_Sessions")).ok().profile[0]["id"]
    shown = [(entry["service"], entry["internal_code"], entry["credential_id"], entry["target"]) for entry in found]
    target = {"id": made["id"]}
    assert shown == [
        ("revokeApiKey", 3000, session, target),
        ("revokeApiKey", 0, made["id"], target),
        ("createApiKey", 2003, made["id"], {}),
        ("US_Update", 0, made["id"], {}),
        ("createApiKey", 0, session, {}),
    ]
    assert "private" not in json.dumps(found)


async def test_a_repeat_with_an_idempotency_key_leaves_no_second_row(scale: Client, unique: str):
    vx = {"name": unique, "description": "d"}
    answers = await asyncio.gather(
        *(scale.command("AP_Create", vx=vx, headers={"Idempotency-Key": unique}) for _ in range(6))
    )
    assert {answer.ok().http for answer in answers} == {200}
    assert [entry["service"] for entry in await entries(scale)] == ["AP_Create"]
    refused = {"target": {"agent": "nobody-of-this-name"}, "headers": {"Idempotency-Key": f"{unique}-2"}}
    for _ in range(3):
        (await scale.command("AP_LogOn", **refused)).refused(3000, 404)
    assert [entry["service"] for entry in await entries(scale)] == ["AP_LogOn", "AP_Create"]


async def test_a_streamed_chat_leaves_one_row(scripted_user: Client, unique: str):
    await on_plan(scripted_user, "scale")
    await scripted_user.agent(unique)
    accept = {"Accept": "text/event-stream"}
    for content in ("say:hello", "say:hello fail"):
        await scripted_user.command("AP_Chat", content=content, headers=accept)
    found = [(entry["service"], entry["internal_code"]) for entry in await entries(scripted_user, service="AP_Chat")]
    assert found == [("AP_Chat", 5001), ("AP_Chat", 0)]


async def test_each_user_reads_its_own(scale: Client, sanic_client: Client, unique: str):
    other = await on_plan(await sanic_client.register(f"{unique}-other"), "scale")
    await other.agent(f"{unique}-agent", access="public")
    (await scale.command("AP_Add", target={"agent": f"{unique}-agent"})).ok()
    assert [entry["service"] for entry in await entries(scale)] == ["AP_Add"]
    assert len(await entries(other)) == 3


# paging and filters


async def many(user: Client, count: int) -> None:
    for number in range(count):
        service = "US_Update" if number % 3 else "AP_LogOn"
        await user.command(service, vx={"description": "d"}, target={"agent": f"agent-{number}"})


async def test_the_log_is_paged_from_the_newest_back(scale: Client):
    await many(scale, 25)
    whole = await entries(scale)
    assert [entry["target"]["agent"] for entry in whole] == [f"agent-{number}" for number in reversed(range(25))]
    paged: list[dict[str, Any]] = []
    cursor = ""
    for size in (10, 10, 5):
        answer = await read(scale, limit=10, cursor=cursor)
        assert len(answer.body["entries"]) == size
        paged += answer.body["entries"]
        cursor = answer.body["next"]
        await many(scale, 1)  # new rows move no page
    assert cursor is None
    assert paged == whole
    assert (await read(scale, limit=28)).body["next"] is None
    assert (await read(scale, limit=27)).body["next"]


async def test_the_log_is_filtered_by_service_and_time(scale: Client):
    await many(scale, 9)
    whole = await entries(scale)
    assert [entry["service"] for entry in await entries(scale, service="AP_LogOn")] == ["AP_LogOn"] * 3
    assert await entries(scale, service="ap_logon") == []
    for entry in whole:
        expected = [other for other in whole if other["time"] >= entry["time"]]
        assert await entries(scale, since=entry["time"]) == expected
        assert await entries(scale, since=entry["time"].replace("Z", "%2B00:00")) == expected
    later = datetime.fromisoformat(whole[0]["time"]) + timedelta(milliseconds=1)
    assert await entries(scale, since=later.isoformat().replace("+00:00", "Z")) == []
    page = await read(scale, service="US_Update", limit=4)
    rest = await read(scale, service="US_Update", limit=4, cursor=page.body["next"])
    assert len(page.body["entries"] + rest.body["entries"]) == 6


@pytest.fixture(scope="module")
async def far_east(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A user of a gateway with another local time zone."""
    data = tmp_path_factory.mktemp("far-east") / "data"
    async with running(data, TZ="Asia/Tokyo") as gateway, gateway.client() as nobody:
        yield await on_plan(await nobody.register("lovelace"), "scale")


async def test_a_time_without_a_zone_is_utc_wherever_the_gateway_runs(far_east: Client):
    (await far_east.command("US_Update", vx={"description": "d"})).ok()
    (entry,) = await entries(far_east)
    at = datetime.fromisoformat(entry["time"]).replace(tzinfo=None)
    assert len(await entries(far_east, since=at.isoformat())) == 1
    assert len(await entries(far_east, since=(at - timedelta(hours=8)).isoformat())) == 1
    assert await entries(far_east, since=(at + timedelta(milliseconds=1)).isoformat()) == []


@pytest.mark.parametrize(
    "since",
    [
        *("0001-01-01T00:00:00", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59", "9999-12-31T23:59:59-14:00"),
        *("1969-12-31T23:59:59.999Z", "2026-11-20"),
    ],
)
async def test_any_time_of_the_calendar_is_taken(scale: Client, since: str):
    (await scale.command("US_Update", vx={"description": "d"})).ok()
    assert len(await entries(scale, since=since)) == (0 if since.startswith("9999") else 1)


@pytest.mark.parametrize(
    "query",
    [
        *("since=yesterday", "since=", "since=2026-13-01T00:00:00Z", "limit=0", "limit=201", "limit=x", "limit="),
        *("cursor=x", "cursor=MTIzNA", "cursor=LTE=", "cursor=8J%2BYgA==", f"service={'x' * 101}", "cursor=%00"),
        *("servce=AP_Create", "Since=2026-01-01T00:00:00Z"),
    ],
)
async def test_a_wrong_query_is_refused(scale: Client, query: str):
    answer = await scale.request("GET", f"{AUDIT}?{query}")
    assert answer.refused(1003, 400).http == 400
    assert query.partition("=")[0] in answer.note


async def test_the_address_behind_a_trusted_proxy_is_logged(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as nobody:
        user = await on_plan(await nobody.register("lovelace", PASSWORD), "enterprise")
        headers = {"X-Forwarded-For": "198.51.100.7", "X-Request-Id": "my-request-0001"}
        (await user.command("US_Update", vx={"description": "d"}, headers=headers)).ok()
        (entry,) = await entries(user)
        assert (entry["address"], entry["request_id"]) == ("198.51.100.7", "my-request-0001")
        for garbage in ("'; DROP TABLE audit; --", "unknown", "<b>x</b>", "fe80::1%any text", "198.51.100.7, x" * 50):
            (await user.command("US_Update", vx={"description": "d"}, headers={"X-Forwarded-For": garbage})).ok()
            assert (await entries(user))[0]["address"] == "127.0.0.1"
        (await user.command("US_Update", vx={"description": "d"}, headers={"X-Forwarded-For": "2001:DB8::1"})).ok()
        assert (await entries(user))[0]["address"] == "2001:db8::1"  # whole, though limits count its /64
        written = len(await entries(user))
        assert (await set_plan(user, user.name, "scale")).http == 200
        assert len(await entries(user)) == written  # the operator's actions are not the user's
