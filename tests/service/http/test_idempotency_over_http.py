"""Idempotency-Key where HTTP matters: restarts, clients that went away, streams, MCP, sealed answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from actors.idempotency.once import fingerprint_of
from persistence.store import Unit, Write
from tests.gateways.gate import Gate
from tests.support.gateway import BUS, Client, GatewayProcess, running
from tests.support.idempotent import REPLAYED, Scene, keyed, once
from tests.support.operator import on_plan
from tests.support.stored import read
from tests.support.stores import opened
from tests.support.wire import events_of


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "tab\there"])
async def test_a_key_that_is_none_is_refused(user: Client, key: str, unique: str):
    answer = await once(user, key, "AP_Create", vx={"name": f"{unique}-agent", "description": "d"})
    assert "Idempotency-Key: send 1 to 255" in answer.refused(1003, 400).note


async def test_a_repeat_counts_and_is_answered_after_a_restart(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data) as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        first = (await once(user, "key", "AP_Create", vx={"name": "scout", "description": "d"})).ok()
    async with running(data) as gateway, gateway.client() as nobody:
        user = Client(nobody.http, nobody.base, user.token, "lovelace")
        second = await once(user, "key", "AP_Create", vx={"name": "scout", "description": "d"})
        assert (second.body, second.headers[REPLAYED]) == (first.body, "true")
        assert (await user.command("US_Read")).profile[0]["quota"]["used"] == 3


async def test_repeats_of_what_an_older_version_kept_without_notes_are_redacted_and_change_nothing(tmp_path: Path):
    data, agent = tmp_path / "data", {"name": "scout", "description": "d"}
    async with running(data, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        (await once(user, "key", "AP_Create", vx=agent)).ok()
        refused = (await once(user, "other", "AP_Create", vx=agent)).refused(3001, 409)
        await user.request("POST", "/api/api-keys", json={"name": "job"}, headers=keyed("api-key"))
    store = await opened(data / "parley.db")
    await store.commit(Unit((Write("UPDATE kept_answers SET noted_at = NULL", ()),)))
    await store.close()
    async with running(data, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        user = Client(nobody.http, nobody.base, user.token, "lovelace")
        again = (await once(user, "key", "AP_Create", vx=agent)).ok()
        assert (again.profile, again.content, again.headers[REPLAYED]) == ([], [], "true")
        repeat = await once(user, "other", "AP_Create", vx=agent)
        assert (repeat.body, repeat.headers[REPLAYED]) == (refused.body, "true")
        key = await user.request("POST", "/api/api-keys", json={"name": "job"}, headers=keyed("api-key"))
        assert (key.http, key.body, key.headers[REPLAYED]) == (200, {}, "true")
        assert len((await user.request("GET", "/api/api-keys")).body["api_keys"]) == 1


async def test_who_went_away_and_comes_again_gets_the_answer_of_the_first(
    scripted_user: Client, gate: Gate, unique: str
):
    await scripted_user.agent(f"{unique}-agent")
    content = f"wait:{gate} say:hello"
    first = asyncio.create_task(once(scripted_user, "key", "AP_Chat", content=content))
    await gate.reached()
    first.cancel()
    second = asyncio.create_task(once(scripted_user, "key", "AP_Chat", content=content))
    await asyncio.sleep(0.1)
    gate.open()
    answer = (await second).ok()
    assert answer.content[1]["content"] == "hello"
    assert (await scripted_user.command("AP_History")).ok().content == answer.content


async def test_a_streamed_chat_is_kept_and_its_repeat_streams_the_whole(scripted_user: Client, unique: str):
    await scripted_user.agent(f"{unique}-agent")
    headers = scripted_user.headers(keyed("key") | {"Accept": "text/event-stream"})
    body = {"service": "AP_Chat", "content": "say:one say:two"}
    texts: list[list[str]] = []
    answers: list[Any] = []
    for _ in range(2):
        async with scripted_user.http.post(scripted_user.base + BUS, json=body, headers=headers) as response:
            events = [event async for event in events_of(response)]
        texts.append([event.data["text"] for event in events if event.name == "delta"])
        answers.append(next(event.data for event in events if event.name == "response"))
    assert texts == [["one", "two"], ["onetwo"]]
    assert answers[0] == answers[1]


async def test_a_withdrawn_answer_still_names_what_is_selected(scene: Scene):
    await scene.do("DM_Select", target={"domain": scene.domain})
    chat = {"content": "What of the dome, is it oiled?"}
    first = (await once(scene.owner, "chat", "AP_Chat", **chat)).ok()
    assert "The dome is oiled." in str(first.content)
    assert first.context == {"user": scene.owner.name, "agent": scene.agent, "domain": scene.domain, "zone": "lobby"}
    await scene.do("MB_Censor", target={"bank": scene.bank}, vx={"name": "*"})
    again = (await once(scene.owner, "chat", "AP_Chat", **chat)).ok()
    assert (again.headers[REPLAYED], again.context, again.profile, again.content) == ("true", first.context, [], [])
    headers = scene.owner.headers(keyed("chat") | {"Accept": "text/event-stream"})
    body = {"service": "AP_Chat", **chat}
    async with scene.owner.http.post(scene.owner.base + BUS, json=body, headers=headers) as response:
        (event,) = [event async for event in events_of(response)]
    assert (event.name, event.data["header"]["context"], event.data["content"]) == ("response", first.context, [])
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "AP_Chat", "arguments": chat}}
    accept = {"Accept": "application/json, text/event-stream"}
    by_mcp = await scene.owner.request("POST", "/mcp", json=message, headers=keyed("chat") | accept)
    answer = by_mcp.body["result"]["structuredContent"]
    assert (answer["header"]["context"], answer["content"]) == (first.context, [])


async def test_answers_are_kept_sealed(sanic_server: GatewayProcess, user: Client, unique: str):
    await on_plan(user, "builder")
    answer = await user.request("POST", "/api/api-keys", json={"name": "job"}, headers=keyed("key"))
    assert answer.http == 201
    again = await user.request("POST", "/api/api-keys", json={"name": "job"}, headers=keyed("key"))
    assert (again.http, again.body, again.headers[REPLAYED]) == (201, answer.body, "true")
    assert len((await user.request("GET", "/api/api-keys")).body["api_keys"]) == 1
    other = await user.request("POST", "/api/api-keys", json={"name": "other"}, headers=keyed("key"))
    assert (other.http, other.code) == (409, 3002)
    rows = await read(sanic_server, "SELECT answer, key_hash FROM kept_answers WHERE answer IS NOT NULL")
    assert rows
    assert not any(answer.body["key"].encode() in sealed or b"job" in sealed for sealed, _ in rows)


async def test_nobody_with_the_database_can_test_passwords_by_what_is_kept(sanic_server: GatewayProcess, user: Client):
    vx = {"secret": "a new secret of eight"}
    (await once(user, "key", "US_Update", vx=vx)).ok()
    assert (await once(user, "key", "US_Update", vx=vx)).ok().headers[REPLAYED] == "true"
    kept = [bytes(row[0]) for row in await read(sanic_server, "SELECT fingerprint FROM kept_answers")]
    assert kept
    assert fingerprint_of("US_Update", {"vx": vx}) not in kept
