"""AP_Chat, AP_History and ZN_Post: what is said to agents, in private and in zones."""

from __future__ import annotations  # nested functions would build theirs at each call

import re
from collections.abc import Coroutine
from typing import Any

from actors.agents.messages import (
    AgentView,
    DestroyedMeanwhile,
    NoSuchConversation,
    RanBefore,
    SendChat,
    require_answering,
)
from actors.calls.call import Answer, Call
from actors.calls.conversation_targets import DEFAULT, own_conversation, require_agent_of, require_no_zone
from actors.calls.paging import cursor, page_limit, page_of
from actors.calls.targets import (
    no_agent_selected,
    read_agent,
    speaks_in_zone,
    target_agent,
    target_agent_id,
    zone_to_say_in,
)
from actors.commands.chat_memories import memories_for_chat
from actors.commands.command import AGENT_MEMBERS, PAGE, ZONE_MEMBERS, Command, ToolDescription
from actors.commands.talk import CHAT_TIMEOUT_S, send_chat
from actors.conversations.conversation import ChatSent
from actors.conversations.ids import conversation_id, run_of
from actors.conversations.place import ChatPlace
from actors.conversations.records import message_record
from actors.conversations.stored import from_row, quoted_positions
from actors.domains.messages import DOMAIN, NotInDomain, Said, SayInZone
from actors.engines.message import Utterance
from actors.engines.turn import Memory, Persona
from actors.errors import NotFound, NotPermitted
from actors.sessions.scopes import filter_of
from actors.wire import Record
from persistence import agents, conversations, zones
from persistence.agents import AgentRow
from persistence.users import name_key

MAX_MENTIONS = 5
"""The number of agents that reply because a message names them."""

MAX_NAMES = 200
"""The number of different names that are looked up for one message."""

NEWEST = 2**62
"""Higher than any seq."""

_mention = re.compile(r"(?<![\w/])@([A-Za-z0-9][A-Za-z0-9_.-]{1,62}[A-Za-z0-9])")


async def chat(call: Call) -> Answer:
    """AP_Chat: send a message to an agent, in private or in a zone, and return it with the reply, both durable."""
    target, place, agent_id = call.target, None, ""
    if target.conversation is not None:
        require_no_zone(call)
        if target.conversation != DEFAULT:
            row = await own_conversation(call, target.conversation)
            await require_agent_of(call, row)
            place, agent_id = ChatPlace(row.number, row.is_default), row.agent_id
    elif (call.zone_id or target.domain or target.zone) and not call.left_zone and await speaks_in_zone(call):
        try:
            return await _chat_in_zone(call)
        except (NotInDomain, NotPermitted) as refused:
            if target.domain or target.zone or target.agent is None:
                raise
            if isinstance(refused, NotPermitted) and await _answers_in_selected_domain(call, target.agent):
                raise
            call.left_zone = True  # it is only selected, and the named agent is not in it: the chat is private
    if place is None:
        agent_id = await target_agent_id(call)
    resumes = None if call.resumes is None else await _resumed_in(call, call.resumes, place)
    try:
        answer = await _send(call, agent_id, place, resumes)
    except NotFound as error:
        meant_this_one = place is not None or target.agent is not None or error.run is not None
        if meant_this_one or isinstance(error, NoSuchConversation | DestroyedMeanwhile):
            raise
        raise no_agent_selected() from None  # the selected agent is gone, or out of sight
    assert isinstance(answer, Answer)  # only a chat with a key of a door may have run before
    return answer


async def _answers_in_selected_domain(call: Call, agent: str) -> bool:
    return bool(await call.core.store.fetch(agents.online_members_named(call.domain_id or "", [agent])))


def _send(
    call: Call, agent_id: str, place: ChatPlace | None, resumes: Utterance | None
) -> Coroutine[Any, Any, Answer | RanBefore]:
    def answered(sent: ChatSent, memories: tuple[Memory, ...]) -> Answer:
        call.saw_agent(agent_id, sent.reply.name)
        call.run, conversation = run_of(sent.message.id), sent.conversation
        return Answer(
            content=[message_record(sent.message, None, conversation), message_record(sent.reply, None, conversation)],
            quoted=quoted_positions(sent.reply, memories),
            conversation_number=sent.number,
        )

    user = call.user
    message = SendChat(user.user_id, user.user_name, call.request.content or "", resumes=resumes, place=place)
    return send_chat(call, agent_id, message, answered)


async def _resumed_in(call: Call, message_id: str, place: ChatPlace | None) -> Utterance | None:
    """Read the stored message that a repeated command continues in private."""
    for number, row in await call.core.store.fetch(conversations.message(call.user.user_id, message_id)):
        if place is None or place.number == number:
            return from_row(row)
    return None


async def history(call: Call) -> Answer:
    """AP_History: a page of a private conversation with an agent, newest last."""
    named = call.target.conversation
    if named is not None:
        require_no_zone(call)
    if named is None or named == DEFAULT:
        target = await target_agent(call)
        found = await call.core.store.fetch(conversations.between(target.row.id, call.user.user_id))
        return await _page_of(call, [target.record], target.row.id, found[0][0] if found else None)
    row = await own_conversation(call, named)
    await require_agent_of(call, row)
    try:
        profile, destroyed = [(await read_agent(call, row.agent_id)).record], False
    except NotFound:  # destroyed, or out of sight by now: what it said stays the user's
        profile, destroyed = [], bool(await call.core.store.fetch(agents.destroyed(row.agent_id)))
    return await _page_of(call, profile, row.agent_id, row.number, destroyed=destroyed)


async def _page_of(
    call: Call, profile: list[Record], agent_id: str, number: int | None, *, destroyed: bool = False
) -> Answer:
    limit, before = page_limit(call), cursor(call, int)
    if number is None:
        return Answer(profile=profile)
    before = NEWEST if before is None else before
    rows = await call.core.store.fetch(conversations.page_before(number, before, limit + 1))
    id = conversation_id(number, agent_id)
    page, older = page_of(call, rows, limit, lambda row: row.seq)
    said = [row._replace(of_destroyed=True) for row in page] if destroyed else page
    messages = [message_record(from_row(row), None, id) for row in reversed(said)]
    return Answer(profile=profile, content=messages, next=older)


async def post(call: Call) -> Answer:
    """ZN_Post: post a message in a zone; only agents that it names reply."""
    return await _say(call, None)


async def _chat_in_zone(call: Call) -> Answer:
    """AP_Chat in a zone: send a message to an agent there, and return it with the reply."""
    agent = await target_agent(call)
    require_answering(agent.row)
    return await _say(call, agent)


async def _say(call: Call, spoken_to: AgentView | None) -> Answer:
    place = await zone_to_say_in(call)
    content = call.request.content or ""
    answering = [] if spoken_to is None else [spoken_to.row]
    if "@" in content:
        answering += await _mentioned(call, place.domain_id, content, but=answering)
    message = SayInZone(
        place.viewer,
        place.zone_id,
        call.user.user_name,
        content,
        answering=tuple([_persona(agent) for agent in answering]),
        memories=tuple([await _memories(call, agent, spoken_to, content) for agent in answering]),
        spoken_to=spoken_to is not None,
        with_tools=call.scopes is None or not call.scopes.restrict,
        resumes=None if call.resumes is None else await _resumed(call, call.resumes, place.zone_id),
    )
    unsent = ""

    def answered(said: Said) -> Answer:
        nonlocal unsent
        if said.reply is None:
            return Answer(content=[message_record(said.message, place.zone)], shows=(place.zone_id,))
        unsent = "" if said.streamed else said.reply.content
        return Answer(
            content=[message_record(said.message, place.zone), message_record(said.reply, place.zone)],
            quoted=quoted_positions(said.reply, message.memories[0]),
            shows=(place.zone_id,),
        )

    answer = await call.carry_out(DOMAIN, place.domain_id, message, answered, timeout=CHAT_TIMEOUT_S)
    if call.progress is not None and unsent:
        call.progress(unsent)
    return answer


async def _mentioned(call: Call, domain_id: str, content: str, *, but: list[AgentRow]) -> list[AgentRow]:
    """List the first online members that a message names with @, without some agents."""
    names = list(dict.fromkeys(map(name_key, _mention.findall(content))))[:MAX_NAMES]
    if not names:
        return []
    is_allowed, others = filter_of(call.scopes, "agents"), {agent.id for agent in but}
    found = await call.core.store.fetch(agents.online_members_named(domain_id, names))
    members = {name_key(agent.name): agent for agent in found if is_allowed(agent.id) and agent.id not in others}
    return [members[name] for name in names if name in members][:MAX_MENTIONS]


async def _resumed(call: Call, message_id: str, zone_id: str) -> Utterance | None:
    """Read the stored message that a repeated command continues."""
    rows = await call.core.store.fetch(zones.message(zone_id, message_id))
    return from_row(rows[0]) if rows else None


async def _memories(call: Call, agent: AgentRow, spoken_to: AgentView | None, content: str) -> tuple[Memory, ...]:
    """Recall from an agent's banks, unless it is known to have none."""
    if spoken_to is None or spoken_to.row.id != agent.id:
        return await memories_for_chat(call, agent.id, agent.name, content)
    if not spoken_to.has_banks:
        return ()
    links = spoken_to.links if agent.owner_id == call.user.user_id else None
    return await memories_for_chat(call, agent.id, agent.name, content, links)


def _persona(agent: AgentRow) -> Persona:
    return Persona(agent.id, agent.name, agent.description, agent.profile or "")


COMMANDS = (
    Command(
        "AP_Chat",
        "Send a message to an agent and get its reply; both are durable before the answer is sent.",
        chat,
        uses=("target.agent", "target.domain", "target.zone", "target.conversation", "content"),
        requires=("content",),
        content=("message", "message"),
        streams=True,
        errors=(2003, 3000, 3002, 3003, 5001),
        example={"target": {"agent": "scout"}, "content": "Hello! What do you know?"},
        tool=ToolDescription(
            "Chat with an agent",
            "Say something to an agent and get its reply. The agent must be online (AP_LogOn); name it, or "
            "select one first with AP_Select.",
            open_world=True,
        ),
    ),
    Command(
        "AP_History",
        "Read the private conversation with an agent, newest last.",
        history,
        uses=(*AGENT_MEMBERS, "target.conversation", *PAGE),
        profile="agent",
        content=("message",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Read a conversation",
            "Read your private conversation with an agent, a page at a time, newest message last. Name the "
            "agent, or select one first with AP_Select.",
        ),
    ),
    Command(
        "ZN_Post",
        "Post a message in a zone; online members that it names with @ reply there.",
        post,
        uses=(*ZONE_MEMBERS, "content"),
        requires=("content",),
        content=("message",),
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}, "content": "Clear skies tonight."},
        tool=ToolDescription(
            "Post a message in a zone",
            "Post a message in a zone where you have a member agent; online members named with @ reply there "
            "later. Takes the selected zone if none is named; read the replies with ZN_Read.",
            open_world=True,
        ),
    ),
)
