"""The agent group: agents, the roster, selection, chat (product 3)."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Awaitable
from dataclasses import replace
from typing import NamedTuple

from actors.agents.messages import AgentView, DestroyAgent, MemoriesNeeded, SendChat, SetOnline, UpdateAgent
from actors.agents.records import agent_record
from actors.banks.records import offer_record
from actors.calls.call import Answer, Call, nothing_selected
from actors.calls.request import require_name
from actors.commands import zones
from actors.commands.banks import memories_for_chat
from actors.conversations.conversation import ChatSent
from actors.conversations.records import message_record
from actors.conversations.stored import from_row, quoted_positions
from actors.domains.messages import NotInDomain
from actors.engines.turn import Memory
from actors.errors import InvalidField, NotFound, NotPermitted, StateConflict
from actors.names import no_such_user
from actors.sessions.messages import SelectAgent
from actors.users.messages import AddToRoster, CreateAgent, OnRoster, RemoveFromRoster
from actors.wire import Record
from persistence import agents, banks, conversations, domains, offers, users
from persistence.agents import AgentChanges
from persistence.users import name_key

CHAT_TIMEOUT_S = 300.0
"""How long a chat may take in all; engines have shorter bounds of their own."""

STANDING_BANKS = 1_000
"""Banks of an agent, and offers to it, that AP_Read names at most."""

NEWEST = 2**62


async def create(call: Call) -> Answer:
    """AP_Create: make an agent that the caller owns."""
    call.require_own("agents")
    message = CreateAgent(
        name=require_name(call.vx.name or ""),
        description=call.vx.description or "",
        profile=call.vx.profile,
        access=call.vx.access or "agent",
    )
    return await call.carry_out("user", call.user.user_id, message, lambda agent: Answer(profile=[agent_record(agent)]))


async def read(call: Call) -> Answer:
    """AP_Read: one agent, and what it is part of."""
    view = await call.target_agent()
    standing: Record = {
        "state": view.record["state"],
        "domains": await _domains_of(call, view) if view.has_domains else [],
        "banks": await _banks_of(call, view) if view.has_banks else [],
        "offers": await _offers_to(call, view) if view.has_offers else [],
        "messages": view.messages,
    }
    return Answer(profile=[view.record], content=[standing])


async def _domains_of(call: Call, view: AgentView) -> list[str]:
    """Name the domains that an agent is a member of, as far as the caller sees them."""
    return await call.core.store.fetch(domains.names_of_agent(view.row.id, call.user.user_id))


async def _banks_of(call: Call, view: AgentView) -> list[str]:
    """Name the agent's banks that the caller may see."""
    query = banks.of_agent(view.row.id, call.user.user_id, STANDING_BANKS)
    return [bank.name for bank in await call.core.store.fetch(query)]


async def _offers_to(call: Call, view: AgentView) -> list[Record]:
    """Show the agent's owner the banks that the agent is offered; nobody else."""
    if view.row.owner_id != call.user.user_id:
        return []
    rows = await call.core.store.fetch(offers.of_agent(view.row.id, STANDING_BANKS))
    return [offer_record(row) for row in rows]


async def list_agents(call: Call) -> Answer:
    """AP_List: own agents and the roster, or those of another user that the caller may see."""
    viewer, limit = call.user.user_id, call.page_limit
    prefix = call.target.agent or ""
    after = call.cursor(str) or ""
    owner = call.target.user
    if owner is None or name_key(owner) == name_key(call.user.user_name):
        query = agents.listed_for(viewer, prefix, after, limit + 1)
    else:
        found = await call.core.store.fetch(users.id_by_name(owner))
        if not found:
            raise no_such_user()
        query = agents.visible_of(found[0], viewer, prefix, after, limit + 1)
    rows = await call.core.store.fetch(query)
    return Answer(
        profile=[agent_record(row) for row in rows[:limit]],
        next=call.next_cursor(name_key(rows[limit - 1].name)) if len(rows) > limit else None,
    )


async def add(call: Call) -> Answer:
    """AP_Add: put another's agent on the caller's roster."""
    view = await call.target_agent()
    answer = Answer(profile=[view.record])
    if view.row.owner_id == call.user.user_id:
        return answer
    return await call.carry_out("user", call.user.user_id, AddToRoster(view.row.id), lambda _: answer, repeatable=True)


async def remove(call: Call) -> Answer:
    """AP_Remove: take an agent off the caller's roster."""
    name = call.target.agent or ""
    found = await call.core.store.fetch(agents.id_by_name(name))
    agent_id = found[0] if found else ""
    if not await call.ask("user", call.user.user_id, OnRoster(agent_id)):
        view = await call.target_agent()
        if view.row.owner_id == call.user.user_id:
            raise StateConflict("This agent is your own, not on the roster; AP_Destroy removes it for all.")

    def removed(_: None) -> Answer:
        _unselect(call, agent_id)
        return Answer()

    return await call.carry_out("user", call.user.user_id, RemoveFromRoster(agent_id), removed)


def _unselect(call: Call, agent_id: str) -> None:
    if call.agent_id == agent_id:
        call.agent_id = None


async def select(call: Call) -> Answer:
    """AP_Select: make an agent the session's."""
    view = await call.target_agent()
    agent = view.row
    own = agent.owner_id == call.user.user_id
    if not own and not await call.ask("user", call.user.user_id, OnRoster(agent.id)):
        raise NotPermitted(f"{agent.name} is not on your roster; add it with AP_Add first.")
    if call.agent_id == agent.id:
        return Answer(profile=[view.record])

    def selected(_: None) -> Answer:
        call.agent_id = agent.id
        return Answer(profile=[view.record])

    user = call.user
    return await call.carry_out(user.kind, user.credential_id, SelectAgent(agent.id), selected, repeatable=True)


async def log_on(call: Call) -> Answer:
    """AP_LogOn: bring an own agent online."""
    return await _set_online(call, online=True)


async def log_off(call: Call) -> Answer:
    """AP_LogOff: take an own agent offline."""
    return await _set_online(call, online=False)


async def _set_online(call: Call, *, online: bool) -> Answer:
    target = await call.target_agent()
    return await call.carry_out(
        "agent", target.row.id, SetOnline(call.user.user_id, online), lambda view: Answer(profile=[view.record])
    )


async def update(call: Call) -> Answer:
    """AP_Update: replace name, description, profile and access of an own agent."""
    return await _change(call)


async def modify(call: Call) -> Answer:
    """AP_Modify: change just the members given of an own agent."""
    if not any((call.vx.name, call.vx.description, call.vx.profile, call.vx.access)):
        raise InvalidField("Invalid value of vx: give at least one of name, description, profile and access.")
    return await _change(call)


async def _change(call: Call) -> Answer:
    name = call.vx.name
    target = await call.target_agent()
    own = target.row.owner_id == call.user.user_id  # else the agent's actor refuses
    if own and name is not None and name_key(require_name(name)) != name_key(target.row.name):
        await call.require_name_allowed(name)
    changes = AgentChanges(name, call.vx.description, call.vx.profile, call.vx.access)

    def changed(view: AgentView) -> Answer:
        call.saw_agent(view.row.id, view.row.name)
        return Answer(profile=[view.record])

    return await call.carry_out("agent", target.row.id, UpdateAgent(call.user.user_id, changes), changed)


async def destroy(call: Call) -> Answer:
    """AP_Destroy: remove an own agent for all."""
    target = await call.target_agent()
    left = await call.core.store.fetch(domains.of_agent(target.row.id))

    def destroyed(_: AgentView) -> Answer:
        _unselect(call, target.row.id)
        return Answer()

    answer = await call.carry_out("agent", target.row.id, DestroyAgent(call.user.user_id), destroyed)
    await call.end_streams_of_outsiders(left)
    return answer


async def chat(call: Call) -> Answer:
    """AP_Chat: say something to an agent, privately or in the zone that is meant, and have its reply; both durable."""
    if (call.zone_id or call.target.domain or call.target.zone) and await call.speaks_in_zone():
        try:
            return await zones.chat(call)
        except NotInDomain:
            if call.target.domain or call.target.zone or call.target.agent is None:
                raise
            # the zone is only selected, and the agent that is named is elsewhere: this is between the two
    message = SendChat(call.user.user_id, call.user.user_name, call.request.content or "")
    agent_id = await call.target_agent_id()
    try:
        return await _send(call, agent_id, message)
    except NotFound:
        if call.target.agent is None:  # the selected agent is gone, or out of sight
            raise nothing_selected() from None
        raise


async def _send(call: Call, agent_id: str, message: SendChat) -> Answer:
    """Send a chat, with what the agent's banks say about it where it has some."""
    memories: tuple[Memory, ...] = ()

    def answered(sent: ChatSent | MemoriesNeeded) -> Answer | MemoriesAsked:
        if isinstance(sent, MemoriesNeeded):
            return MemoriesAsked()
        call.saw_agent(agent_id, sent.reply.name)
        return Answer(
            content=[message_record(sent.message), message_record(sent.reply)],
            quoted=quoted_positions(sent.reply, memories),
        )

    def send(message: SendChat) -> Awaitable[Answer | MemoriesAsked]:
        return call.carry_out("agent", agent_id, message, answered, timeout=CHAT_TIMEOUT_S)

    if call.resumes is not None:
        for row in await call.core.store.fetch(conversations.message(agent_id, call.user.user_id, call.resumes)):
            message = replace(message, resumes=from_row(row))
    try:
        answer = await send(message)
    except NotFound:
        if not await call.has_access_to(agent_id):
            raise
        message = replace(message, access_granted=True)
        answer = await send(message)
    if isinstance(answer, MemoriesAsked):
        memories = await memories_for_chat(call, agent_id, message.content)
        answer = await send(replace(message, memories=memories))
    assert isinstance(answer, Answer)  # with memories, it is never asked for them
    return answer


class MemoriesAsked(NamedTuple):
    """What stands for an answer while the agent asks what its banks say."""

    quoted: tuple[int, ...] = ()


async def history(call: Call) -> Answer:
    """AP_History: the private conversation with an agent, a page of it, newest last."""
    store, limit = call.core.store, call.page_limit
    before = call.cursor(int)
    target = await call.target_agent()
    profile = [target.record]
    found = await store.fetch(conversations.between(target.row.id, call.user.user_id))
    if not found:
        return Answer(profile=profile)
    rows = await store.fetch(conversations.page_before(found[0][0], NEWEST if before is None else before, limit + 1))
    messages = [message_record(from_row(row)) for row in reversed(rows[:limit])]
    older = call.next_cursor(rows[limit - 1].seq) if len(rows) > limit else None
    return Answer(profile=profile, content=messages, next=older)
