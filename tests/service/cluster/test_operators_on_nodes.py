"""Roles, suspension and the kill switch on three nodes: they hold on each of them from the answer on."""

from typing import Any

import pytest

from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.operator import SECRET
from tests.support.roaming import Entries, UserEverywhere
from tests.support.workspaces import following


async def act(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    answer = await client.request(method, f"/api/admin/{path}", json=body, headers=headers)
    assert answer.http == 200, answer.body
    return answer


async def an_operator(entries: Entries, home: int, name: str) -> UserEverywhere:
    """Register a user, and make it an operator through another node."""
    user = await entries.user_on(home, name)
    entry = entries.clients[(home + 1) % 3]
    await act(entry, "PUT", f"users/{user.name}/role", {"role": "operator"}, **SECRET)
    return user


async def with_key(user: UserEverywhere) -> list[Client]:
    made = await user.through[0].request("POST", "/api/api-keys", json={"name": "a key"})
    return [client.as_user(made.body["key"], user.name) for client in user.through]


@pytest.mark.parametrize("entry", range(3))
async def test_a_suspension_through_any_node_holds_on_all(entries: Entries, unique: str, entry: int):
    operator = await an_operator(entries, 0, f"{unique}-operator")
    target, guest = await entries.user_on(1, f"{unique}-target"), await entries.user_on(2, f"{unique}-guest")
    agent, domain = {"agent": f"{unique}-agent"}, f"{unique}-domain"
    await target.through[0].agent(agent["agent"], access="public")
    (await target.through[0].command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    keys = await with_key(target)
    for key in keys:  # so that each node has it in memory
        (await key.command("US_Read")).ok()
    async with following(target.through[2], domain) as on_third, following(keys[0], domain) as on_first:
        await act(operator.through[entry], "POST", f"users/{target.name}/suspend")
        for session, key, other, nobody in zip(target.through, keys, guest.through, entries.clients, strict=True):
            (await session.command("US_Read")).refused(2001, 401)
            (await key.command("US_Read")).refused(2005, 403)
            (await key.request("GET", "/api/skills")).refused(2005, 403)
            (await other.command("AP_Chat", target=agent, content="Hello")).refused(3002, 409)
            log_on = {"target": {"user": target.name}, "vx": {"secret": PASSWORD}}
            (await nobody.command("US_LogOn", **log_on)).refused(2005, 403)
        assert await on_third.next() == {"end": "suspended"}
        assert await on_first.next() == {"end": "suspended"}
    await act(operator.through[(entry + 1) % 3], "POST", f"users/{target.name}/resume")
    for key, other in zip(keys, guest.through, strict=True):
        (await key.command("US_Read")).ok()
        (await other.command("AP_Chat", target=agent, content="Hello")).ok()


@pytest.mark.parametrize("entry", range(3))
async def test_the_kill_switch_through_any_node_holds_on_all(entries: Entries, unique: str, entry: int):
    operator = await an_operator(entries, 2, f"{unique}-operator")
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    agent = {"agent": f"{unique}-agent"}
    await owner.through[0].agent(agent["agent"], access="public")
    for path, refused in (("stop", True), ("start", False)):
        await act(operator.through[entry], "POST", f"agents/{unique}-agent/{path}")
        for client in (*owner.through, *guest.through):
            answer = await client.command("AP_Chat", target=agent, content="Hello")
            answer.refused(3002, 409) if refused else answer.ok()


@pytest.mark.parametrize("entry", range(3))
async def test_a_role_holds_on_every_node(entries: Entries, unique: str, entry: int):
    operator = await an_operator(entries, entry, f"{unique}-operator")
    other = await entries.user_on(1, f"{unique}-other")
    path = f"users/{other.name}/role"
    for role in ("auditor", "user", "operator", "user"):
        await act(operator.through[entry], "PUT", path, {"role": role})
        for client in other.through:
            for admin in ("users?limit=1", "audit?limit=1"):
                answer = await client.request("GET", f"/api/admin/{admin}")
                assert answer.http == (403 if role == "user" else 200), (role, answer.body)
            assert (await client.request("GET", "/debug/actors?limit=1")).http == (403 if role == "user" else 200)


async def test_an_act_leaves_one_row_through_whatever_node_it_comes(entries: Entries, unique: str):
    operator = await an_operator(entries, 0, f"{unique}-operator")
    target = await entries.user_on(1, f"{unique}-target")
    for entry, client in enumerate(operator.through):
        headers = {"X-Request-Id": f"suspend-{unique}-{entry}", "Idempotency-Key": f"key-{entry}"}
        for _ in range(2):
            await act(client, "POST", f"users/{target.name}/suspend", **headers)
        await act(entries.clients[entry], "POST", f"users/{target.name}/resume", **SECRET)
        for _ in range(2):
            assert (await client.request("GET", f"/api/admin/users/{target.name}")).http == 200
    rows = (await operator.through[0].request("GET", "/api/admin/audit?limit=200")).body["entries"]
    about = [row for row in rows if row["target"].get("name") == target.name]
    assert sorted(row["request_id"] for row in about if row["service"] == "suspendUser") == [
        f"suspend-{unique}-{entry}" for entry in range(3)
    ]
    assert [row["user"] for row in about if row["service"] == "resumeUser"] == [None] * 3
    assert [row["user"] for row in about if row["service"] == "getUser"] == [operator.name]
