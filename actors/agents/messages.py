"""The messages of an agent's actor, and its replies."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

from actors.conversations.conversation import ChatSent
from actors.conversations.place import ChatPlace, RunKey
from actors.engines.message import Utterance
from actors.engines.options import EngineOptions
from actors.engines.turn import Memory, Reply
from actors.errors import Gone, InvalidCredential, NotFound, RefusedAlone, ServiceError, StateConflict
from actors.runtime.mailbox import Ask, Tell
from actors.runtime.notices import Announced, Notice
from actors.wire import Record
from persistence.agents import AgentChanges, AgentRow
from persistence.store import ROWS

AGENT = "agent"
"""The kind of agents' actors."""


class LinksKnown(NamedTuple):
    """The state of an actor's knowledge of its agent's links: its incarnation, and how often links were gained."""

    incarnation: int
    gained: int


class LinksGained(Tell, frozen=True):
    """The agent has gained a bank, the offer of one, or a membership in a domain."""

    has_banks: bool = False
    has_offers: bool = False
    has_domains: bool = False


class NoBanksLeft(Tell, frozen=True):
    """The store has no bank of the agent; `known` is what its actor knew of its links before the look-up."""

    known: LinksKnown


class UserGone(Tell, frozen=True):
    """A user was destroyed, with the messages of its conversation with the agent."""

    user_id: str


class MembersDestroyed(Tell, frozen=True):
    """Announced when agents were destroyed that were in these domains, so readers there may have no member left."""

    domain_ids: tuple[str, ...]


class AgentsSilenced(Tell, frozen=True):
    """Announced when the agent of this id was stopped or destroyed, or the user of this id suspended or destroyed."""

    id: str


def membership_notices(id: str, domain_ids: tuple[str, ...]) -> tuple[Notice, ...]:
    """Make the notices of a unit that destroys an agent, or a user with agents, of these domains.

    They end the agents' replies there, and the streams of readers who have no member left.
    """
    return (Announced(AgentsSilenced(id)), Announced(MembersDestroyed(domain_ids))) if domain_ids else ()


class AgentView(NamedTuple):
    """An agent as a viewer sees it: its row, its record, the number of its messages.

    `has_banks`, `has_offers` and `has_domains` are False only if the store has none of them.
    """

    row: AgentRow
    record: Record
    messages: int
    has_banks: bool
    has_offers: bool
    has_domains: bool
    links: LinksKnown


class ReadAgent(Ask[AgentView], frozen=True):
    """Return the agent to a user who may see it.

    `access_granted`: the store found that the agent's access opens it to this user.
    """

    viewer_id: str
    access_granted: bool = False


class UpdateAgent(Ask[AgentView], frozen=True):
    """Change the members given (AP_Update, AP_Modify), for its owner."""

    viewer_id: str
    changes: AgentChanges


class SetOnline(Ask[AgentView], frozen=True):
    """Log the agent on or off, for its owner; succeeds also if nothing changes."""

    viewer_id: str
    online: bool


class SetStopped(Ask[AgentView], frozen=True):
    """Stop the agent for an operator, or let it answer again; succeeds also if nothing changes."""

    stopped: bool


class DestroyAgent(Ask[AgentView], frozen=True):
    """Destroy the agent, for its owner; `domain_ids` are the domains that it is in."""

    viewer_id: str
    domain_ids: tuple[str, ...] = ()


class MemoriesNeeded(NamedTuple):
    """The agent has banks: send the chat again with the memories that they hold about it.

    `agent` is its name. `links` is set if the viewer owns the agent, and so sees every bank that it has.
    """

    agent: str
    links: LinksKnown | None = None


class UnstoredAnswer(NamedTuple):
    """An answer without a conversation, its message without text.

    It is not repeated once a memory at one of the `positions` is censored.
    """

    sent: ChatSent
    positions: tuple[int, ...]


class RanBefore(NamedTuple):
    """The chat's key has a run, which ended just now: the user's message, and whether the request is another one.

    `unstored` is its answer, if the store has none.
    """

    message_id: str
    other_request: bool = False
    unstored: UnstoredAnswer | None = None


class SendChat(Ask[ChatSent | MemoriesNeeded | RanBefore], frozen=True):
    """Send a message to the agent in a user's private conversation; return it with the reply.

    `memories`: memories of the agent's banks that fit the message and that the user may see; None before the look-up.
    `access_granted`: the store found that the agent's access opens it to this user.
    """

    local: ClassVar[str] = "Its receipt and the pieces of its reply travel beside it: the whole AP_Chat moves instead."

    viewer_id: str
    user_name: str
    content: str
    memories: tuple[Memory, ...] | None = None
    access_granted: bool = False
    resumes: Utterance | None = None
    """The message itself, if it is stored already and has no reply yet."""
    place: ChatPlace | None = None
    """None for the default conversation."""
    key: RunKey | None = None
    options: EngineOptions | None = None
    with_tools: bool = True
    """Whether engines may use the user's tools and skills; not for an API key that may do less than its user."""


class RunError(NamedTuple):
    """The error that a run ended with; see `ServiceError`."""

    internal_code: int
    http_code: int
    note: str

    def status(self) -> Record:
        """Return the status object of the error."""
        return {"success": False, **self._asdict()}


class RunHeard(NamedTuple):
    """The state of a run, and its text after the characters that the asker has had.

    The store knows of a run that has "ended", but for some time `outcome` has what it lacks: the calls of the client's
    functions, the end, the usage. `error` is that of a run that has "failed". Neither a failed run's text nor an
    outcome may be shown once a memory at one of the `positions` is censored.
    """

    state: Literal["working", "failed", "ended"]
    text: str = ""
    error: RunError | None = None
    positions: tuple[int, ...] = ()
    outcome: Reply | None = None


class HearRun(Ask[RunHeard], frozen=True):
    """Return what the run of a user's message has said, for that user.

    `after` is the number of characters that the asker has had. If there is no more, the answer waits for up to `wait_s`
    seconds.
    """

    viewer_id: str
    message_id: str
    after: int
    wait_s: float = 0.0


class ListRuns(Ask[tuple[str, ...]], frozen=True):
    """List the user's runs that are under way, by the ids of its messages."""

    viewer_id: str


class CancelRun(Ask[None], frozen=True):
    """End the run of a user's message with what was said so far, for that user; answered when that is stored.

    Changes nothing if the run has ended, or if its reply is being stored.
    """

    viewer_id: str
    message_id: str


class HistoryMoved(StateConflict):
    """The conversation has gone on since its history was read."""


def refusal_of_waiting(agent: AgentRow | None, user_id: str) -> ServiceError | None:
    """Return the error of a user's chat whose turn has come, if the agent may not answer it any more."""
    if agent is None or not agent.answers:
        return StateConflict(
            "The agent went offline or was stopped before this message's turn came; send it again once its owner has "
            "logged the agent on with AP_LogOn, or an operator has started it again."
        )
    return no_such_agent() if agent.access == "agent" and agent.owner_id != user_id else None


def require_answering(agent: AgentRow) -> None:
    """Refuse a chat with an agent that does not answer.

    Raises:
        StateConflict: it is offline, stopped by an operator, or its owner is suspended.
    """
    if not agent.answers:
        raise no_answer(agent)


def no_answer(agent: AgentRow) -> StateConflict:
    """Make the error for a chat with an agent that does not answer."""
    if agent.suspended:
        return StateConflict(f"{agent.name} answers nobody now, because its owner is suspended.")
    if agent.stopped:
        return StateConflict(f"An operator has stopped {agent.name}; it answers nobody until one starts it again.")
    return StateConflict(f"{agent.name} is offline; its owner logs it on with AP_LogOn.")


class NoSuchConversation(NotFound):
    """The agent may be seen, but has no such conversation with the user."""


def no_such_conversation() -> NoSuchConversation:
    """Make the error for a conversation that does not exist, or that is another user's."""
    return NoSuchConversation("There is no such conversation of yours; look at CV_List.")


def of_another_agent() -> NoSuchConversation:
    """Make the error for a conversation of the caller's with another agent than the one that is spoken to."""
    return NoSuchConversation("This conversation of yours is with another agent; CV_Read tells with which.")


def no_such_agent() -> NotFound:
    """Make the error for an agent that does not exist or that the user may not see."""
    return NotFound("There is no such agent that you may see; check the name with AP_List.")


AGENT_GONE = {ROWS: lambda: Gone(no_such_agent().note)}
"""The refusal of the end of an agent that is gone. Its other units have the same fate, so none needs a fence."""


class DestroyedBeforeAnswer(RefusedAlone, InvalidCredential):
    """The user was destroyed before the agent answered."""


def user_gone() -> InvalidCredential:
    """Make the error for a chat of a user who was destroyed meanwhile."""
    return DestroyedBeforeAnswer("The user was destroyed before the agent answered.")


class DestroyedMeanwhile(NotFound):
    """The agent was destroyed before it answered."""


class NothingSaid(StateConflict):
    """The run was cancelled before the agent said anything."""


def nothing_said() -> NothingSaid:
    """Make the error for a run that was cancelled before the agent said anything."""
    return NothingSaid("The run was cancelled before the agent said anything; the message is kept, marked cancelled.")
