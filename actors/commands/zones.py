"""The zone group: streams of messages in domains (product 4)."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
import re
from collections.abc import AsyncIterator

import orjson

from actors.agents.messages import AgentView
from actors.calls.call import Answer, Call
from actors.calls.request import require_name
from actors.commands.banks import memories_for_chat
from actors.commands.domains import select_place
from actors.conversations.records import message_record
from actors.conversations.stored import from_row, quoted_positions
from actors.domains.messages import CreateZone, DestroyZone, Said, SayInZone, no_member
from actors.domains.records import zone_record
from actors.domains.streams import Stream, StreamEvent, event
from actors.engines.message import Utterance
from actors.engines.turn import Memory, Persona
from actors.errors import InvalidCredential, InvalidField, ServiceError, StateConflict
from actors.sessions.messages import UseSession
from persistence import agents, zones
from persistence.agents import AgentRow
from persistence.domains import ZoneRow
from persistence.store import StoreUnavailable
from persistence.users import name_key
from persistence.zones import StreamEventRow

CHAT_TIMEOUT_S = 300.0
"""How long a message in a zone may take with its replies; engines have shorter bounds of their own."""

MAX_MENTIONS = 5
"""Agents that reply because a message names them."""

NEWEST = 2**62
"""Higher than any seq."""

_mention = re.compile(r"@([A-Za-z0-9][A-Za-z0-9_.-]{1,62}[A-Za-z0-9])")


async def create(call: Call) -> Answer:
    """ZN_Create: add a zone to a domain."""
    name = require_name(call.vx.name or "")
    view = await call.target_domain()
    await call.require_name_allowed(name)
    return await call.carry_out(
        "domain",
        view.row.id,
        CreateZone(view.viewer, name),
        lambda zone: Answer(profile=[zone_record(zone, view.row.name)]),
    )


async def list_zones(call: Call) -> Answer:
    """ZN_List: the zones of a domain, the oldest first; `target.zone` is a name prefix."""
    view, limit = await call.target_domain(), call.page_limit
    after, prefix = call.cursor(str) or "", name_key(call.target.zone or "")
    listed = [zone for zone in view.zones if zone.id > after and name_key(zone.name).startswith(prefix)]
    return Answer(
        profile=[zone_record(zone, view.row.name) for zone in listed[:limit]],
        next=call.next_cursor(listed[limit - 1].id) if len(listed) > limit else None,
    )


async def read(call: Call) -> Answer:
    """ZN_Read: what was said in a zone, a page of it, newest last: back from the newest, or on from `page.after`.

    A cursor leads on in its page's direction: a seq leads back, a seq as text forward.
    """
    view, zone = await call.target_zone()
    if not view.is_member:
        raise no_member(view.row)
    limit, cursor, fetch = call.page_limit, call.cursor(int, str), call.core.store.fetch
    after = call.request.page.after if cursor is None and call.request.page else None
    if isinstance(cursor, str):
        after = _number(cursor, "page.cursor: send header.next of the page before, unchanged")
    if after is not None:
        rows = await fetch(zones.page_after(zone.id, after, limit + 1))
        page, edge = rows[:limit], str(rows[limit - 1].seq) if len(rows) > limit else None
    else:
        rows = await fetch(zones.page_before(zone.id, cursor if isinstance(cursor, int) else NEWEST, limit + 1))
        page, edge = rows[:limit][::-1], rows[limit - 1].seq if len(rows) > limit else None
    return Answer(
        profile=[zone_record(zone, view.row.name)],
        content=[message_record(from_row(row), zone.name) for row in page],
        next=None if edge is None else call.next_cursor(edge),
    )


async def select(call: Call) -> Answer:
    """ZN_Select: make a zone and its domain the session's."""
    view, zone = await call.target_zone()
    if not view.is_member:
        raise no_member(view.row)
    return await select_place(call, view.row.id, zone.id, Answer(profile=[zone_record(zone, view.row.name)]))


async def destroy(call: Call) -> Answer:
    """ZN_Destroy: remove a zone and what was said in it."""
    view, zone = await call.target_zone()

    def destroyed(_: None) -> Answer:
        if call.zone_id == zone.id:
            call.zone_id = None
        return Answer()

    return await call.carry_out("domain", view.row.id, DestroyZone(view.viewer, zone.id), destroyed)


async def post(call: Call) -> Answer:
    """ZN_Post: say something in a zone; only agents that it names reply."""
    return await _say(call, None)


async def chat(call: Call) -> Answer:
    """AP_Chat in a zone: say something to an agent there, and have its reply."""
    agent = await call.target_agent()
    if not agent.row.online:
        raise StateConflict(f"{agent.row.name} is offline; its owner logs it on with AP_LogOn.")
    return await _say(call, agent)


async def _say(call: Call, spoken_to: AgentView | None) -> Answer:
    view, zone = await call.target_zone()
    content = call.request.content or ""
    answering = [] if spoken_to is None else [spoken_to.row]
    named = list(dict.fromkeys(_mention.findall(content)))[:MAX_MENTIONS]
    if named:
        members = await call.core.store.fetch(agents.online_members_named(view.row.id, named))
        answering += [member for member in members if member.id not in {agent.id for agent in answering}]
    message = SayInZone(
        view.viewer,
        zone.id,
        call.user.user_name,
        content,
        answering=tuple(_persona(agent) for agent in answering),
        memories=tuple([await _memories(call, agent, spoken_to, content) for agent in answering]),
        spoken_to=spoken_to is not None,
        resumes=await _resumed(call, zone.id),
    )
    unsent = ""

    def answered(said: Said) -> Answer:
        nonlocal unsent
        if said.reply is None:
            return Answer(content=[message_record(said.message, zone.name)])
        unsent = "" if said.streamed else said.reply.content
        return Answer(
            content=[message_record(said.message, zone.name), message_record(said.reply, zone.name)],
            quoted=quoted_positions(said.reply, message.memories[0]),
        )

    answer = await call.carry_out("domain", view.row.id, message, answered, timeout=CHAT_TIMEOUT_S)
    if call.progress is not None and unsent:
        call.progress(unsent)
    return answer


async def _resumed(call: Call, zone_id: str) -> Utterance | None:
    """Read the message that a repeat goes on with."""
    if call.resumes is None:
        return None
    rows = await call.core.store.fetch(zones.message(zone_id, call.resumes))
    return from_row(rows[0]) if rows else None


async def _memories(call: Call, agent: AgentRow, spoken_to: AgentView | None, content: str) -> tuple[Memory, ...]:
    """Find what an agent's banks say, unless it is known to have none."""
    if spoken_to is not None and spoken_to.row.id == agent.id and not spoken_to.has_banks:
        return ()
    return await memories_for_chat(call, agent.id, content)


def _persona(agent: AgentRow) -> Persona:
    return Persona(agent.id, agent.name, agent.description, agent.profile or "")


LAST_EVENT_ID = "Last-Event-ID: send the id of an event of this stream"

USE_EVERY_S = 15.0
"""A stream counts as a use of its session so often, more often where sessions are short."""

CATCH_UP = 200
"""Events that are read from the store at a time."""

BLOCK_BYTES = 262_144
"""Of these about so much is written in one go."""


async def follow(call: Call) -> Stream:
    """ZN_Stream: subscribe to a zone; also what happened since the event whose id the caller had last."""
    view, zone = await call.target_zone()
    user, store = call.user, call.core.store
    after = None if call.last_event_id is None else _number(call.last_event_id, LAST_EVENT_ID)
    reader = call.core.streams.subscribe(view.row.id, zone.id, user.user_id, user.credential_id)
    try:
        view, zone = await call.target_zone()  # as it is now: who is put out from here on is told so
        if not view.is_member:
            raise no_member(view.row)
        (newest,) = await store.fetch(zones.last_number(view.row.id))
    except BaseException:
        reader.close()
        raise
    reader.last = newest if after is None else min(after, newest)

    async def missed() -> AsyncIterator[bytes]:
        while rows := await store.fetch(zones.events_after(view.row.id, zone.id, reader.last, CATCH_UP)):
            block = bytearray()
            for row in rows:
                block += _missed(row, zone).data
                reader.last = row.number
                if len(block) >= BLOCK_BYTES or row is rows[-1]:
                    yield bytes(block)
                    block.clear()
                    await asyncio.sleep(0)

    async def use() -> None:
        try:
            await call.ask(user.kind, user.credential_id, UseSession())
        except InvalidCredential:
            reader.end("expired")
        except (ServiceError, StoreUnavailable):
            pass  # nothing is known of the session: the next use will tell

    return Stream(reader, missed(), use, min(USE_EVERY_S, call.core.session_ttl_ms / 3000))


async def stream(call: Call) -> Answer:
    """ZN_Stream where the request came on the path for short answers.

    Raises:
        InvalidField: always; such a request has the service's name in escapes.
    """
    raise InvalidField("Invalid value of service: write ZN_Stream without escapes, or use its alias.")


def _missed(row: StreamEventRow, zone: ZoneRow) -> StreamEvent:
    if row.message is not None:
        return event(row.number, zone.id, "message", message_record(from_row(row.message), zone.name))
    return event(row.number, None, "membership", orjson.loads(row.membership or "{}"))


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidField(f"Invalid value of {what}.")
    return int(text)
