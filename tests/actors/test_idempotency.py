"""Idempotency-Key: a command runs once, and every repeat gets its answer (docs/contract.md, "Idempotency")."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from actors.commands.table import COMMANDS
from tests.support.gateway import BUS, Client
from tests.support.idempotent import REPLAYED, Scene, keyed, once
from tests.support.operator import on_plan, set_plan

Preparation = Callable[[Scene], Awaitable[dict[str, Any]]]


def plain(**body: Any) -> Preparation:
    """A body without preparation; `{name}` stands for the scene's names."""

    async def prepared(scene: Scene) -> dict[str, Any]:
        text = orjson.dumps(body).decode()
        for key in ("agent", "guest_agent", "domain", "bank", "name"):
            text = text.replace(f"<{key}>", getattr(scene, key))
        return orjson.loads(text)

    return prepared


def after(*steps: Callable[[Scene], Awaitable[Any]], **body: Any) -> Preparation:
    """A body sent after some steps."""

    async def prepared(scene: Scene) -> dict[str, Any]:
        for step in steps:
            await step(scene)
        return await plain(**body)(scene)

    return prepared


async def revoked_session(scene: Scene) -> dict[str, Any]:
    return {"vx": {"name": await scene.other_session()}}


ON_ROSTER = after(
    lambda scene: scene.do("AP_Add", target={"agent": scene.guest_agent}), target={"agent": "<guest_agent>"}
)


def chatted(scene: Scene) -> Awaitable[Any]:
    return scene.do("AP_Chat", content="When is the dome oiled?")


GUEST = {"domain": "<domain>", "agent": "<guest_agent>"}
BODIES: dict[str, Preparation] = {
    "US_Revoke": revoked_session,
    "US_Update": plain(vx={"description": "new"}),
    "AP_Add": plain(target={"agent": "<guest_agent>"}),
    "AP_Chat": plain(content="When is the dome oiled?"),
    "AP_Create": plain(vx={"name": "<name>-new", "description": "d"}),
    "AP_Destroy": plain(target={"agent": "<agent>"}),
    "AP_LogOff": plain(target={"agent": "<agent>"}),
    "AP_LogOn": after(lambda scene: scene.do("AP_LogOff"), target={"agent": "<agent>"}),
    "AP_Modify": plain(target={"agent": "<agent>"}, vx={"name": "<name>-renamed"}),
    "AP_Remove": ON_ROSTER,
    "AP_Select": ON_ROSTER,
    "AP_Update": plain(target={"agent": "<agent>"}, vx={"name": "<name>-renamed", "description": "e"}),
    "DM_Ban": plain(target=GUEST),
    "DM_Create": plain(vx={"name": "<name>-new", "description": "d"}),
    "DM_Destroy": plain(target={"domain": "<domain>"}),
    "DM_Invite": plain(target=GUEST),
    "DM_Join": plain(target=GUEST),
    "DM_Kick": after(lambda scene: scene.move("DM_Invite"), target=GUEST),
    "DM_Leave": after(lambda scene: scene.move("DM_Join", scene.guest), target=GUEST),
    "DM_Select": plain(target={"domain": "<domain>"}),
    "DM_Unban": after(lambda scene: scene.move("DM_Ban"), target=GUEST),
    "DM_Update": plain(target={"domain": "<domain>"}, vx={"name": "<name>-renamed", "description": "e"}),
    "ZN_Create": plain(target={"domain": "<domain>"}, vx={"name": "cellar"}),
    "ZN_Destroy": plain(target={"domain": "<domain>", "zone": "attic"}),
    "ZN_Post": plain(target={"domain": "<domain>"}, content="Good evening."),
    "ZN_Select": plain(target={"domain": "<domain>", "zone": "attic"}),
    "CV_Create": plain(vx={"name": "Oil"}),
    "CV_Destroy": after(chatted, target={"conversation": "default"}),
    "CV_Fork": after(chatted, target={"conversation": "default"}),
    "CV_Update": after(chatted, target={"conversation": "default"}, vx={"name": "Oil"}),
    "MB_Accept": after(Scene.offer, target={"bank": "<bank>", "agent": "<guest_agent>"}),
    "MB_Censor": plain(target={"bank": "<bank>"}, vx={"name": "a fact"}),
    "MB_Create": plain(vx={"name": "<name>-new", "description": "d"}),
    "MB_Delete": plain(target={"bank": "<bank>"}, vx={"name": "a fact"}),
    "MB_Destroy": plain(target={"bank": "<bank>"}),
    "MB_Load": plain(target={"bank": "<bank>"}, vx={"name": "another"}, content="The dome is open."),
    "MB_Permissions": plain(target={"bank": "<bank>", "agent": "<guest_agent>"}, vx={"permission": "read"}),
    "MB_Unload": plain(target={"bank": "<bank>", "agent": "<agent>"}),
    "MB_Update": plain(target={"bank": "<bank>"}, vx={"name": "<name>-renamed", "description": "e"}),
}
BY_THE_GUEST = {"DM_Join", "DM_Leave", "MB_Accept"}
ENDS_ITS_CREDENTIAL = {"US_LogOff", "US_Destroy"}


def test_every_command_that_changes_something_has_a_case_here():
    changing = {service for service, command in COMMANDS.items() if command.mutates and not command.public}
    assert changing == BODIES.keys() | ENDS_ITS_CREDENTIAL


@pytest.mark.parametrize("service", BODIES)
async def test_a_repeat_gets_the_first_answer_and_changes_nothing(scene: Scene, service: str, unique: str):
    body = await BODIES[service](scene)
    client = scene.guest if service in BY_THE_GUEST else scene.owner
    first = await once(client, unique, service, **body)
    first.ok()
    assert REPLAYED not in first.headers
    second = await once(client, unique, service, **body)
    assert (second.http, second.body) == (first.http, first.body)
    assert second.headers[REPLAYED] == "true"
    alias = await client.alias(COMMANDS[service].alias, headers=keyed(unique), **body)
    assert (alias.body, alias.headers[REPLAYED]) == (first.body, "true")


@pytest.mark.parametrize("service", [service for service in BODIES if service != "US_Update"])
async def test_an_answer_with_a_key_is_the_one_without(scene: Scene, service: str, sanic_client: Client, unique: str):
    """The key's answer, written in the step of the change, must equal the one written after it."""
    twin = Scene(
        await on_plan(await sanic_client.register(f"{unique}-twin-one"), "builder"),
        await on_plan(await sanic_client.register(f"{unique}-twin-two"), "builder"),
        f"{unique}-twin",
    )
    await twin.set_up()
    answers: list[Any] = []
    for place, headers in ((scene, keyed("k")), (twin, {})):
        body = await BODIES[service](place)
        client = place.guest if service in BY_THE_GUEST else place.owner
        answers.append((await client.command(service, headers=headers, **body)).ok().body)
    assert _nameless(answers[0], scene) == _nameless(answers[1], twin)


def _nameless(body: Any, scene: Scene) -> Any:
    """Remove ids, times and names from an answer, which differ between scenes."""
    if isinstance(body, dict):
        gone = {"id", "conversation", "request_id", "at", "time", "created_at", "updated_at", "since"}
        return {key: _nameless(value, scene) for key, value in body.items() if key not in gone}
    if isinstance(body, list):
        return [_nameless(item, scene) for item in body]
    if isinstance(body, str):
        for name in (scene.owner.name, scene.guest.name):
            body = body.replace(name, "someone" if name == scene.owner.name else "another")
        return body.replace(scene.name, "scene")
    return body


async def test_two_at_once_with_one_key_run_once(user: Client, unique: str):
    await on_plan(user, "builder")
    body = {"vx": {"name": f"{unique}-agent", "description": "d"}}
    answers = await asyncio.gather(*(once(user, "one-key", "AP_Create", **body) for _ in range(20)))
    assert len({orjson.dumps(answer.ok().body) for answer in answers}) == 1
    assert sum(REPLAYED not in answer.headers for answer in answers) == 1
    assert len((await user.command("AP_List")).ok().profile) == 1


async def test_a_key_used_for_another_request_is_refused(user: Client, unique: str):
    body = {"vx": {"name": f"{unique}-agent", "description": "d"}}
    (await once(user, "key", "AP_Create", **body)).ok()
    (await once(user, "key", "AP_Create", vx={"name": f"{unique}-other", "description": "d"})).refused(3002, 409)
    (await once(user, "key", "AP_LogOn", target={"agent": f"{unique}-agent"})).refused(3002, 409)
    other_bytes = orjson.dumps(body | {"service": "AP_Create"}, option=orjson.OPT_INDENT_2)
    headers = keyed("key") | {"Content-Type": "application/json"}
    again = await user.request("POST", BUS, data=other_bytes, headers=headers)
    assert again.headers[REPLAYED] == "true"  # the same body in other bytes


async def test_a_key_is_its_credential_s_own(user: Client, unique: str):
    other = await user.log_on(user.name)
    body = {"vx": {"name": f"{unique}-agent", "description": "d"}}
    (await once(user, "key", "AP_Create", **body)).ok()
    (await once(other, "key", "AP_Create", **body)).refused(3001, 409)


async def test_refusals_of_the_core_are_kept_and_others_are_not(user: Client, unique: str):
    target = {"agent": f"{unique}-agent"}
    (await once(user, "early", "AP_LogOn", target=target)).refused(3000, 404)
    (await once(user, "short", "AP_Create", vx={"name": "abc", "description": "d"})).refused(2004, 403)
    (await once(user, "wrong", "AP_Create", vx={"name": "a b", "description": "d"})).refused(1003, 400)
    (await user.command("AP_Create", vx={"name": target["agent"], "description": "d"})).ok()
    kept = (await once(user, "early", "AP_LogOn", target=target)).refused(3000, 404)
    assert kept.headers[REPLAYED] == "true"
    await on_plan(user, "scale")
    assert REPLAYED not in (await once(user, "wrong", "AP_Create", vx={"name": "a b", "description": "d"})).headers
    assert REPLAYED not in (await once(user, "short", "AP_Create", vx={"name": "abc", "description": "d"})).headers


async def test_a_request_over_the_limit_is_not_kept(user: Client, unique: str):
    assert (await set_plan(user, user.name, "enterprise", limit=1)).http == 200
    body = {"vx": {"name": f"{unique}-agent", "description": "d"}}
    assert (await user.command("US_Read")).code == 0
    (await once(user, "key", "AP_Create", **body)).refused(4000, 429)
    await on_plan(user, "builder")
    assert REPLAYED not in (await once(user, "key", "AP_Create", **body)).ok().headers


async def test_commands_that_change_nothing_mind_no_key(user: Client):
    for _ in range(2):
        answer = (await once(user, "key", "US_Read")).ok()
        assert REPLAYED not in answer.headers
    assert answer.profile[0]["quota"]["used"] == 2


# chats


async def test_a_repeat_after_a_failed_engine_goes_on_with_the_same_message(
    scripted_user: Client, tmp_path: Path, unique: str
):
    await scripted_user.agent(f"{unique}-agent")
    content = f"say:hello failonce:{tmp_path / 'failed'}"
    (await once(scripted_user, "key", "AP_Chat", content=content)).refused(5001, 502)
    second = (await once(scripted_user, "key", "AP_Chat", content=content)).ok()
    assert REPLAYED not in second.headers
    third = await once(scripted_user, "key", "AP_Chat", content=content)
    assert (third.body, third.headers[REPLAYED]) == (second.body, "true")
    history = (await scripted_user.command("AP_History")).ok().content
    assert [(message["seq"], message["role"]) for message in history] == [(1, "user"), (2, "agent")]
    assert history == second.content


async def test_the_same_holds_in_a_zone(scripted_user: Client, tmp_path: Path, unique: str):
    await scripted_user.agent(f"{unique}-agent")
    (await scripted_user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    target = {"domain": f"{unique}-domain"}
    content = f"say:hello failonce:{tmp_path / 'failed'}"
    (await once(scripted_user, "key", "AP_Chat", target=target, content=content)).refused(5001, 502)
    second = (await once(scripted_user, "key", "AP_Chat", target=target, content=content)).ok()
    said = (await scripted_user.command("ZN_Read", target=target)).ok().content
    assert said == second.content
    third = await once(scripted_user, "key", "AP_Chat", target=target, content=content)
    assert (third.body, third.headers[REPLAYED]) == (second.body, "true")


# kept answers


async def test_a_kept_answer_that_quotes_a_censored_memory_is_withdrawn(scene: Scene):
    secret = "The treasure lies under the old observatory."
    body = {"target": {"bank": scene.bank}, "vx": {"name": "treasure"}, "content": secret}
    (await once(scene.owner, "load", "MB_Load", **body)).ok()
    chat = {"content": "Where does the treasure lie?"}
    quoted = (await once(scene.owner, "chat", "AP_Chat", **chat)).ok()
    assert secret in str(quoted.content)
    in_zone = {"target": {"domain": scene.domain}, **chat}
    assert secret in str((await once(scene.owner, "zone", "AP_Chat", **in_zone)).ok().content)
    await scene.do("MB_Censor", target={"bank": scene.bank}, vx={"name": "treasure"})
    for key, service, again in (("load", "MB_Load", body), ("chat", "AP_Chat", chat), ("zone", "AP_Chat", in_zone)):
        answer = (await once(scene.owner, key, service, **again)).ok()
        assert answer.headers[REPLAYED] == "true"
        assert "treasure lies" not in str(answer.body)
