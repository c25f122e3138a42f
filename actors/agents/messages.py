"""What an agent's actor is told by others: it goes on with its chats, where starting over would cut them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from actors.conversations.conversation import ChatSent
from actors.engines.message import Utterance
from actors.engines.turn import Memory
from actors.errors import (
    NotFound,
)
from actors.runtime.mailbox import Ask, Tell
from actors.wire import Record
from persistence.agents import AgentChanges, AgentRow


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


class AgentView(NamedTuple):
    """An agent as one who may see it sees it: its row, its record, the number of its messages.

    `has_banks`, `has_offers` and `has_domains` tell whether it is worth asking the store for them.
    """

    row: AgentRow
    record: Record
    messages: int
    has_banks: bool
    has_offers: bool
    has_domains: bool


@dataclass(frozen=True, slots=True)
class ReadAgent(Ask[AgentView]):
    """Return the agent to a user who may see it.

    `access_granted`: the store says that its access opens it to this user.
    """

    viewer_id: str
    access_granted: bool = False


@dataclass(frozen=True, slots=True)
class UpdateAgent(Ask[AgentView]):
    """Change the members given (AP_Update, AP_Modify), for its owner."""

    viewer_id: str
    changes: AgentChanges


@dataclass(frozen=True, slots=True)
class SetOnline(Ask[AgentView]):
    """Log the agent on or off, for its owner; where nothing changes, that is fine."""

    viewer_id: str
    online: bool


@dataclass(frozen=True, slots=True)
class DestroyAgent(Ask[AgentView]):
    """End the agent for all, for its owner."""

    viewer_id: str


class MemoriesNeeded(NamedTuple):
    """The agent has banks: send the chat again, with what they say about it."""


@dataclass(frozen=True, slots=True)
class SendChat(Ask[ChatSent | MemoriesNeeded]):
    """Say something to the agent in the private conversation of a user, and have its reply.

    `memories`: what the agent's banks say about it, as far as the user may see them; None before that was looked up.
    `access_granted`: the store says that the agent's access opens it to this user.
    """

    viewer_id: str
    user_name: str
    content: str
    memories: tuple[Memory, ...] | None = None
    access_granted: bool = False
    resumes: Utterance | None = None
    """This message, where it is stored already and waits for its reply still."""


def no_such_agent() -> NotFound:
    """Make the error for an agent that is not there, or not for this user."""
    return NotFound("There is no such agent that you may see; check the name with AP_List.")
