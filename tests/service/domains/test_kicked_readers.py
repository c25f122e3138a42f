"""Streams of zones that end: for kicked readers, ended sessions, destroyed zones, slow readers, and at a stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from tests.gateways.gate import ENGINES
from tests.support.clock import ClockFile
from tests.support.gateway import BUS, PASSWORD, Client, GatewayProcess, running
from tests.support.wire import connected, raw_post
from tests.support.workspaces import Follower, Workspace, following, opened, post


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


@asynccontextmanager
async def clocked(folder: Path, **settings: str) -> AsyncIterator[tuple[GatewayProcess, Client, ClockFile]]:
    """Run a gateway with a movable clock."""
    clock = ClockFile(folder / "clock")
    settings |= {"TEST_CLOCK": str(clock.path)}
    running_clocked = running(folder / "data", script=ENGINES / "clocked.py", **settings)
    async with running_clocked as gateway, gateway.client() as client:
        yield gateway, client, clock


async def test_a_stream_that_is_followed_keeps_its_session(tmp_path: Path):
    async with clocked(tmp_path, PARLEY_SESSION_TTL_S="3") as (_, client, clock):  # it is used every second
        workspace = await opened(await client.register("lovelace"), await client.register("babbage"), "observatory")
        owner, guest = workspace.owner, workspace.guest
        quiet = await owner.log_on(owner.name)
        async with following(guest, "observatory") as follower:
            await asyncio.sleep(4.5)
            (await quiet.command("US_Read")).refused(2001, 401)
            (await post(guest, "observatory", "still here")).ok()
            assert await follower.texts(1) == ["still here"]
        clock.move(3_100)  # the stream has ended, and with it its use of the session
        (await guest.command("US_Read")).refused(2001, 401)


@pytest.mark.one_node(reason="it stops one process for longer than its lease")
async def test_a_stream_whose_session_has_expired_all_the_same_ends(tmp_path: Path):
    async with clocked(tmp_path, PARLEY_SESSION_TTL_S="3") as (gateway, client, clock):
        workspace = await opened(await client.register("lovelace"), await client.register("babbage"), "observatory")
        assert gateway.process is not None
        async with following(workspace.guest, "observatory") as follower:
            gateway.process.send_signal(signal.SIGSTOP)  # like a sleeping machine: no use is counted meanwhile
            clock.move(3_100)
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


@pytest.mark.parametrize("ending", ["AP_Destroy", "US_Destroy"])
async def test_streams_go_on_when_another_user_s_agent_is_destroyed(workspace: Workspace, ending: str):
    guest = workspace.guest
    async with following(workspace.owner, workspace.domain) as own, following(guest, workspace.domain) as theirs:
        target = {"agent": workspace.guest_agent} if ending == "AP_Destroy" else {}
        (await guest.command(ending, target=target, vx={"secret": PASSWORD})).ok()
        assert await ended(theirs) == ("agent destroyed" if ending == "AP_Destroy" else "revoked")
        (await post(workspace.owner, workspace.domain, "still here")).ok()
        assert (await own.next())["membership"]["state"] == "none"
        assert await own.texts(1) == ["still here"]


async def test_a_stream_of_a_revoked_session_that_still_catches_up_has_nothing_that_is_said_later(workspace: Workspace):
    owner, domain = workspace.owner, workspace.domain
    for _ in range(300):  # more than the connection holds
        (await post(workspace.guest, domain, "x" * 30_000)).ok()
    stolen = await owner.log_on(owner.name)
    body = orjson.dumps({"target": {"domain": domain}})
    headers = (f"Authorization: Bearer {stolen.token}", "Content-Type: application/json", "Last-Event-ID: 0")
    async with connected(owner.base) as (reader, writer):
        writer.write(raw_post(f"{BUS}/zone/stream", body, *headers, "Connection: close"))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        (await owner.command("US_Revoke", vx={"name": "all"})).ok()
        (await post(owner, domain, "said later")).ok()
        rest = await asyncio.wait_for(reader.read(), 30)
    assert b'event: end\ndata: {"reason":"revoked"}\n\n' in rest[-100:]
    assert b"said later" not in rest
    assert len(rest) < 300 * 30_000


async def test_a_reader_that_takes_nothing_is_cut_off_and_costs_no_memory(workspace: Workspace):
    body = orjson.dumps({"target": {"domain": workspace.domain}})
    headers = (f"Authorization: Bearer {workspace.owner.token}", "Content-Type: application/json")
    async with connected(workspace.owner.base) as (reader, writer):
        writer.write(raw_post(f"{BUS}/zone/stream", body, *headers, "Connection: close"))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
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
