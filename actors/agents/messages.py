"""What an agent's actor is told by others: it goes on with its chats, where starting over would cut them."""

from dataclasses import dataclass

from actors.runtime.actor import Tell


@dataclass(frozen=True, slots=True)
class StandingChanged(Tell):
    """The agent may read a bank now, is offered one, or is a member of a domain."""

    has_banks: bool = False
    has_offers: bool = False
    has_domains: bool = False


@dataclass(frozen=True, slots=True)
class UserGone(Tell):
    """A user that the agent has a conversation with was destroyed, and its messages with it."""

    user_id: str
