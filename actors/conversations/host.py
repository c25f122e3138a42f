"""The part of an actor that its collaborators for chats use instead of the actor's class."""

from collections.abc import Callable
from typing import Any, Protocol

from actors.errors import ServiceError
from actors.idempotency.records import Receipt
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress, Tell
from persistence.store import Store, Write


class ChatHost(Protocol):
    """A durable actor as a collaborator for chats sees it; `DurableActor` documents the methods."""

    @property
    def key(self) -> str:
        """The id of the actor's agent or domain."""
        ...

    @property
    def actor_urn(self) -> str:
        """The actor's name in the log."""
        ...

    @property
    def store(self) -> Store:
        """The store that the actor's state is read from."""
        ...

    @property
    def progress(self) -> Progress | None:
        """The channel for pieces of the answer to the current message."""
        ...

    @property
    def begun(self) -> Callable[[Any], None] | None:
        """The channel for what is known of the answer before its first piece."""
        ...

    def take_receipt(self) -> Receipt | None:
        """Return the receipt of the current message, once."""
        ...

    def tell_self(self, message: Tell) -> None:
        """Queue the result of background work."""
        ...

    def defer(self, answered: AsyncFuture[Any], answer: Any, error: ServiceError | None = None) -> None:
        """Resolve an answer once all state in memory is stored."""
        ...

    def commit(
        self,
        *writes: Write,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
        resolves: AsyncFuture[Any] | None = None,
        constraint_errors: ConstraintErrors | None = None,
    ) -> AsyncFuture[Any]:
        """Submit a unit that no constraint can refuse, except those of `constraint_errors`."""
        ...
