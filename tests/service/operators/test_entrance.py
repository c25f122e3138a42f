"""Who may use the operator's routes: every one of them, by every role and credential (docs/contract.md, "Roles")."""

from pathlib import Path
from typing import Any

import pytest

from routes.gateway.route import Route
from routes.gateway.table import ROUTES
from tests.support.gateway import PASSWORD, Answer, Client, running
from tests.support.operator import LISTED, SECRET, SETTINGS, Cast

OPERATORS = [route for route in ROUTES if route.path.startswith(("/api/admin/", "/debug/"))]
READS = [route for route in OPERATORS if not route.mutates]
CHANGES = [route for route in OPERATORS if route.mutates]


def name_of(route: Route) -> str:
    return route.name


async def send(client: Client, route: Route, cast: Cast, **headers: str) -> Answer:
    """Send a valid request to a route."""
    name = cast.agent if "/agents/" in route.path else cast.target.name
    path = route.path.format(name=name, kind="agent", key="agt_00")
    token = {"Authorization": f"Bearer {client.token}"} if client.token else {}
    if route.streams:
        return await begun(client, path, token | headers)
    return await client.request(route.method, path, json=route.example, headers=token | headers)


async def begun(client: Client, path: str, headers: dict[str, str]) -> Answer:
    """Ask for a stream without end, and leave it."""
    async with client.http.get(client.base + path, headers=headers) as response:
        is_json = response.content_type == "application/json"
        return Answer(response.status, response.headers, await response.json() if is_json else {})


def is_in(answer: Answer) -> bool:
    """Whether a request was let in; what it asks for may not exist."""
    return answer.http in (200, 404) and answer.body.get("status", {}).get("internal_code", 0) in (0, 3000)


async def key_of(user: Client, **more: Any) -> Client:
    made = await user.request("POST", "/api/api-keys", json={"name": "a key", **more})
    assert made.http == 201, made.body
    return user.as_user(made.body["key"], user.name)


def test_the_table_has_every_route_of_operators():
    assert {route.entrance for route in OPERATORS} == {"operator"}
    assert {route.name for route in ROUTES if route.entrance == "operator"} == {route.name for route in OPERATORS}
    assert len(READS) >= 6
    assert len(CHANGES) == 7


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_a_user_is_refused_whatever_else_it_sends(cast: Cast, route: Route):
    (await send(cast.user, route, cast)).refused(2003, 403)
    (await send(cast.user, route, cast, **SECRET)).refused(2003, 403)
    (await send(await key_of(cast.user), route, cast)).refused(2003, 403)


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_an_auditor_reads_and_changes_nothing(cast: Cast, route: Route):
    answer = await send(cast.auditor, route, cast)
    if route.mutates:
        answer.refused(2003, 403)
    else:
        assert is_in(answer), answer.body


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_an_operator_does_everything_without_being_counted(cast: Cast, operator: Client, route: Route):
    for user in (cast.operator, operator):
        before = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
        answer = await send(user, route, cast)
        assert is_in(answer), answer.body
        assert (await user.command("US_Read")).ok().profile[0]["quota"]["used"] == before + 1


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_a_key_of_an_operator_opens_nothing_by_itself(cast: Cast, route: Route):
    (await send(await key_of(cast.operator), route, cast)).refused(2003, 403)
    (await send(await key_of(cast.auditor), route, cast)).refused(2003, 403)


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_without_a_credential_the_internal_secret_decides(cast: Cast, nobody: Client, route: Route):
    (await send(nobody, route, cast)).refused(2000, 401)
    (await send(nobody, route, cast, **{"X-Internal-Secret": "wrong"})).refused(2001, 401)
    assert is_in(await send(nobody, route, cast, **SECRET))


@pytest.mark.parametrize("route", OPERATORS, ids=name_of)
async def test_a_credential_that_is_not_valid_is_refused_also_beside_the_secret(cast: Cast, route: Route):
    ended = await cast.operator.log_on(cast.operator.name)
    (await ended.command("US_LogOff")).ok()
    for stranger in (ended, cast.user.as_user("pls_nothing")):
        (await send(stranger, route, cast, **SECRET)).refused(2001, 401)


async def test_without_a_secret_in_the_settings_roles_hold_all_the_same(tmp_path: Path):
    async with running(tmp_path / "data", **SETTINGS) as gateway, gateway.client() as client:
        vx = {"name": LISTED, "secret": PASSWORD}
        (await client.command("US_Create", vx=vx, headers=SECRET)).ok()
        user = await client.register("ordinary")
    async with running(tmp_path / "data", INTERNAL_SECRET="", **SETTINGS) as gateway, gateway.client() as client:
        operator, user = await client.log_on(LISTED), await client.log_on("ordinary")
        cast = Cast(operator, operator, user, user, "no-such-agent")
        for route in OPERATORS:
            (await send(user, route, cast)).refused(2003, 403)
            for headers in ({}, SECRET):
                (await send(client, route, cast, **headers)).refused(1006, 404)
        for route in READS:
            assert is_in(await send(operator, route, cast))


async def test_a_role_holds_for_open_sessions_from_the_answer_on(cast: Cast, operator: Client):
    path, users = f"/api/admin/users/{cast.user.name}/role", "/api/admin/users"
    for role, reads in (("auditor", True), ("user", False), ("operator", True), ("user", False)):
        answer = await operator.request("PUT", path, json={"role": role})
        assert (answer.http, answer.body["role"]) == (200, role)
        assert ((await cast.user.request("GET", users)).http == 200) is reads
    for body in ({}, {"role": "king"}, {"role": None}, {"role": "user", "more": 1}):
        answer = await operator.request("PUT", path, json=body)
        assert answer.http == 400, answer.body
    (await operator.request("PUT", "/api/admin/users/nobody-here/role", json={"role": "user"})).refused(3000, 404)
