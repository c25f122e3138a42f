"""The directory's interface: how everything reaches an actor, wherever it lives."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from actors.runtime.actor import Actor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, MessageContext, Tell
from actors.runtime.notices import Notice

R = TypeVar("R")

ASK_TIMEOUT_S = 30.0
"""Seconds that an ask waits for its answer unless told otherwise."""


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """What maintainers see of a live actor; times in seconds."""

    kind: str
    key: str
    name: str | None
    life: str
    mailbox: int
    handled: int
    age_s: float
    idle_s: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of actor: its factory, and whether its actors hold state of users (`Actor.concerns`)."""

    make: Callable[[str], Actor]
    holds_users: bool = False


class Directory(Protocol):
    """How everything reaches an actor, wherever it lives."""

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

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> AsyncFuture[R]:
        """Ask without a coroutine: an actor that is here and has nothing to do answers in this very step.

        The future is then resolved already; look before awaiting it.

        Raises:
            ServiceError: the actor's error, or Overloaded for a full mailbox; also from the future.
        """
        ...

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to an actor if it is live; one that is not reads the store when it starts."""
        ...

    def deliver(self, notices: Iterable[Notice]) -> None:
        """Deliver the notices of a unit that was stored."""
        ...
