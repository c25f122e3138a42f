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
from tests.support.gateway import Client
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
