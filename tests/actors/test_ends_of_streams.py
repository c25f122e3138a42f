"""Streams of zones whose readers are put out, or whose sessions end, while they catch up."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actors.calls.call import Call
from actors.calls.request import Target
from actors.commands.zones import follow
from actors.core import Core
from actors.domains.streams import Stream
from tests.support.clock import MovableClock
from tests.support.gateway import PASSWORD, Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.operator import on_plan
from tests.support.workspaces import Workspace, move, opened, post

SAID = [f"{number} " + "x" * 30_000 for number in range(20)]
"""More than two blocks of missed events."""


@pytest.fixture
async def workspace(core: Core, unique: str) -> Workspace:
    """A domain in which more was said than a stream catches up on at once."""
    client = CommandClient(CoreGateway(core))
    owner = await on_plan(await client.register(f"{unique}-owner"), "scale")
    workspace = await opened(owner, await client.register(f"{unique}-guest"), f"{unique}-domain")
    for text in SAID:
        (await post(owner, workspace.domain, text)).ok()
    return workspace


async def call_of(core: Core, user: Client, domain: str) -> Call:
    """Return a call of ZN_Stream, which has been admitted."""
    call = Call(core, "", "192.0.2.7", service="ZN_Stream")
    call.target = Target(domain=domain)  # pyright: ignore[reportCallIssue]
    call.sent_by(await core.credentials.authenticate(user.token))
    return call


@asynccontextmanager
async def catching_up(core: Core, user: Client, domain: str) -> AsyncIterator[tuple[Stream, bytes]]:
    """Follow a zone from its beginning; yield the stream and its first bytes, which are not all that was said."""
    call = await call_of(core, user, domain)
    call.last_event_id = "0"
    stream = await follow(call)
    try:
        first = await stream.reader.next(10)
        assert first is not None
        assert 0 < len(texts_in(first)) < len(SAID)
        yield stream, first
    finally:
        stream.reader.close()


async def rest_of(stream: Stream) -> bytes:
    """Read a stream to its end."""
    async with asyncio.timeout(30):
        rest = b""
        while (data := await stream.reader.next(10)) is not None:
            rest += data
        return rest


async def part_of(stream: Stream, upto: str) -> bytes:
    """Read a stream up to a text."""
    async with asyncio.timeout(30):
        part = b""
        while upto not in texts_in(part):
            data = await stream.reader.next(10)
            assert data is not None, part[-200:]
            part += data
        return part


def texts_in(data: bytes) -> list[str]:
    return [text.decode() for text in re.findall(rb'"content":"([^"]*)"', data)]


def ended(reason: str) -> bytes:
    return b'event: end\ndata: {"reason":"%b"}\n\n' % reason.encode()


@pytest.mark.parametrize("reason", ["revoked", "logged off", "suspended", "expired"])
async def test_nothing_comes_after_the_end_of_a_session_also_of_what_was_missed(
    core: Core, clock: MovableClock, workspace: Workspace, reason: str
):
    owner, guest = workspace.owner, workspace.guest
    other = await guest.log_on(guest.name)
    async with catching_up(core, other, workspace.domain) as (stream, _):
        if reason == "revoked":
            (await guest.command("US_Revoke", vx={"name": "all"})).ok()
        elif reason == "logged off":
            (await other.command("US_LogOff")).ok()
        elif reason == "suspended":
            assert (await owner.request("POST", f"/api/admin/users/{guest.name}/suspend")).http == 200
        else:
            clock.now += core.session_ttl_ms
            owner = await owner.log_on(owner.name)
            await stream.use()
        (await post(owner, workspace.domain, "said later")).ok()
        assert await rest_of(stream) == ended(reason)


async def key_of(user: Client) -> tuple[str, Client]:
    """Make an API key; return its id and a client that sends it."""
    await on_plan(user, "scale")
    made = (await user.request("POST", "/api/api-keys", json={"name": "reader"})).body
    return made["id"], user.as_user(made["key"], user.name)


@pytest.mark.parametrize(
    ("service", "vx"), [("US_Revoke", {"name": "all"}), ("US_Update", {"secret": "another " + PASSWORD})]
)
async def test_what_ends_a_user_s_sessions_ends_no_stream_of_its_keys(
    core: Core, workspace: Workspace, service: str, vx: dict[str, str]
):
    guest = workspace.guest
    _, key = await key_of(guest)
    other = await guest.log_on(guest.name)
    async with (
        catching_up(core, key, workspace.domain) as (of_key, first),
        catching_up(core, other, workspace.domain) as (of_session, _),
    ):
        (await guest.command(service, vx=vx)).ok()
        (await post(workspace.owner, workspace.domain, "said later")).ok()
        assert await rest_of(of_session) == ended("revoked")
        assert texts_in(first + await part_of(of_key, "said later")) == [*SAID, "said later"]


@pytest.mark.parametrize("reason", ["revoked", "suspended"])
async def test_a_key_s_stream_ends_with_the_key_and_with_its_user(core: Core, workspace: Workspace, reason: str):
    guest = workspace.guest
    id, key = await key_of(guest)
    async with catching_up(core, key, workspace.domain) as (stream, _):
        if reason == "revoked":
            assert (await guest.request("DELETE", f"/api/api-keys/{id}")).http == 204
        else:
            assert (await guest.request("POST", f"/api/admin/users/{guest.name}/suspend")).http == 200
        (await post(workspace.owner, workspace.domain, "said later")).ok()
        assert await rest_of(stream) == ended(reason)


@pytest.mark.parametrize("service", ["DM_Leave", "DM_Kick", "DM_Ban"])
async def test_who_has_another_member_left_reads_on(core: Core, workspace: Workspace, unique: str, service: str):
    owner, guest = workspace.owner, workspace.guest
    await guest.agent(f"{unique}-second", access="public", select=False)
    (await move(owner, "DM_Invite", workspace.domain, f"{unique}-second")).ok()
    (await move(guest, "DM_Join", workspace.domain, f"{unique}-second")).ok()
    async with catching_up(core, guest, workspace.domain) as (stream, first):
        by = guest if service == "DM_Leave" else owner
        (await move(by, service, workspace.domain, workspace.guest_agent)).ok()
        (await post(owner, workspace.domain, "said later")).ok()
        assert texts_in(first + await part_of(stream, "said later")) == [*SAID, "said later"]


async def test_a_session_that_ends_stops_a_reader_who_was_put_out_before(core: Core, workspace: Workspace):
    guest = workspace.guest
    other = await guest.log_on(guest.name)
    async with catching_up(core, other, workspace.domain) as (stream, _):
        (await move(workspace.owner, "DM_Kick", workspace.domain, workspace.guest_agent)).ok()
        (await guest.command("US_Revoke", vx={"name": "all"})).ok()
        assert await rest_of(stream) == ended("kicked")


async def test_a_kicked_reader_catches_up_to_the_kick(core: Core, workspace: Workspace):
    async with catching_up(core, workspace.guest, workspace.domain) as (stream, first):
        (await move(workspace.owner, "DM_Kick", workspace.domain, workspace.guest_agent)).ok()
        (await post(workspace.owner, workspace.domain, "said later")).ok()
        rest = await rest_of(stream)
    assert texts_in(first + rest) == SAID
    *_, kick, end = rest.split(b"\n\n")[:-1]
    assert b'"type":"membership"' in kick
    assert end + b"\n\n" == ended("kicked")


async def test_who_has_lost_the_last_member_with_its_agent_catches_up_on_what_was_said_before(
    core: Core, workspace: Workspace
):
    async with catching_up(core, workspace.guest, workspace.domain) as (stream, first):
        (await workspace.guest.command("AP_Destroy", target={"agent": workspace.guest_agent})).ok()
        rest = await rest_of(stream)
    assert texts_in(first + rest) == SAID
    assert rest.endswith(ended("agent destroyed"))
