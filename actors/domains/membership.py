"""The membership of an agent in a domain: its states, and the moves between them (product 4)."""

import enum


class Membership(enum.Enum):
    """Where an agent stands in a domain."""

    NONE = "none"
    INVITED = "invited"
    MEMBER = "member"
    BANNED = "banned"


class Move(enum.Enum):
    """What may happen to a membership; each is a service."""

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
"""The state after each move, by the state before it; the same state: nothing changes and the command succeeds."""

BY_AGENTS_OWNER = (Move.JOIN, Move.LEAVE)
"""Moves that the agent's owner makes; invitations are any member's, all others those of the domain's owner."""


def moved(state: Membership, move: Move, *, own: bool, public: bool) -> Membership | None:
    """Tell the state after a move, or None where the state before doesn't allow it.

    Args:
        state: where the agent stands.
        move: what happens.
        own: whether the agent is of the user who moves it.
        public: whether the domain's access is `public`.
    """
    if state is NONE and move is Move.INVITE and own:
        return MEMBER
    if state is NONE and move is Move.JOIN and not public:
        return REFUSED
    return MOVES[state][move]
