"""The lists of users and of all users' audit rows (docs/contract.md, "Roles")."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from actors.calls.request import REFERENCE_CHARS
from tests.gateways.gate import ENGINES
from tests.support.clock import DAY_MS, ClockFile
from tests.support.gateway import PASSWORD, Client, running
from tests.support.operator import LISTED, SECRET, Cast, operated

USERS = "/api/admin/users"


async def users(operator: Client, **query: Any) -> list[dict[str, Any]]:
    """List all pages of users."""
    listed: list[dict[str, Any]] = []
    while True:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        answer = await operator.request("GET", f"{USERS}?{asked}")
        assert answer.http == 200, answer.body
        listed += answer.body["users"]
        if answer.body["next"] is None:
            return listed
        query["cursor"] = answer.body["next"]


async def audit(operator: Client, **query: Any) -> list[dict[str, Any]]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await operator.request("GET", f"/api/admin/audit?{asked}")
    assert answer.http == 200, answer.body
    assert answer.body.keys() == {"entries", "next"}
    return answer.body["entries"]


async def test_users_are_listed_by_prefix_role_and_state(cast: Cast, operator: Client, unique: str):
    (await operator.request("POST", f"{USERS}/{cast.target.name}/suspend")).body["state"]
    names = [f"{unique}-{role}" for role in ("auditor", "operator", "target", "user")]
    for limit in (1, 3, 200):
        assert [user["name"] for user in await users(operator, prefix=unique.upper(), limit=limit)] == names
    for query, expected in (
        ({"role": "user"}, names[2:]),
        ({"role": "auditor"}, names[:1]),
        ({"role": "operator"}, names[1:2]),
        ({"state": "suspended"}, names[2:3]),
        ({"state": "active"}, [*names[:2], names[3]]),
        ({"state": "active", "role": "user"}, names[3:]),
        ({"state": "", "role": " "}, names),
    ):
        assert [user["name"] for user in await users(operator, prefix=unique, **query)] == expected
    assert LISTED in [user["name"] for user in await users(operator, role="operator", prefix=LISTED)]
    assert await users(operator, role="user", prefix=LISTED) == []
    for wrong in (
        "role=king",
        "state=dead",
        "limit=0",
        "limit=201",
        "cursor=%21",
        "cursor=AA==",
        "cursor=YQ",
        "page=2",
        "prefix=a%00",
    ):
        (await operator.request("GET", f"{USERS}?{wrong}")).refused(1003, 400)
    for path in ("/api/admin/audit?user=x", "/api/admin/audit?service=%00", "/api/audit?service=%00"):
        (await operator.request("GET", path)).refused(1003, 400)


async def test_users_are_listed_while_some_are_destroyed(nobody: Client, operator: Client, unique: str):
    leaving = [await nobody.register(f"{unique}-{number}") for number in range(40)]
    over = asyncio.Event()

    async def look() -> None:
        while not over.is_set():
            await users(operator, prefix=unique, limit=200)

    looking = [asyncio.create_task(look()) for _ in range(4)]
    for user in leaving:
        (await user.command("US_Destroy", target={"user": user.name}, vx={"secret": PASSWORD})).ok()
    over.set()
    await asyncio.gather(*looking)


async def test_a_user_is_shown_with_plan_counts_quota_and_last_use(cast: Cast, unique: str):
    shown = (await cast.auditor.request("GET", f"{USERS}/{unique}-TARGET")).body
    (listed,) = await users(cast.auditor, prefix=f"{unique}-target")
    own = (await cast.target.command("US_Read")).ok().profile[0]
    assert shown["last_used_at"] >= own["created_at"]
    assert shown == listed
    assert shown["counts"] == own["counts"] == {"agents": 1, "domains": 0, "banks": 0, "api_keys": 0}
    assert shown["quota"]["used"] == own["quota"]["used"] - 1
    assert {name: shown[name] for name in ("role", "state", "suspended_at", "plan")} == {
        "role": "user",
        "state": "active",
        "suspended_at": None,
        "plan": "enterprise",
    }
    assert "secret" not in str(shown)
    (await cast.auditor.request("GET", f"{USERS}/nobody-at-all")).refused(3000, 404)


@pytest.mark.parametrize("body", [{}, {"role": None}, {"role": ""}, {"role": " "}])
async def test_a_role_that_is_blank_counts_as_missing(cast: Cast, body: dict[str, Any]):
    answer = await cast.operator.request("PUT", f"{USERS}/{cast.target.name}/role", json=body)
    assert answer.refused(1002, 400).body["status"]["note"].startswith("missing role field")


async def test_every_change_leaves_a_row(cast: Cast, nobody: Client):
    name, agent = cast.target.name, cast.agent
    acts: list[tuple[str, str, Any, str, dict[str, str]]] = [
        ("PUT", f"users/{name}/role", {"role": "auditor"}, "setRole", {"name": name, "role": "auditor"}),
        ("PUT", f"users/{name}/plan", {"plan": "free"}, "setPlan", {"name": name, "plan": "free"}),
        ("POST", f"users/{name}/suspend", None, "suspendUser", {"name": name}),
        ("POST", f"users/{name}/resume", None, "resumeUser", {"name": name}),
        ("POST", f"users/{name}/reset-secret", None, "resetSecret", {"name": name}),
        ("POST", f"agents/{agent}/stop", None, "stopAgent", {"name": agent}),
        ("POST", f"agents/{agent}/start", None, "startAgent", {"name": agent}),
        ("POST", f"agents/{agent}-none/stop", None, "stopAgent", {"name": f"{agent}-none"}),
    ]
    for sender, headers in ((cast.operator, {}), (nobody, SECRET)):
        for method, path, body, _, _ in acts:
            answer = await sender.request(method, f"/api/admin/{path}", json=body, headers=headers)
            assert answer.http in (200, 404), answer.body
    rows = [row for row in await audit(cast.auditor, limit=200) if row["target"].get("name", "") in (name, agent)]
    rows += [row for row in await audit(cast.auditor, limit=200) if row["internal_code"] == 3000][:2]
    made = [(row["user"], row["service"], row["target"], row["internal_code"]) for row in rows]
    for who in (cast.operator.name, None):
        for _, path, _, service, target in acts:
            code = 3000 if "-none" in path else 0
            assert (who, service, target, code) in made
    (entry,) = [row for row in rows if (row["user"], row["service"]) == (None, "setRole")]
    assert (entry["credential_id"], entry["address"]) == ("internal", "127.0.0.1")
    assert {row["credential_id"][:4] for row in rows if row["user"] == cast.operator.name} == {"ses_"}


async def test_reads_leave_one_row_a_minute_for_each_route_and_credential(cast: Cast, nobody: Client):
    async def reads() -> int:
        rows = await audit(cast.operator, service="getUser", limit=200)
        return len([row for row in rows if row["target"] == {"name": cast.target.name}])

    path = f"{USERS}/{cast.target.name}"
    for _ in range(3):
        assert (await cast.auditor.request("GET", path)).http == 200
    assert await reads() == 1
    other = await cast.auditor.log_on(cast.auditor.name)
    for _ in range(3):
        assert (await other.request("GET", path)).http == 200
    assert await reads() == 2
    rows = await audit(cast.operator, service="listActors", limit=200)
    for _ in range(2):
        assert (await cast.auditor.request("GET", "/debug/actors?limit=1")).http == 200
    assert len(await audit(cast.operator, service="listActors", limit=200)) == len(rows) + 1


async def test_a_change_that_its_sender_may_not_make_leaves_a_row_with_its_name(cast: Cast, operator: Client):
    name, vx = cast.target.name, {"role": "operator"}
    suspend, role = f"{USERS}/{name}/suspend", f"{USERS}/{name}/role"
    (await cast.user.request("POST", suspend)).refused(2003, 403)
    (await cast.user.request("PUT", role, json=vx)).refused(2003, 403)
    (await cast.auditor.request("PUT", role, json=vx)).refused(2003, 403)
    key = await cast.operator.request("POST", "/api/api-keys", json={"name": "no admin"})
    of_operator = cast.operator.as_user(key.body["key"], cast.operator.name)
    (await of_operator.request("PUT", role, json=vx)).refused(2003, 403)
    key = await cast.target.request("POST", "/api/api-keys", json={"name": "suspended"})
    of_target = cast.target.as_user(key.body["key"], name)
    assert (await operator.request("POST", suspend)).http == 200
    (await of_target.request("PUT", role, json=vx)).refused(2005, 403)
    rows = [row for row in await audit(operator, limit=200) if row["target"] == {"name": name}]
    assert [(row["user"], row["service"], row["internal_code"], row["credential_id"][:4]) for row in rows] == [
        (name, "setRole", 2005, "key_"),
        (operator.name, "suspendUser", 0, "ses_"),
        (cast.operator.name, "setRole", 2003, "key_"),
        (cast.auditor.name, "setRole", 2003, "ses_"),
        (cast.user.name, "setRole", 2003, "ses_"),
        (cast.user.name, "suspendUser", 2003, "ses_"),
    ]
    assert rows[0]["address"] == "127.0.0.1"
    assert "setRole" not in [
        row["service"] for row in (await cast.auditor.request("GET", "/api/audit")).body["entries"]
    ]


async def test_the_row_of_a_refused_change_has_no_more_of_a_name_than_a_name_may_have(cast: Cast, operator: Client):
    (await cast.user.request("POST", f"{USERS}/{'z' * 5_000}/resume")).refused(2003, 403)
    (row,) = [row for row in await audit(operator, service="resumeUser", limit=200) if row["user"] == cast.user.name]
    assert row["target"] == {"name": "z" * REFERENCE_CHARS}


async def test_who_was_allowed_a_change_just_now_leaves_a_row_of_its_refusal(cast: Cast, operator: Client):
    path = f"{USERS}/{cast.target.name}/role"
    assert (await cast.operator.request("PUT", path, json={"role": "auditor"})).http == 200
    demoted = await operator.request("PUT", f"{USERS}/{cast.operator.name}/role", json={"role": "user"})
    assert demoted.http == 200
    (await cast.operator.request("PUT", path, json={"role": "operator"})).refused(2003, 403)
    rows = [row for row in await audit(operator, service="setRole", limit=200) if row["user"] == cast.operator.name]
    assert [row["internal_code"] for row in rows] == [2003, 0]


async def test_refused_changes_leave_one_row_a_minute_for_each_route_and_user(tmp_path: Path):
    clock = ClockFile(tmp_path / "clock")
    script = ENGINES / "clocked.py"
    async with operated(tmp_path / "data", script=script, TEST_CLOCK=str(clock.path)) as gateway, gateway.client() as c:
        operator, user = await c.log_on(LISTED), await c.register("persistent")

        async def refused_rows() -> int:
            for session in (user, await user.log_on(user.name)):
                for name in ("persistent", LISTED):
                    (await session.request("POST", f"{USERS}/{name}/suspend")).refused(2003, 403)
            return len(await audit(operator, service="suspendUser", limit=200))

        assert await refused_rows() == 1
        assert await refused_rows() == 1
        clock.move(60_000)
        assert await refused_rows() == 2


@pytest.mark.parametrize("restarted", [False, True])
async def test_reads_leave_rows_also_after_the_clock_was_set_back(tmp_path: Path, restarted: bool):
    clock = ClockFile(tmp_path / "clock")
    script = ENGINES / "clocked.py"
    async with running(tmp_path / "data", script=script, TEST_CLOCK=str(clock.path)) as gateway:
        clock.move(DAY_MS)
        async with gateway.client() as client:
            await client.request("GET", "/debug/actors?limit=1", headers=SECRET)
        if restarted:
            assert await gateway.stop() == 0
            await gateway.start()
        clock.move(-DAY_MS)
        async with gateway.client() as client:
            await client.request("GET", "/debug/actors?limit=1", headers=SECRET)
            listed = await client.request("GET", "/api/admin/audit?service=listActors", headers=SECRET)
        assert len(listed.body["entries"]) == 2


async def test_the_log_is_over_all_users_and_their_own_shows_no_acts(cast: Cast):
    (await cast.user.command("US_Update", vx={"description": "changed"})).ok()
    (row,) = [row for row in await audit(cast.auditor, service="US_Update") if row["user"] == cast.user.name]
    assert row["internal_code"] == 0
    own = (await cast.operator.request("GET", "/api/audit")).body["entries"]
    assert "setRole" not in [row["service"] for row in own]
    page = await cast.auditor.request("GET", "/api/admin/audit?limit=2")
    following = await cast.auditor.request("GET", f"/api/admin/audit?limit=2&cursor={page.body['next']}")
    assert len({row["request_id"] for row in page.body["entries"] + following.body["entries"]}) >= 3
    (await cast.auditor.request("GET", "/api/admin/audit?since=yesterday")).refused(1003, 400)
    for blank in ("", "%20"):
        assert len(await audit(cast.auditor, service=blank)) == len(await audit(cast.auditor))


async def test_an_operator_s_rows_outlive_it(cast: Cast):
    path = f"{USERS}/{cast.target.name}/role"
    assert (await cast.operator.request("PUT", path, json={"role": "auditor"})).http == 200
    (await cast.operator.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
    rows = await audit(cast.auditor, service="setRole", limit=200)
    assert cast.operator.name in [row["user"] for row in rows]
