"""The memberships of one domain, in memory."""

from typing import NamedTuple, TypeVar

from actors.domains.membership import MEMBER, Membership
from actors.domains.messages import AgentGone
from actors.runtime.future import AsyncFuture

T = TypeVar("T")


class MemberState(NamedTuple):
    """The membership of one agent: the agent's owner, the state, and the time of its last change."""

    owner_id: str
    state: Membership
    since: int


class Members(dict[str, MemberState]):
    """The memberships of one domain by the agent's id."""

    __slots__ = ()

    def is_member(self, agent_id: str) -> bool:
        """Return whether an agent is a member: it may speak."""
        found = self.get(agent_id)
        return found is not None and found.state is MEMBER

    def has_agent_of(self, user_id: str, *states: Membership) -> bool:
        """Return whether an agent of the user is in one of these states."""
        for member in self.values():  # noqa: SIM110 - for each message, and a generator costs as much again
            if member.owner_id == user_id and member.state in states:
                return True
        return False

    def concern(self, id: str) -> bool:
        """Return whether the agent of this id, or an agent of the user of this id, has a membership."""
        return id in self or any(member.owner_id == id for member in self.values())

    def forget(self, id: str) -> None:
        """Drop the membership of the agent of this id, or those of the agents of the user of this id."""
        for agent_id, member in list(self.items()):
            if id in (agent_id, member.owner_id):
                del self[agent_id]

    def unless_gone(self, agent_id: str, stored: AsyncFuture[T]) -> AsyncFuture[T]:
        """Drop the membership of an agent if it is not stored because the agent is gone; return the same future."""

        def settled(done: AsyncFuture[T]) -> None:
            if isinstance(done.error, AgentGone):
                self.forget(agent_id)

        stored.then(settled)
        return stored

    def by_state(self) -> dict[str, int]:
        """Count the memberships of each state, for maintainers."""
        states = [member.state.value for member in self.values()]
        return {state: states.count(state) for state in sorted(set(states))}
