"""The interface of the directory, through which all code reaches actors."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from actors.errors import Overloaded
from actors.runtime.actor import Actor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, MessageContext, Tell
from actors.runtime.notices import Notice, Posting

R = TypeVar("R")
T = TypeVar("T", bound=Tell)

ASK_TIMEOUT_S = 30.0
"""Seconds that an ask waits for its answer by default."""


class NotOwner(Overloaded):
    """This node does not own the actor, and the message can't be sent to its owner; nothing was done."""


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """The status of a live actor, for maintainers; times in seconds."""

    kind: str
    key: str
    name: str | None
    life: str
    mailbox: int
    handled: int
    age_s: float
    idle_s: float
    incarnation: int


class Inspected(NamedTuple):
    """A live actor with its state and its last messages (`actors/runtime/recent.py`)."""

    status: ActorStatus
    state: dict[str, Any]
    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of actor: its factory, and whose state its actors hold (`Actor.concerns`).

    `holds_users`: users' state; `holds_agents`: other agents' state; `holds_names`: what they show holds such agents'
    names, so that a new name makes them load it.
    """

    make: Callable[[str], Actor]
    holds_users: bool = True
    holds_agents: bool = False
    holds_names: bool = False
    started_by_tells: bool = False
    """Whether a tell starts an actor that is not live; others read the store when they start."""


class Directory(Protocol):
    """Reaches actors by kind and key, wherever they live."""

    async def ask(
        self,
        kind: str,
        key: str,
        message: Ask[R],
        *,
        timeout: float = ASK_TIMEOUT_S,
        request_id: str = "",
        context: MessageContext | None = None,
    ) -> R:
        """Send a message and wait for its answer; `timeout` is in seconds.

        Raises:
            ServiceError: the actor's error, or Overloaded: a full mailbox, or no answer in time.
        """
        ...

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> R | None:
        """Ask without a coroutine; for messages answered at once, with None only where `ask` need not follow.

        Returns None if the actor can't answer in this very step; then nothing has happened, and `ask` is the way.

        Raises:
            ServiceError: the actor's error.
        """
        ...

    def name_for(self, kind: str, key: str, user_id: str) -> str | None:
        """Return the stored name of an entity whose actor is live here, if it belongs to this user; no message is sent.

        None says nothing: ask the actor.
        """
        ...

    def serves(self, key: str) -> bool:
        """Return whether this node serves the actors of a key now."""
        ...

    def elsewhere(self, kind: str, key: str) -> str | None:
        """Return the id of the other node that owns an actor; None if this one does, or no node does now."""
        ...

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to an actor if it is live; one that is not reads the store when it starts."""
        ...

    def prepare(self, notices: Sequence[Notice]) -> Posting | None:
        """Prepare the notices of a unit; see `Notifier.prepare`."""
        ...

    def deliver(self, notices: Iterable[Notice]) -> AsyncFuture[None] | None:
        """Deliver notices within this process; see `Notifier.deliver`."""
        ...

    async def announce(self, notices: Sequence[Notice]) -> None:
        """Deliver notices that no actor's unit has, on whatever node; return when all have acted on them.

        Raises:
            StoreUnavailable: they concern other nodes and could not be stored; nothing was delivered.
        """
        ...

    def listen(self, message_type: type[T], listener: Callable[[T], Awaitable[None] | None]) -> None:
        """Call `listener` with every `Announced` message of a type. Who announces also waits for what it returns."""
        ...

    # for maintainers

    @property
    def activations(self) -> int:
        """Actors activated since the start."""
        ...

    def __len__(self) -> int:
        """Return how many actors are live."""
        ...

    def count_by_kind(self) -> dict[str, int]:
        """Count live actors per kind."""
        ...

    def statuses(self, kind: str | None = None) -> Iterator[ActorStatus]:
        """Describe every live actor, or those of one kind."""
        ...

    async def fullest(self, count: int) -> list[ActorStatus]:
        """Describe the live actors with the most messages in their mailboxes, fullest first, up to `count`."""
        ...

    def inspect(self, kind: str, key: str) -> Inspected | None:
        """Describe one live actor with its state and last messages; never activates one."""
        ...

    # life

    async def sweep(self) -> None:
        """Passivate idle actors for ever; run it as a task."""
        ...

    async def close(self, grace_s: float) -> int:
        """Let every mailbox run empty for up to `grace_s` seconds, then stop all; return how many were not done."""
        ...
