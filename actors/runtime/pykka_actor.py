"""pykka's interface: the hooks and names by which pykka reaches an actor of this runtime.

pykka has three hooks for new runtimes (`_create_actor_inbox`, `_create_future`, `_start_actor_loop`). Only this module
and `future` import pykka.
"""

from typing import Any, ClassVar, Self

import pykka

from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Envelope, Mailbox


class _PykkaInbox:
    """Passes pykka's envelopes to the actor as envelopes of this runtime."""

    __slots__ = ("_actor",)

    def __init__(self, actor: "PykkaActor") -> None:
        self._actor = actor

    def put(self, envelope: Any, /) -> None:
        self._actor.deliver(Envelope(envelope.message, envelope.reply_to))

    def empty(self) -> bool:
        return self._actor.waiting == 0


class _StopFlag:
    """A replacement for the threading.Event in which pykka keeps whether an actor has stopped."""

    __slots__ = ("_actor",)

    def __init__(self, actor: "PykkaActor") -> None:
        self._actor = actor

    def is_set(self) -> bool:
        return self._actor.stopping


class PykkaActor(pykka.Actor):
    """The part of an actor that pykka uses; a subclass adds the mailbox and the life on the event loop."""

    kind: ClassVar[str]
    key: str

    __slots__ = ()

    def __init__(self) -> None:
        # pykka's own __init__ is not called: it makes a random URN, a threading.Event and a reference for each actor.
        pass

    # what the subclass has

    @property
    def waiting(self) -> int:
        """The number of messages in the mailbox."""
        raise NotImplementedError

    @property
    def stopping(self) -> bool:
        """Whether the actor accepts no more messages."""
        raise NotImplementedError

    def deliver(self, envelope: Envelope) -> None:
        """Queue a message."""
        raise NotImplementedError

    def begin(self, predecessor: Any, on_stopping: Any, notifier: Any = None) -> None:
        """Start the actor."""
        raise NotImplementedError

    # pykka's hooks and names

    @staticmethod
    def _create_actor_inbox() -> Mailbox:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Mailbox()

    @staticmethod
    def _create_future() -> AsyncFuture[Any]:
        return AsyncFuture()

    def _start_actor_loop(self) -> None:
        self.begin(None, None)

    @property
    def actor_urn(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Name the actor by kind and key."""
        return f"urn:parley:{self.kind}:{self.key}"

    @property
    def actor_inbox(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The inbox that pykka's references put messages in."""
        return _PykkaInbox(self)

    @property
    def actor_stopped(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The flag whose `is_set()` tells pykka whether the actor accepts no more messages."""
        return _StopFlag(self)

    @property
    def actor_ref(self) -> pykka.ActorRef[Self]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        """A pykka reference to the actor."""
        return pykka.ActorRef(self)

    @classmethod
    def start(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, *args: Any, **kwargs: Any
    ) -> pykka.ActorRef[Self]:
        """Create the actor and start it, without pykka's global registry."""
        actor = cls(*args, **kwargs)
        actor._start_actor_loop()
        return actor.actor_ref
