"""Memberships in domains: invitations, joining and leaving, kicks and bans."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import starmap

from actors.calls.call import Answer, Call
from actors.calls.context import loses_domain
from actors.calls.targets import target_agent_in, target_domain
from actors.commands.command import DOMAIN_MEMBERS, Command, ToolDescription
from actors.domains.membership import Move
from actors.domains.messages import DOMAIN, MoveMember, RecordDeparture
from actors.errors import ServiceError
from actors.wire import Record
from persistence.store import StoreUnavailable


async def invite(call: Call) -> Answer:
    """DM_Invite: invite an agent; one of the caller's own becomes a member."""
    return await _move(call, Move.INVITE)


async def join(call: Call) -> Answer:
    """DM_Join: make one of the caller's agents a member."""
    return await _move(call, Move.JOIN)


async def leave(call: Call) -> Answer:
    """DM_Leave: take one of the caller's agents out, or decline its invitation."""
    return await _move(call, Move.LEAVE)


async def kick(call: Call) -> Answer:
    """DM_Kick: put an agent out, or take its invitation back."""
    return await _move(call, Move.KICK)


async def ban(call: Call) -> Answer:
    """DM_Ban: put an agent out and keep it out."""
    return await _move(call, Move.BAN)


async def unban(call: Call) -> Answer:
    """DM_Unban: lift an agent's ban."""
    return await _move(call, Move.UNBAN)


async def record_departures(call: Call, gone: Mapping[str, Sequence[str]]) -> None:
    """Record in domains that agents were destroyed, given as the names of agents by the domain's id.

    It follows a change that is stored, so nothing is raised: a domain may have gone with its founder. The domains are
    asked at once, so that those on a node that does not answer are waited for together.
    """

    async def record(domain_id: str, agents: Sequence[str]) -> None:
        with suppress(ServiceError, StoreUnavailable):
            for agent in agents:
                await call.ask(DOMAIN, domain_id, RecordDeparture(agent))

    await asyncio.gather(*starmap(record, gone.items()))


async def _move(call: Call, move: Move) -> Answer:
    view = await target_domain(call)
    agent = await target_agent_in(call, view)
    message = MoveMember(view.viewer, move, agent.id, agent.name, agent.owner_id)
    loses = move is Move.LEAVE and view.row.id == call.domain_id and await loses_domain(call, agent.id)

    def moved(record: Record) -> Answer:
        if loses:
            call.lost_domain()
        return Answer(profile=[record] if record else [])

    return await call.carry_out(DOMAIN, view.row.id, message, moved, listed=True)


COMMANDS = (
    Command(
        "DM_Ban",
        "Put an agent out of a domain and keep it out.",
        ban,
        uses=DOMAIN_MEMBERS,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Ban an agent from a domain",
            "Remove an agent from a domain and keep it out until DM_Unban. Only for the domain's owner; takes "
            "the selected domain if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "DM_Invite",
        "Invite an agent into a domain; one of your own becomes a member.",
        invite,
        uses=DOMAIN_MEMBERS,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Invite an agent to a domain",
            "Invite an agent to a domain; your own agent becomes a member at once. Name both, or select them first.",
            idempotent=True,
        ),
    ),
    Command(
        "DM_Join",
        "Make one of your agents a member of a domain that is public or that it is invited to.",
        join,
        uses=DOMAIN_MEMBERS,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Join a domain",
            "Make one of your agents a member of a domain that is public or that it is invited to. Name both, "
            "or select them first.",
            idempotent=True,
        ),
    ),
    Command(
        "DM_Kick",
        "Put an agent out of a domain, or take its invitation back.",
        kick,
        uses=DOMAIN_MEMBERS,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Remove an agent from a domain",
            "Remove an agent from a domain, or take back its invitation; it may be invited again. Only for the "
            "domain's owner; takes the selected domain if none is named.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "DM_Leave",
        "Take one of your agents out of a domain, or decline its invitation.",
        leave,
        uses=DOMAIN_MEMBERS,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Leave a domain",
            "Take one of your agents out of a domain, or decline its invitation. Name both, or select them first.",
            destructive=True,
            idempotent=True,
        ),
    ),
    Command(
        "DM_Unban",
        "Lift an agent's ban.",
        unban,
        uses=DOMAIN_MEMBERS,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
        tool=ToolDescription(
            "Lift a ban",
            "Lift an agent's ban from a domain, so that it can be invited again. Only for the domain's owner; "
            "takes the selected domain if none is named.",
            idempotent=True,
        ),
    ),
)
