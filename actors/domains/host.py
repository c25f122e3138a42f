"""The part of the domain's actor that its collaborators use instead of the actor's class."""

from __future__ import annotations

from typing import Protocol

from actors.conversations.host import ChatHost
from actors.domains.members import Members
from actors.domains.messages import DomainViewer
from actors.domains.zone import Zone
from persistence.domains import DomainRow


class DomainHost(ChatHost, Protocol):
    """The domain's actor as the talk in its zones sees it."""

    @property
    def zones(self) -> dict[str, Zone]:
        """The zones by id."""
        ...

    @property
    def memberships(self) -> Members:
        """The memberships of the domain."""
        ...

    def require_member(self, viewer: DomainViewer) -> DomainRow:
        """Return the domain to a user who has a member in it."""
        ...

    def next_number(self) -> int:
        """Return the number of the next event in the domain's sequence."""
        ...
