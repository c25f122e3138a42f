"""The zone group: streams of messages in domains (product 4)."""

import re

from actors.agent import AgentView
from actors.call import Answer, Call
from actors.conversation import from_row, message_record
from actors.domain import CreateZone, DestroyZone, Said, SayInZone, no_member
from actors.engines.engine import Persona
from actors.errors import StateConflict
from actors.records import zone_record
from actors.request import require_name
from actors.session import SelectZone
from actors.user import ReadUser, require_name_allowed
from persistence import agents, zones
from persistence.agents import AgentRow
from persistence.users import name_key

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
    user = await call.ask("user", call.user.user_id, ReadUser())
    require_name_allowed(name, user.plan)
    zone = await call.ask("domain", view.row.id, CreateZone(view.viewer, name))
    return Answer(profile=[zone_record(zone, view.row.name)])


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
    """ZN_Read: what was said in a zone, a page of it, newest last."""
    view, zone = await call.target_zone()
    if not view.is_member:
        raise no_member(view.row)
    limit, before = call.page_limit, call.cursor(int)
    rows = await call.core.store.fetch(zones.page_before(zone.id, NEWEST if before is None else before, limit + 1))
    messages = [message_record(from_row(row), zone.name) for row in reversed(rows[:limit])]
    older = call.next_cursor(rows[limit - 1].seq) if len(rows) > limit else None
    return Answer(profile=[zone_record(zone, view.row.name)], content=messages, next=older)


async def select(call: Call) -> Answer:
    """ZN_Select: make a zone and its domain the session's."""
    view, zone = await call.target_zone()
    if not view.is_member:
        raise no_member(view.row)
    if (call.domain_id, call.zone_id) != (view.row.id, zone.id):
        await call.ask("session", call.user.session_id, SelectZone(view.row.id, zone.id))
        call.domain_id, call.zone_id = view.row.id, zone.id
    return Answer(profile=[zone_record(zone, view.row.name)])


async def destroy(call: Call) -> Answer:
    """ZN_Destroy: remove a zone and what was said in it."""
    view, zone = await call.target_zone()
    await call.ask("domain", view.row.id, DestroyZone(view.viewer, zone.id))
    if call.zone_id == zone.id:
        call.zone_id = None
    return Answer()


async def post(call: Call) -> Answer:
    """ZN_Post: say something in a zone; only agents that it names reply."""
    said, zone = await _say(call, None)
    return Answer(content=[message_record(said.message, zone)])


async def chat(call: Call) -> Answer:
    """AP_Chat in a zone: say something to an agent there, and have its reply."""
    agent = await call.target_agent()
    if not agent.row.online:
        raise StateConflict(f"{agent.row.name} is offline; its owner logs it on with AP_LogOn.")
    said, zone = await _say(call, agent)
    assert said.reply is not None
    if call.progress is not None and not said.streamed:
        call.progress(said.reply.content)
    return Answer(content=[message_record(said.message, zone), message_record(said.reply, zone)])


async def _say(call: Call, spoken_to: AgentView | None) -> tuple[Said, str]:
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
        tuple(_persona(agent) for agent in answering),
        spoken_to is not None,
    )
    return await call.ask("domain", view.row.id, message, timeout=CHAT_TIMEOUT_S), zone.name


def _persona(agent: AgentRow) -> Persona:
    return Persona(agent.id, agent.name, agent.description, agent.profile or "")
