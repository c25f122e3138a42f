"""Suspended users and stopped agents (docs/contract.md, "Roles")."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import PASSWORD, Answer, Client, running
from tests.support.operator import LISTED, SECRET, SETTINGS, Cast
from tests.support.receiver import receiving
from tests.support.workspaces import following


async def act(operator: Client, path: str) -> Answer:
    answer = await operator.request("POST", f"/api/admin/{path}")
    assert answer.http == 200, answer.body
    return answer


async def key_of(user: Client) -> Client:
    made = await user.request("POST", "/api/api-keys", json={"name": "a key"})
    return user.as_user(made.body["key"], user.name)


async def chat(client: Client, agent: str, **more: Any) -> Answer:
    return await client.command("AP_Chat", target={"agent": agent, **more}, content="Hello")


async def test_a_suspended_user_is_out_until_it_is_let_in_again(cast: Cast):
    target, key = cast.target, await key_of(cast.target)
    (await key.command("US_Read")).ok()
    for _ in range(2):  # once more changes nothing
        shown = await act(cast.operator, f"users/{target.name.upper()}/suspend")
        assert (shown.body["state"], shown.body["name"]) == ("suspended", target.name)
        assert shown.body["suspended_at"]
    (await target.command("US_Read")).refused(2001, 401)
    (await key.command("US_Read")).refused(2005, 403)
    (await key.request("GET", "/api/webhooks/endpoints")).refused(2005, 403)
    assert (await key.request("POST", "/v1/chat/completions", json={})).http == 403
    log_on = {"target": {"user": target.name}, "vx": {"secret": PASSWORD}}
    (await target.as_user().command("US_LogOn", **log_on)).refused(2005, 403)
    (await target.as_user().command("US_LogOn", target=log_on["target"], vx={"secret": "wrong one"})).refused(2002, 401)
    (await chat(cast.user, cast.agent)).refused(3002, 409)
    read = (await cast.user.command("AP_Read", target={"agent": cast.agent})).ok()
    assert read.profile[0]["state"] == "online"
    for _ in range(2):
        shown = await act(cast.operator, f"users/{target.name}/resume")
        assert (shown.body["state"], shown.body["suspended_at"]) == ("active", None)
    (await key.command("US_Read")).ok()
    (await target.command("US_Read")).refused(2001, 401)
    await target.log_on(target.name)
    (await chat(cast.user, cast.agent)).ok()


async def test_its_streams_end_and_its_agents_are_silent_in_zones(cast: Cast, unique: str):
    domain = {"domain": f"{unique}-domain"}
    (await cast.target.command("DM_Create", vx={"name": domain["domain"], "description": "d", "access": "public"})).ok()
    await cast.user.agent(f"{unique}-guest")
    (await cast.user.command("DM_Join", target=domain)).ok()
    async with following(cast.target, domain["domain"]) as stream:
        await act(cast.operator, f"users/{cast.target.name}/suspend")
        assert await stream.next() == {"end": "suspended"}
    (await chat(cast.user, cast.agent, **domain)).refused(3002, 409)
    post = await cast.user.command("ZN_Post", target=domain, content=f"@{cast.agent} are you there?")
    post.ok()
    await asyncio.sleep(0.2)
    messages = (await cast.user.command("ZN_Read", target=domain)).ok().content
    assert [message["role"] for message in messages] == ["user"]


async def test_its_deliveries_wait(tmp_path: Path):
    settings = {**SETTINGS, "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client, receiving() as receiver:
        user = await client.register("watcher")
        made = await user.request("POST", "/api/webhooks/endpoints", json={"url": receiver.url})
        assert made.http == 201, made.body
        await user.agent("first-agent", select=False)
        await receiver.got(1)
        path = "/api/admin/users/watcher"
        assert (await client.request("POST", f"{path}/suspend", headers=SECRET)).http == 200
        assert (await client.request("PUT", f"{path}/plan", json={"plan": "scale"}, headers=SECRET)).http == 200
        await asyncio.sleep(1.5)
        assert len(receiver.received) == 1
        assert (await client.request("POST", f"{path}/resume", headers=SECRET)).http == 200
        await receiver.got(2)


async def test_a_new_password_ends_the_sessions_and_not_the_keys(cast: Cast):
    target, key = cast.target, await key_of(cast.target)
    answer = await act(cast.operator, f"users/{target.name}/reset-secret")
    assert answer.body["name"] == target.name
    assert len(answer.body["secret"]) >= 16
    (await target.command("US_Read")).refused(2001, 401)
    (await key.command("US_Read")).ok()
    old = {"target": {"user": target.name}, "vx": {"secret": PASSWORD}}
    (await target.as_user().command("US_LogOn", **old)).refused(2002, 401)
    await target.log_on(target.name, answer.body["secret"])
    again = {"Idempotency-Key": target.name}
    path = f"/api/admin/users/{target.name}/reset-secret"
    first, second = [await cast.operator.request("POST", path, headers=again) for _ in range(2)]
    assert first.body == second.body
    assert second.headers["Idempotency-Replayed"] == "true"


async def test_users_of_the_settings_are_safe_from_others(cast: Cast, operator: Client, nobody: Client):
    path = f"/api/admin/users/{LISTED}"
    for other, headers in ((cast.operator, {}), (nobody, SECRET)):
        for act_path in ("suspend", "reset-secret"):
            (await other.request("POST", f"{path}/{act_path}", headers=headers)).refused(2003, 403)
        for role in ("user", "auditor"):
            answer = await other.request("PUT", f"{path}/role", json={"role": role}, headers=headers)
            answer.refused(2003, 403)
    assert (await operator.request("GET", path)).body["role"] == "operator"
    for name, headers in (("second.op", {}), ("SECOND.op", {}), ("second.op", {"X-Internal-Secret": "wrong"})):
        vx = {"name": name, "secret": PASSWORD}
        (await nobody.command("US_Create", vx=vx, headers=headers)).refused(2003, 403)


async def models_of(client: Client) -> list[str]:
    listed = (await client.request("GET", "/v1/models")).body["data"]
    return [model["id"] for model in listed if not model["id"].endswith(":once")]


async def test_an_agent_that_an_operator_silences_is_no_model_meanwhile(cast: Cast):
    (await cast.user.command("AP_Add", target={"agent": cast.agent})).ok()
    silencings = [(f"agents/{cast.agent}", "stop", "start"), (f"users/{cast.target.name}", "suspend", "resume")]
    for path, silence, end in silencings:
        assert cast.agent in await models_of(cast.user)
        await act(cast.operator, f"{path}/{silence}")
        assert cast.agent not in await models_of(cast.user)
        assert (await cast.user.request("GET", f"/v1/models/{cast.agent}")).http == 404
        await act(cast.operator, f"{path}/{end}")
        assert (await cast.user.request("GET", f"/v1/models/{cast.agent}")).body["id"] == cast.agent


# the kill switch


async def test_a_stopped_agent_answers_in_no_door_until_it_is_started(cast: Cast, unique: str):
    domain = {"domain": f"{unique}-domain"}
    (await cast.target.command("DM_Create", vx={"name": domain["domain"], "description": "d"})).ok()
    (await chat(cast.user, cast.agent)).ok()
    for _ in range(2):
        stopped = await act(cast.operator, f"agents/{cast.agent.upper()}/stop")
        assert (stopped.body["name"], stopped.body["state"], stopped.body["stopped"]) == (cast.agent, "online", True)
    for client in (cast.user, cast.target):
        (await chat(client, cast.agent)).refused(3002, 409)
        said = {"model": cast.agent, "messages": [{"role": "user", "content": "Hello"}]}
        assert (await client.request("POST", "/v1/chat/completions", json=said)).http == 409
    (await chat(cast.target, cast.agent, **domain)).refused(3002, 409)
    read = (await cast.user.command("AP_Read", target={"agent": cast.agent})).ok()
    assert (read.profile[0]["state"], read.content[0]["state"]) == ("online", "online")
    (await cast.target.command("AP_LogOff", target={"agent": cast.agent})).ok()
    (await cast.target.command("AP_LogOn", target={"agent": cast.agent})).ok()
    (await chat(cast.target, cast.agent)).refused(3002, 409)
    started = await act(cast.operator, f"agents/{cast.agent}/start")
    assert started.body["stopped"] is False
    for client in (cast.user, cast.target):
        (await chat(client, cast.agent)).ok()
    (await cast.operator.request("POST", "/api/admin/agents/no-such-agent/stop")).refused(3000, 404)


@pytest.mark.parametrize("state", ["stopped", "suspended"])
async def test_the_switch_and_the_suspension_outlive_a_restart(tmp_path: Path, state: str):
    path = "/api/admin/agents/quiet-agent/stop" if state == "stopped" else "/api/admin/users/owner/suspend"
    async with running(tmp_path / "data", **SETTINGS) as gateway, gateway.client() as client:
        owner, guest = await client.register("owner"), await client.register("guest")
        await owner.agent("quiet-agent", access="public")
        assert (await client.request("POST", path, headers=SECRET)).http == 200
    async with running(tmp_path / "data", **SETTINGS) as gateway, gateway.client() as client:
        (await chat(client.as_user(guest.token), "quiet-agent")).refused(3002, 409)
