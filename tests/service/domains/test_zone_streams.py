"""ZN_Stream: live events of a zone (docs/contract.md, "Streams")."""

import asyncio
from pathlib import Path

import orjson
import pytest

from tests.support.gateway import BUS, PASSWORD, Client, running
from tests.support.operator import set_plan
from tests.support.wire import connected, raw_post
from tests.support.workspaces import Workspace, following, opened, post


async def test_a_stream_begins_at_once_and_has_messages_and_memberships(workspace: Workspace, unique: str):
    (await post(workspace.guest, workspace.domain, "before")).ok()
    async with following(workspace.owner, workspace.domain) as follower:
        assert follower.response.headers["Cache-Control"] == "no-store"
        posted = (await post(workspace.guest, workspace.domain, "Clear skies.")).ok().content[0]
        assert await follower.next() == {"type": "message", "message": posted}
        second = f"{unique}-second"
        await workspace.owner.agent(second, select=False)
        target = {"domain": workspace.domain, "agent": second}
        joined = (await workspace.owner.command("DM_Invite", target=target)).ok().profile[0]
        assert await follower.next() == {"type": "membership", "membership": joined}
        (await workspace.owner.command("DM_Leave", target=target)).ok()
        assert (await follower.next())["membership"]["state"] == "none"


@pytest.mark.parametrize("ending", ["AP_Destroy", "US_Destroy"])
async def test_a_stream_tells_that_a_member_was_destroyed(workspace: Workspace, ending: str):
    async with following(workspace.owner, workspace.domain) as follower:
        (await post(workspace.owner, workspace.domain, "Before")).ok()
        assert await follower.texts(1) == ["Before"]
        before = follower.last_id
        target, vx = {"agent": workspace.guest_agent}, {"secret": PASSWORD}
        (await workspace.guest.command(ending, target=target, vx=vx)).ok()
        told = await follower.next()
    membership = {"agent": workspace.guest_agent, "state": "none", "founder": False}
    assert told == {"type": "membership", "membership": membership | {"since": told["membership"]["since"]}}
    async with following(workspace.owner, workspace.domain, before) as follower:
        assert await follower.next() == told


async def test_streams_tell_of_each_agent_that_its_owner_takes_along(workspace: Workspace, unique: str):
    owner, guest, domains = workspace.owner, workspace.guest, [workspace.domain, f"{unique}-second"]
    (await owner.command("DM_Create", vx={"name": domains[1], "description": "d"})).ok()
    agents = [workspace.guest_agent, f"{unique}-invited"]
    await guest.agent(agents[1], access="public", select=False)
    for domain, agent in ((domains[0], agents[1]), (domains[1], agents[0]), (domains[1], agents[1])):
        (await owner.command("DM_Invite", target={"domain": domain, "agent": agent})).ok()
    async with following(owner, domains[0]) as first, following(owner, domains[1]) as second:
        (await guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
        for follower in (first, second):
            told = [(await follower.next())["membership"] for _ in agents]
            assert sorted((one["agent"], one["state"]) for one in told) == sorted((agent, "none") for agent in agents)


async def test_a_stream_has_what_is_said_in_its_zone_alone(workspace: Workspace):
    domain = workspace.domain
    (await workspace.owner.command("ZN_Create", target={"domain": domain}, vx={"name": "nightly"})).ok()
    async with following(workspace.owner, domain, zone="nightly") as follower:
        for text, zone in (("one", "nightly"), ("two", "lobby"), ("three", "nightly")):
            (await post(workspace.guest, domain, text, zone=zone)).ok()
        assert await follower.texts(2) == ["one", "three"]


async def test_who_comes_back_misses_nothing_and_has_nothing_twice(workspace: Workspace):
    domain = workspace.domain
    texts = [f"message {number}" for number in range(200)]
    seen: list[str] = []
    last_id = "0"

    async def speak() -> None:
        for text in texts:
            (await post(workspace.guest, domain, text)).ok()

    speaking = asyncio.create_task(speak())
    seqs: list[int] = []
    while len(seen) < len(texts):
        async with following(workspace.owner, domain, last_id) as follower:
            for _ in range(min(23, len(texts) - len(seen))):
                event = await follower.next()
                if event["type"] == "message":
                    seen.append(event["message"]["content"])
                    seqs.append(event["message"]["seq"])
            last_id = follower.last_id
    await speaking
    assert seen == texts
    assert seqs == list(range(1, 201))


async def test_who_comes_back_is_not_counted_again(workspace: Workspace):
    async def used() -> int:
        return (await workspace.owner.command("US_Read")).ok().profile[0]["quota"]["used"]

    before = await used()
    async with following(workspace.owner, workspace.domain):
        pass
    for _ in range(3):
        async with following(workspace.owner, workspace.domain, "1"):
            pass
    assert await used() == before + 2, "the first stream and this US_Read"


async def test_an_id_that_no_stream_has_had_to_give_is_counted_and_needs_quota(workspace: Workspace):
    owner, body = workspace.owner, {"target": {"domain": workspace.domain}}
    before = (await owner.command("US_Read")).ok().profile[0]["quota"]["used"]
    async with following(owner, workspace.domain, "0"):
        pass
    (await owner.command("ZN_Stream", **body, headers={"Last-Event-ID": "1.1"})).refused(1003, 400)
    assert (await set_plan(owner, owner.name, "enterprise", limit=before + 2)).http == 200
    for id in ("0", "00", "1.1", "junk"):
        (await owner.command("ZN_Stream", **body, headers={"Last-Event-ID": id})).refused(4000, 429)


async def test_an_empty_last_event_id_counts_as_none(workspace: Workspace):
    async with following(workspace.owner, workspace.domain, "") as follower:
        (await post(workspace.guest, workspace.domain, "new")).ok()
        assert await follower.texts(1) == ["new"]


async def test_who_comes_back_misses_nothing_after_a_zone_was_destroyed(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        owner, guest = await client.register("lovelace"), await client.register("babbage")
        domain = (await opened(owner, guest, "observatory")).domain
        (await owner.command("ZN_Create", target={"domain": domain}, vx={"name": "nightly"})).ok()
        for text, zone in (("one", "lobby"), ("two", "nightly"), ("three", "nightly")):
            (await post(guest, domain, text, zone=zone)).ok()
        async with following(owner, domain, "0", zone="nightly") as follower:
            while "message" not in (event := await follower.next()) or event["message"]["content"] != "three":
                pass
        last_id = follower.last_id
        (await owner.command("ZN_Destroy", target={"domain": domain, "zone": "nightly"})).ok()
        await gateway.stop()
        await gateway.start()
        owner.base = guest.base = gateway.base
        (await post(guest, domain, "four")).ok()
        async with following(owner, domain, last_id) as follower:
            assert await follower.texts(1) == ["four"]


async def test_many_readers_have_every_message_in_order(workspace: Workspace):
    texts = [f"message {number}" for number in range(100)]

    async def follow() -> list[str]:
        async with following(workspace.owner, workspace.domain, "0") as follower:
            first = await follower.next()
            while first["type"] != "message":
                first = await follower.next()
            return [first["message"]["content"], *await follower.texts(len(texts) - 1)]

    readers = [asyncio.create_task(follow()) for _ in range(50)]
    for text in texts:
        (await post(workspace.guest, workspace.domain, text)).ok()
    assert await asyncio.gather(*readers) == [texts] * 50


async def test_who_may_not_follow_is_refused_before_the_stream(workspace: Workspace, sanic_client: Client, unique: str):
    stranger = await sanic_client.register(f"{unique}-stranger")
    target = {"domain": workspace.domain}
    (await stranger.command("ZN_Stream", target=target)).refused(3000, 404)
    (await workspace.owner.command("ZN_Stream", target=target | {"zone": "no-such-zone"})).refused(3000, 404)
    (await sanic_client.command("ZN_Stream", target=target)).refused(2000, 401)
    (await workspace.owner.command("ZN_Stream")).refused(3003, 409)
    for wrong in ("x", "-1", "1.5", "9" * 30, "\u0661"):
        answer = await workspace.owner.command("ZN_Stream", target=target, headers={"Last-Event-ID": wrong})
        answer.refused(1003, 400)
    vx = {"name": workspace.domain, "description": "d", "access": "public"}
    (await workspace.owner.command("DM_Update", target=target, vx=vx)).ok()
    (await stranger.command("ZN_Stream", target=target)).refused(2003, 403)


async def test_a_stream_is_asked_for_on_the_bus_too(workspace: Workspace):
    body = orjson.dumps({"service": "ZN_Stream", "target": {"domain": workspace.domain}})
    headers = (f"Authorization: Bearer {workspace.owner.token}", "Content-Type: application/json")
    async with connected(workspace.owner.base) as (reader, writer):
        writer.write(raw_post(BUS, body, *headers))
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode()
        assert head.startswith("HTTP/1.1 200 OK")
        assert "text/event-stream" in head
        (await post(workspace.guest, workspace.domain, "Clear skies.")).ok()
        assert b"Clear skies." in await asyncio.wait_for(reader.readuntil(b"Clear skies."), 30)
    escaped = body.replace(b'"service":"ZN_', rb'"service" : "Z\u004e_')
    assert escaped != body
    async with connected(workspace.owner.base) as (reader, writer):
        # After a first request the connection is idle; a new one may take Sanic's path, which streams.
        writer.write(raw_post(BUS, b'{"service": "US_Read"}', *headers))
        await asyncio.wait_for(reader.readuntil(b'"content":[]}'), 30)
        writer.write(raw_post(BUS, escaped, *headers))
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode()
        assert head.startswith("HTTP/1.1 200 OK")
        (await post(workspace.guest, workspace.domain, "Thin clouds.")).ok()
        assert b"Thin clouds." in await asyncio.wait_for(reader.readuntil(b"Thin clouds."), 30)
