"""The zone group: streams of messages in domains."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import orjson

from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, next_cursor, page_limit, page_of
from actors.calls.request import require_name
from actors.calls.targets import target_domain, target_zone
from actors.calls.user_targets import require_name_in_plan
from actors.commands.command import PAGE, ZONE_MEMBERS, Command, ToolDescription
from actors.commands.domains import select_zone
from actors.conversations.records import message_record
from actors.conversations.stored import from_row
from actors.domains.messages import DOMAIN, CreateZone, DestroyZone, no_member
from actors.domains.records import zone_record
from actors.domains.streams import Stream, StreamEvent, event
from actors.errors import InvalidField
from actors.sessions.messages import ended
from actors.sessions.open_streams import use_every_s, use_session
from persistence import zones
from persistence.domains import ZoneRow
from persistence.users import name_key
from persistence.zones import StreamEventRow

NEWEST = 2**62
"""Higher than any seq."""


async def create(call: Call) -> Answer:
    """ZN_Create: add a zone to a domain."""
    name = require_name(call.vx.name or "")
    view = await target_domain(call)
    await require_name_in_plan(call, name, ended)
    message = CreateZone(view.viewer, name)
    return await call.carry_out(DOMAIN, view.row.id, message, lambda zone: _shown(zone, view.row.name), listed=True)


def _shown(zone: ZoneRow, domain: str) -> Answer:
    return Answer(profile=[zone_record(zone, domain)], shows=(zone.id,))


async def list_zones(call: Call) -> Answer:
    """ZN_List: the zones of a domain, the oldest first; `target.zone` is a name prefix."""
    view, limit = await target_domain(call), page_limit(call)
    after, prefix = cursor(call, str) or "", name_key(call.target.zone or "")
    listed = [zone for zone in view.zones if zone.id > after and name_key(zone.name).startswith(prefix)]
    page, following = page_of(call, listed, limit, lambda zone: zone.id)
    return Answer(profile=[zone_record(zone, view.row.name) for zone in page], next=following)


async def read(call: Call) -> Answer:
    """ZN_Read: a page of a zone's messages, newest last: back from the newest, or on from `page.after`.

    A cursor keeps its page's direction: a seq leads back, a seq as text forward.
    """
    view, zone = await target_zone(call)
    if not view.is_member:
        raise no_member(view.row)
    limit, sent, fetch = page_limit(call), cursor(call, int, str), call.core.store.fetch
    after = call.request.page.after if sent is None and call.request.page else None
    if isinstance(sent, str):
        after = _number(sent, "page.cursor: send header.next of the page before, unchanged")
    if after is not None:
        rows = await fetch(zones.page_after(zone.id, after, limit + 1))
        page, edge = rows[:limit], str(rows[limit - 1].seq) if len(rows) > limit else None
    else:
        rows = await fetch(zones.page_before(zone.id, sent if isinstance(sent, int) else NEWEST, limit + 1))
        page, edge = rows[:limit][::-1], rows[limit - 1].seq if len(rows) > limit else None
    return Answer(
        profile=[zone_record(zone, view.row.name)],
        content=[message_record(from_row(row), zone.name) for row in page],
        next=None if edge is None else next_cursor(call, edge),
    )


async def select(call: Call) -> Answer:
    """ZN_Select: select a zone and its domain for the session."""
    view, zone = await target_zone(call)
    if not view.is_member:
        raise no_member(view.row)
    return await select_zone(call, view.row.id, zone.id, _shown(zone, view.row.name))


async def destroy(call: Call) -> Answer:
    """ZN_Destroy: remove a zone and its messages."""
    view, zone = await target_zone(call)

    def destroyed(_: None) -> Answer:
        if call.zone_id == zone.id:
            call.zone_id = None
        return Answer()

    answer = await call.carry_out(DOMAIN, view.row.id, DestroyZone(view.viewer, zone.id), destroyed, listed=True)
    call.core.erasure.wake()
    return answer


LAST_EVENT_ID = "Last-Event-ID: send the id of an event of this stream"

CATCH_UP = 200
"""The number of missed events that one read of the store returns."""

BLOCK_BYTES = 262_144
"""The approximate size of a block of missed events, in bytes."""


async def follow(call: Call) -> Stream:
    """ZN_Stream: subscribe to a zone, beginning with the events after the last one that the caller got."""
    view, zone = await target_zone(call)
    user, store = call.user, call.core.store
    after = _number(call.last_event_id, LAST_EVENT_ID) if call.last_event_id else None
    reader = call.core.streams.subscribe(view.row.id, zone.id, user.user_id, user.credential_id)
    try:
        await call.require_credential()
        view, zone = await target_zone(call)  # again: a reader put out from here on is notified
        if not view.is_member:
            raise no_member(view.row)
        (newest,) = await store.fetch(zones.last_number(view.row.id))
    except BaseException:
        reader.close()
        raise
    reader.last = newest if after is None else min(after, newest)

    async def missed() -> AsyncIterator[bytes]:
        while found := await store.fetch(zones.events_after(view.row.id, zone.id, reader.last, CATCH_UP)):
            block = bytearray()
            for row in found:
                if not reader.may_have(row.number):  # the stream may have ended since the last block
                    break
                block += _missed(row, zone).data
                reader.last = row.number
                if len(block) >= BLOCK_BYTES:
                    yield bytes(block)
                    block.clear()
                    await asyncio.sleep(0)
            if block:
                yield bytes(block)
            if reader.last < found[-1].number:
                return

    core = call.core
    reader.missed = missed
    reader.fall_behind()
    use = partial(use_session, reader, core.directory, user.kind)
    return Stream(reader, use, use_every_s(core.session_ttl_ms))


def _missed(row: StreamEventRow, zone: ZoneRow) -> StreamEvent:
    if row.message is not None:
        return event(row.number, zone.id, "message", message_record(from_row(row.message), zone.name))
    return event(row.number, None, "membership", orjson.loads(row.membership or "{}"))


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidField(f"Invalid value of {what}.")
    return int(text)


COMMANDS = (
    Command(
        "ZN_Create",
        "Add a zone to a domain in which you have a member.",
        create,
        uses=("target.domain", "vx.name"),
        requires=("vx.name",),
        profile="zone",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"domain": "observatory"}, "vx": {"name": "nightly"}},
        tool=ToolDescription(
            "Create a zone",
            "Create a zone, a stream of messages, in a domain where you have a member agent. Takes the "
            "selected domain if none is named.",
        ),
    ),
    Command(
        "ZN_Destroy",
        "Remove a zone and its messages; the lobby can't be removed.",
        destroy,
        uses=ZONE_MEMBERS,
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "zone": "nightly"}},
        tool=ToolDescription(
            "Delete a zone",
            "Delete a zone and all its messages; the lobby can't be deleted. Only for the domain's owner; "
            "takes the selected zone if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "ZN_List",
        "List a domain's zones; target.zone is a name prefix.",
        list_zones,
        uses=(*ZONE_MEMBERS, *PAGE),
        profile="zone",
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"domain": "observatory"}},
        tool=ToolDescription(
            "List zones",
            "List a domain's zones, all or those whose names begin with a prefix. Takes the selected domain if "
            "none is named.",
        ),
    ),
    Command(
        "ZN_Read",
        "Read the messages of a zone, newest last: the newest ones, or those after the seq `page.after`.",
        read,
        uses=(*ZONE_MEMBERS, *PAGE, "page.after"),
        profile="zone",
        content=("message",),
        mutates=False,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
        tool=ToolDescription(
            "Read a zone",
            "Read a zone's messages, newest last: its newest ones, or those after a given one. Takes the "
            "selected zone if none is named.",
        ),
    ),
    Command(
        "ZN_Select",
        "Select a zone and its domain for the session.",
        select,
        uses=ZONE_MEMBERS,
        profile="zone",
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory", "zone": "lobby"}},
        tool=ToolDescription(
            "Select a zone",
            "Select a zone, in a domain where you have a member agent: tools that get no zone's name use it "
            "from then on, and AP_Chat speaks there.",
            idempotent=True,
        ),
    ),
    Command(
        "ZN_Stream",
        "Follow a zone: messages and membership changes as server-sent events.",
        uses=ZONE_MEMBERS,
        mutates=False,
        follow=follow,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
)
