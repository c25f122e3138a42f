"""The membership of an agent in a domain: its states, and the moves between them (docs/contract.md, "Memberships")."""

import enum


class Membership(enum.Enum):
    """The states of an agent in a domain."""

    NONE = "none"
    INVITED = "invited"
    MEMBER = "member"
    BANNED = "banned"


class Move(enum.Enum):
    """The moves of a membership; each is a command."""

    INVITE = "DM_Invite"
    JOIN = "DM_Join"
    LEAVE = "DM_Leave"
    KICK = "DM_Kick"
    BAN = "DM_Ban"
    UNBAN = "DM_Unban"


NONE, INVITED, MEMBER, BANNED = Membership.NONE, Membership.INVITED, Membership.MEMBER, Membership.BANNED
REFUSED = None

MOVES: dict[Membership, dict[Move, Membership | None]] = {
    NONE: {
        Move.INVITE: INVITED,  # the inviter's own agent: MEMBER
        Move.JOIN: MEMBER,  # where the domain is public
        Move.LEAVE: REFUSED,
        Move.KICK: REFUSED,
        Move.BAN: BANNED,
        Move.UNBAN: REFUSED,
    },
    INVITED: {
        Move.INVITE: INVITED,
        Move.JOIN: MEMBER,
        Move.LEAVE: NONE,
        Move.KICK: NONE,
        Move.BAN: BANNED,
        Move.UNBAN: REFUSED,
    },
    MEMBER: {
        Move.INVITE: REFUSED,
        Move.JOIN: MEMBER,
        Move.LEAVE: NONE,
        Move.KICK: NONE,
        Move.BAN: BANNED,
        Move.UNBAN: REFUSED,
    },
    BANNED: {
        Move.INVITE: REFUSED,
        Move.JOIN: REFUSED,
        Move.LEAVE: REFUSED,
        Move.KICK: REFUSED,
        Move.BAN: BANNED,
        Move.UNBAN: NONE,
    },
}
"""The state after each move, by the state before it; with the same state, nothing changes and the command succeeds."""

BY_AGENTS_OWNER = (Move.JOIN, Move.LEAVE)
"""Moves of the agent's owner. Any member's owner may invite; only the domain's owner may make the other moves."""


def moved(state: Membership, move: Move, *, own: bool, public: bool) -> Membership | None:
    """Return the state after a move, or None if the state before does not allow it.

    Args:
        state: the state before.
        move: the move.
        own: whether the user who makes the move owns the agent.
        public: whether the domain's access is `public`.
    """
    if state is NONE and move is Move.INVITE and own:
        return MEMBER
    if state is NONE and move is Move.JOIN and not public:
        return REFUSED
    return MOVES[state][move]


_REFUSED = {
    NONE: "{agent} is neither invited to {domain} nor a member of it",
    MEMBER: "{agent} is a member of {domain} already",
    BANNED: "{agent} is banned from {domain}; its owner lifts that with DM_Unban",
}


def refusal(move: Move, state: Membership, agent: str, domain: str) -> str:
    """Write the note for a move that the state does not allow; agent and domain by name."""
    if move is Move.UNBAN:
        return f"{agent} is not banned from {domain}: there is no ban to lift; DM_Read lists the bans."
    reason = _REFUSED[state].format(agent=agent, domain=domain)
    advice = ""
    if state is NONE:
        advice = "; have it invited" if move is Move.JOIN else "; DM_Read lists who is"
    return f"{reason}, so {move.value} can't be done{advice}."
