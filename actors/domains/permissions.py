"""The users who may change a domain and its memberships."""

from actors.domains.members import Members
from actors.domains.membership import BY_AGENTS_OWNER, MEMBER, Move
from actors.domains.messages import MoveMember, how_to_join
from actors.errors import NotPermitted
from persistence.domains import DomainRow


def require_owner(domain: DomainRow, user_id: str) -> None:
    """Check that a user owns a domain.

    Raises:
        NotPermitted: another user owns it.
    """
    if domain.owner_id != user_id:
        raise NotPermitted(f"Only the owner of the founder of {domain.name} may do this; ask {domain.owner}.")


def require_may_move(message: MoveMember, domain: DomainRow, memberships: Members) -> None:
    """Check that the caller may make a move.

    Raises:
        NotPermitted: only another user may make it.
    """
    user_id = message.viewer.user_id
    if message.move in BY_AGENTS_OWNER:
        if message.agents_owner_id != user_id:
            raise NotPermitted(f"Only the owner of {message.agent} may do this; name an agent of your own.")
    elif message.move is Move.INVITE and domain.access != "agent":
        if domain.owner_id != user_id and not memberships.has_agent_of(user_id, MEMBER):
            raise NotPermitted(f"Only users with a member of {domain.name} may invite into it; {how_to_join(domain)}.")
    else:
        require_owner(domain, user_id)
