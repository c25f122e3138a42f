"""ZN_Stream: live events of a zone (docs/contract.md, "Streams")."""

import asyncio
import signal
from pathlib import Path

import orjson
import pytest

from tests.support.gateway import BUS, PASSWORD, Client, running
from tests.support.operator import on_plan
from tests.support.wire import connected, raw_post
from tests.support.workspaces import Follower, Workspace, following, opened, post


@pytest.fixture
async def workspace(sanic_client: Client, unique: str) -> Workspace:
    owner = await on_plan(await sanic_client.register(f"{unique}-owner"), "builder")
    guest = await on_plan(await sanic_client.register(f"{unique}-guest"), "builder")
    return await opened(owner, guest, f"{unique}-domain")


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


async def ended(follower: Follower) -> str:
    """Read to the end; return its reason."""
    while True:
        event = await follower.next()
        assert event is not None, "the stream broke off without a reason"
        if "end" in event:
            assert await follower.next() is None
            return event["end"]


@pytest.mark.parametrize(
    ("service", "by_owner", "reason"),
    [("DM_Kick", True, "kicked"), ("DM_Ban", True, "banned"), ("DM_Leave", False, "left")],
)
async def test_a_stream_ends_with_the_membership(workspace: Workspace, service: str, by_owner: bool, reason: str):
    target = {"domain": workspace.domain, "agent": workspace.guest_agent}
    async with (
        following(workspace.guest, workspace.domain) as follower,
        following(workspace.owner, workspace.domain) as other,
    ):
        (await post(workspace.guest, workspace.domain, "my last words")).ok()
        (await (workspace.owner if by_owner else workspace.guest).command(service, target=target)).ok()
        assert await follower.texts(1) == ["my last words"]
        assert await ended(follower) == reason
        (await post(workspace.owner, workspace.domain, "gone")).ok()
        assert await other.texts(1) == ["my last words"]
        assert (await other.next())["type"] == "membership"
        assert await other.texts(1) == ["gone"]


async def test_a_stream_ends_with_its_session(workspace: Workspace):
    guest = workspace.guest
    second, third = await guest.log_on(guest.name), await guest.log_on(guest.name)
    async with following(second, workspace.domain) as one, following(third, workspace.domain) as two:
        (await second.command("US_LogOff")).ok()
        assert await ended(one) == "logged off"
        (await guest.command("US_Revoke", vx={"name": "all"})).ok()
        assert await ended(two) == "revoked"
    fourth = await guest.log_on(guest.name)
    async with following(fourth, workspace.domain) as one, following(guest, workspace.domain) as kept:
        (await guest.command("US_Update", vx={"secret": "another long password"})).ok()
        assert await ended(one) == "revoked"
        (await post(guest, workspace.domain, "still here")).ok()
        assert await kept.texts(1) == ["still here"]


async def test_a_stream_that_is_followed_keeps_its_session(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SESSION_TTL_S="1") as gateway, gateway.client() as client:
        workspace = await opened(await client.register("lovelace"), await client.register("babbage"), "observatory")
        owner, guest = workspace.owner, workspace.guest
        quiet = await owner.log_on(owner.name)
        async with following(guest, "observatory") as follower:
            await asyncio.sleep(2.5)
            (await quiet.command("US_Read")).refused(2001, 401)
            (await post(guest, "observatory", "still here")).ok()
            assert await follower.texts(1) == ["still here"]
        await asyncio.sleep(1.5)  # the stream is over, and so is its use of the session
        (await guest.command("US_Read")).refused(2001, 401)


async def test_a_stream_whose_session_has_expired_all_the_same_ends(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SESSION_TTL_S="1") as gateway, gateway.client() as client:
        workspace = await opened(await client.register("lovelace"), await client.register("babbage"), "observatory")
        assert gateway.process is not None
        async with following(workspace.guest, "observatory") as follower:
            gateway.process.send_signal(signal.SIGSTOP)  # as a machine that sleeps: no use is counted meanwhile
            await asyncio.sleep(1.5)
            gateway.process.send_signal(signal.SIGCONT)
            assert await ended(follower) == "expired"


async def test_a_stream_ends_with_its_zone_domain_agent_or_user(workspace: Workspace, unique: str):
    owner, guest, domain = workspace.owner, workspace.guest, workspace.domain
    (await owner.command("ZN_Create", target={"domain": domain}, vx={"name": "nightly"})).ok()
    async with following(guest, domain, zone="nightly") as follower:
        (await owner.command("ZN_Destroy", target={"domain": domain, "zone": "nightly"})).ok()
        assert await ended(follower) == "zone destroyed"
    async with following(guest, domain) as follower:
        (await guest.command("AP_Destroy", target={"agent": workspace.guest_agent})).ok()
        assert await ended(follower) == "agent destroyed"
    await guest.agent(f"{unique}-again")
    for ending in ("DM_Destroy", "US_Destroy"):
        if ending == "US_Destroy":
            domain = f"{unique}-other"
            (await owner.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
        vx = {"name": domain, "description": "d", "access": "public"}
        (await owner.command("DM_Update", target={"domain": domain}, vx=vx)).ok()
        (await guest.command("DM_Join", target={"domain": domain, "agent": f"{unique}-again"})).ok()
        async with following(guest, domain) as follower, following(owner, domain) as own:
            target = {"domain": domain} if ending == "DM_Destroy" else {}
            (await owner.command(ending, target=target, vx={"secret": PASSWORD})).ok()
            assert await ended(follower) == "domain destroyed"
            assert await ended(own) == ("revoked" if target == {} else "domain destroyed")


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
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode()
        assert head.startswith("HTTP/1.1 200 OK")
        assert "text/event-stream" in head
        (await post(workspace.guest, workspace.domain, "Clear skies.")).ok()
        assert b"Clear skies." in await asyncio.wait_for(reader.readuntil(b"Clear skies."), 10)
    escaped = body.replace(b'"service":"ZN_', rb'"service" : "Z\u004e_')
    assert escaped != body
    async with connected(workspace.owner.base) as (reader, writer):
        # After a first request the connection is idle; one that has just begun may take Sanic's way, which streams.
        writer.write(raw_post(BUS, b'{"service": "US_Read"}', *headers))
        await asyncio.wait_for(reader.readuntil(b'"content":[]}'), 10)
        writer.write(raw_post(BUS, escaped, *headers))
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode()
        assert head.startswith("HTTP/1.1 200 OK")
        (await post(workspace.guest, workspace.domain, "Thin clouds.")).ok()
        assert b"Thin clouds." in await asyncio.wait_for(reader.readuntil(b"Thin clouds."), 10)


async def test_a_reader_that_takes_nothing_is_cut_off_and_costs_no_memory(workspace: Workspace):
    body = orjson.dumps({"target": {"domain": workspace.domain}})
    headers = (f"Authorization: Bearer {workspace.owner.token}", "Content-Type: application/json")
    async with connected(workspace.owner.base) as (reader, writer):
        writer.write(raw_post(f"{BUS}/zone/stream", body, *headers, "Connection: close"))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        for _ in range(300):
            (await post(workspace.guest, workspace.domain, "x" * 30_000)).ok()
        rest = await asyncio.wait_for(reader.read(), 30)
    assert b'event: end\ndata: {"reason":"too slow"}\n\n' in rest[-100:]
    assert len(rest) < 300 * 30_000


async def test_streams_end_with_a_reason_when_the_gateway_stops(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        workspace = await opened(await client.register("lovelace"), await client.register("babbage"), "observatory")
        async with following(workspace.guest, "observatory") as follower:
            stopping = asyncio.create_task(gateway.stop())
            assert await ended(follower) == "gateway stops"
            assert await stopping == 0
        await gateway.start()
        workspace.guest.base = workspace.owner.base = gateway.base
        (await post(workspace.owner, "observatory", "back")).ok()
        async with following(workspace.guest, "observatory", "0") as follower:
            assert (await follower.next())["type"] == "membership"
            assert (await follower.next())["type"] == "membership"
            assert await follower.texts(1) == ["back"]
