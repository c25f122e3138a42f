"""Chat: AP_Chat and AP_History with an agent in private, AP_Chat and ZN_Post in zones."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from actors.agents.messages import AGENT, AgentView, LinksKnown, MemoriesNeeded, NoBanksLeft, SendChat
from actors.banks.messages import BANK, MAX_TERMS_ASKED, BankViewer, RecallMemories
from actors.calls.call import Answer, Call
from actors.calls.paging import cursor, next_cursor, page_limit
from actors.calls.targets import (
    has_access_to,
    no_agent_selected,
    speaks_in_zone,
    target_agent,
    target_agent_id,
    zone_to_say_in,
)
from actors.commands.command import AGENT_MEMBERS, PAGE, ZONE_MEMBERS, Command, ToolDescription
from actors.conversations.conversation import ChatSent
from actors.conversations.records import message_record
from actors.conversations.stored import from_row, quoted_positions
from actors.domains.messages import DOMAIN, NotInDomain, Said, SayInZone
from actors.engines.message import Utterance
from actors.engines.relevance import asking
from actors.engines.turn import Memory, Persona
from actors.errors import NotFound, StateConflict
from actors.slices import sliced
from persistence import agents, banks, conversations, zones
from persistence.agents import AgentRow

CHAT_TIMEOUT_S = 300.0
"""Seconds that a chat may take in total; engines have shorter limits of their own."""

CHAT_MEMORIES = 5
"""The number of memories that an agent gets for a chat."""

CHAT_BANKS = 16
"""The number of banks that an agent searches in a chat: its owner's first, then those attached for longest."""

MAX_MENTIONS = 5
"""The number of agents that reply because a message names them."""

NEWEST = 2**62
"""Higher than any seq."""

_mention = re.compile(r"@([A-Za-z0-9][A-Za-z0-9_.-]{1,62}[A-Za-z0-9])")


async def chat(call: Call) -> Answer:
    """AP_Chat: send a message to an agent, in private or in a zone, and return it with the reply, both durable."""
    if (call.zone_id or call.target.domain or call.target.zone) and await speaks_in_zone(call):
        try:
            return await _chat_in_zone(call)
        except NotInDomain:
            if call.target.domain or call.target.zone or call.target.agent is None:
                raise
            # the zone is only selected, and the named agent is not in it: the chat is private
    message = SendChat(call.user.user_id, call.user.user_name, call.request.content or "")
    agent_id = await target_agent_id(call)
    try:
        return await _send(call, agent_id, message)
    except NotFound:
        if call.target.agent is None:  # the selected agent is gone, or out of sight
            raise no_agent_selected() from None
        raise


async def _send(call: Call, agent_id: str, message: SendChat) -> Answer:
    """Send a chat, with matching memories if the agent has banks."""
    memories: tuple[Memory, ...] = ()

    def answered(sent: ChatSent | MemoriesNeeded) -> Answer | MemoriesAsked:
        if isinstance(sent, MemoriesNeeded):
            return MemoriesAsked(sent)
        call.saw_agent(agent_id, sent.reply.name)
        return Answer(
            content=[message_record(sent.message), message_record(sent.reply)],
            quoted=quoted_positions(sent.reply, memories),
        )

    def send(message: SendChat) -> Awaitable[Answer | MemoriesAsked]:
        return call.carry_out(AGENT, agent_id, message, answered, timeout=CHAT_TIMEOUT_S)

    if call.resumes is not None:
        for row in await call.core.store.fetch(conversations.message(agent_id, call.user.user_id, call.resumes)):
            message = replace(message, resumes=from_row(row))
    try:
        answer = await send(message)
    except NotFound:
        if not await has_access_to(call, agent_id):
            raise
        message = replace(message, access_granted=True)
        answer = await send(message)
    if isinstance(answer, MemoriesAsked):
        needed = answer.needed
        memories = await memories_for_chat(call, agent_id, needed.agent, message.content, needed.links)
        answer = await send(replace(message, memories=memories))
    assert isinstance(answer, Answer)  # with memories, the agent never asks for them
    return answer


class MemoriesAsked(NamedTuple):
    """A placeholder for the answer: the agent asks for the memories of its banks first."""

    needed: MemoriesNeeded
    quoted: tuple[int, ...] = ()


async def history(call: Call) -> Answer:
    """AP_History: a page of the private conversation with an agent, newest last."""
    store, limit = call.core.store, page_limit(call)
    before = cursor(call, int)
    target = await target_agent(call)
    profile = [target.record]
    found = await store.fetch(conversations.between(target.row.id, call.user.user_id))
    if not found:
        return Answer(profile=profile)
    rows = await store.fetch(conversations.page_before(found[0][0], NEWEST if before is None else before, limit + 1))
    messages = [message_record(from_row(row)) for row in reversed(rows[:limit])]
    older = next_cursor(call, rows[limit - 1].seq) if len(rows) > limit else None
    return Answer(profile=profile, content=messages, next=older)


async def post(call: Call) -> Answer:
    """ZN_Post: post a message in a zone; only agents that it names reply."""
    return await _say(call, None)


async def _chat_in_zone(call: Call) -> Answer:
    """AP_Chat in a zone: send a message to an agent there, and return it with the reply."""
    agent = await target_agent(call)
    if not agent.row.online:
        raise StateConflict(f"{agent.row.name} is offline; its owner logs it on with AP_LogOn.")
    return await _say(call, agent)


async def _say(call: Call, spoken_to: AgentView | None) -> Answer:
    place = await zone_to_say_in(call)
    content = call.request.content or ""
    answering = [] if spoken_to is None else [spoken_to.row]
    named = list(dict.fromkeys(_mention.findall(content)))[:MAX_MENTIONS] if "@" in content else ()
    if named:
        members = await call.core.store.fetch(agents.online_members_named(place.domain_id, named))
        answering += [member for member in members if member.id not in {agent.id for agent in answering}]
    message = SayInZone(
        place.viewer,
        place.zone_id,
        call.user.user_name,
        content,
        answering=tuple([_persona(agent) for agent in answering]),
        memories=tuple([await _memories(call, agent, spoken_to, content) for agent in answering]),
        spoken_to=spoken_to is not None,
        resumes=None if call.resumes is None else await _resumed(call, call.resumes, place.zone_id),
    )
    unsent = ""

    def answered(said: Said) -> Answer:
        nonlocal unsent
        if said.reply is None:
            return Answer(content=[message_record(said.message, place.zone)])
        unsent = "" if said.streamed else said.reply.content
        return Answer(
            content=[message_record(said.message, place.zone), message_record(said.reply, place.zone)],
            quoted=quoted_positions(said.reply, message.memories[0]),
        )

    answer = await call.carry_out(DOMAIN, place.domain_id, message, answered, timeout=CHAT_TIMEOUT_S)
    if call.progress is not None and unsent:
        call.progress(unsent)
    return answer


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


async def memories_for_chat(
    call: Call, agent_id: str, agent: str, message: str, links: LinksKnown | None = None
) -> tuple[Memory, ...]:
    """Recall the memories that match a message to an agent best, from its banks that the caller may see.

    Those that answer come first. `links`, given if the caller sees all banks of the agent, are what its actor knew; it
    is told if no bank is left.
    """
    searched = await call.core.store.fetch(banks.recalled_by(agent_id, call.user.user_id, CHAT_BANKS))
    if not searched and links is not None:
        call.core.directory.tell(AGENT, agent_id, NoBanksLeft(links))
    if not searched:
        return ()
    question = await sliced(asking(message, agent))
    terms = tuple(islice(question.terms, MAX_TERMS_ASKED))
    # The store has found that the caller sees these banks, whatever opens them.
    viewer = BankViewer(call.user.user_id, access_granted=True)
    recall = RecallMemories(viewer, message, terms, CHAT_MEMORIES, agent_id)
    if len(searched) == 1:
        return await _recalled(call, searched[0].id, recall)
    of_banks = await asyncio.gather(*[_recalled(call, bank.id, recall) for bank in searched])
    # Scores are comparable only within a bank, shares everywhere.
    found = sorted(chain.from_iterable(of_banks), key=_by_relevance, reverse=True)
    return tuple(found[:CHAT_MEMORIES])


async def _recalled(call: Call, bank_id: str, message: RecallMemories) -> tuple[Memory, ...]:
    """Recall from one bank; nothing if the agent has lost it meanwhile, or the caller sight of it."""
    try:
        recalled = await call.ask(BANK, bank_id, message)
    except NotFound:
        return ()
    bank = recalled.row.name
    return tuple(
        [
            Memory(bank, memory.name, memory.text or "", score, memory.position, share, answers)
            for memory, score, share, answers in recalled.found
        ]
    )


def _by_relevance(memory: Memory) -> tuple[bool, float, float]:
    return memory.answers, memory.share, memory.score


COMMANDS = (
    Command(
        "AP_Chat",
        "Send a message to an agent and get its reply; both are durable before the answer is sent.",
        chat,
        uses=("target.agent", "target.domain", "target.zone", "content"),
        requires=("content",),
        content=("message", "message"),
        streams=True,
        errors=(2003, 3000, 3002, 3003, 5001),
        example={"content": "Hello! What do you know?"},
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
        uses=(*AGENT_MEMBERS, *PAGE),
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
