"""Actors on asyncio: the handling of messages.

The differences from pykka's threads, with the reasons, are in docs/decisions/:

- Handlers are plain functions and never wait. An actor needs no thread and no parked task: its loop is a callback
  that empties the mailbox, scheduled when the mailbox is not empty.
- An ask of an idle actor is handled at once, in the asking task's own step.
- A handler that returns an `AsyncFuture` is answered when that resolves, while the mailbox goes on.
- An answer given while the actor has state that is not stored yet is deferred until the state is stored, unless the
  handler is marked as provisional.
"""

import asyncio
import enum
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, ClassVar, TypeVar, cast

from actors.errors import InternalError, Overloaded, RefusedAlone, ServiceError
from actors.runtime.future import AsyncFuture, forward, settle
from actors.runtime.lifecycle import LIVE, Lifecycle, State
from actors.runtime.mailbox import MAILBOX_LIMIT, Ask, Envelope, Mailbox, MessageContext, Progress, Tell
from actors.runtime.recent import MOST, NUMBERS, drop_oldest, no_messages, note_wait, refused, register

R = TypeVar("R")

BURST = 64
"""The number of messages that an actor handles before other actors get their turn."""

log = logging.getLogger("parley.actors")


class NotNow(enum.Enum):
    """The type of `NOT_NOW`: an ask that has to wait its turn."""

    NOT_NOW = "not now"


NOT_NOW = NotNow.NOT_NOW

Handler = Callable[[Any, Any], Any]


def handles(
    message_type: type[Any], *, provisional: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method as the handler of one type of message.

    `provisional`: its answer may show state that is not stored yet, because no client sees it before a later unit of
    the same actor is stored. Its errors wait for the store all the same.
    """

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.handled_type = message_type  # pyright: ignore[reportFunctionMemberAccess]
        register(message_type)
        method.is_provisional = provisional  # pyright: ignore[reportFunctionMemberAccess]
        return method

    return mark


class Actor(Lifecycle):
    """An actor of the event loop, addressed by (kind, key).

    Subclasses mark their handlers with `handles`, load their state in `on_begin` and leave in `on_end`.
    """

    mailbox_limit: ClassVar[int] = MAILBOX_LIMIT
    works_for_callers: ClassVar[bool] = False
    """Whether somebody waits for the work outside the mailbox, which is not made again on another node."""
    _handlers: ClassVar[dict[type[Any], Handler]] = {}
    _provisional: ClassVar[frozenset[type[Any]]] = frozenset()

    # Slots, here and in subclasses: a hundred thousand of these may be idle at a time.
    __slots__ = ("_busy", "_mailbox", "_scheduled", "_unsettled", "context", "handled", "recent")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        marked = {method.handled_type: method for method in vars(cls).values() if hasattr(method, "handled_type")}
        cls._handlers = {**cls._handlers, **marked}
        cls._provisional = cls._provisional.union(kind for kind, method in marked.items() if method.is_provisional)

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.handled = 0
        self.recent = no_messages()
        self.context: MessageContext | None = None  # of the current message, while a handler runs
        self._mailbox = Mailbox(self.mailbox_limit)
        self._busy = False
        self._scheduled = False
        self._unsettled: AsyncFuture[Any] | None = None

    # what subclasses override

    def snapshot(self) -> dict[str, Any]:
        """Return the state as maintainers see it: plain values, no secrets, no texts of messages."""
        return {}

    @property
    def title(self) -> str | None:
        """The entity's name, for maintainers."""
        return None

    def name_for(self, user_id: str) -> str | None:
        """Return the entity's name, as it is stored, if the entity is this user's; else None."""
        return None

    def reloads_only(self, parts: Sequence[str]) -> bool:
        """Load these parts of the state anew; return False if the actor must load all of it.

        An actor overrides this if others wait for work that a reload would break off.
        """
        return False

    @property
    def engaged(self) -> bool:
        """Whether work runs outside the mailbox, so that this actor must not be passivated."""
        return False

    @property
    def at_work(self) -> bool:
        """Whether somebody waits for work that would be lost if this actor moved to another node."""
        return self.works_for_callers and self.engaged

    def concerns(self, user_id: str) -> bool:
        """Return whether the state has rows of this user."""
        return False

    def goes_on_without(self, id: str) -> bool:
        """Drop the rows of a user or an agent that is gone; return False if the actor must load its state anew.

        An actor overrides this if others wait for work that a reload would break off.
        """
        return False

    @property
    def waiting(self) -> int:
        """The number of messages in the mailbox."""
        return len(self._mailbox)

    @property
    def idle(self) -> bool:
        """Whether the actor may be passivated, because nothing waits and nothing is open."""
        return (
            self.life is State.LIVE
            and self._holds == 0
            and not self._busy
            and self._mailbox.empty()
            and not self.engaged
        )

    # messages

    def on_live(self) -> None:
        """Handle what waits, now that the state is loaded."""
        self._pump()

    def drain(self) -> list[Envelope]:
        """Take all messages that wait."""
        return self._mailbox.drain()

    def on_receive(self, message: Any) -> Any:
        """Hand a message to its handler; pykka's entry point."""
        return self._handlers[type(message)](self, message)

    def ask_now(self, message: Ask[R], context: MessageContext | None) -> "R | AsyncFuture[R] | NotNow":
        """Handle an ask within this step, after those ahead of it; `NOT_NOW` if it must wait its turn.

        Raises:
            ServiceError: the handler's error.
        """
        if self.life is not LIVE or self._busy:
            return NOT_NOW
        if self._mailbox.queue is not None:
            self._pump()
            if not self._mailbox.empty() or self.life is not State.LIVE:
                return NOT_NOW
        return self._perform(message, context)

    def answer_inline(self, message: Ask[R]) -> R | None:
        """Handle an ask within this step if nothing is ahead of it and no state waits for the store, else return None.

        Raises:
            ServiceError: the handler's error.
        """
        unsettled = self._unsettled
        if (
            self.life is not LIVE
            or self._busy
            or self._mailbox.queue is not None
            or (unsettled is not None and not unsettled.done())
        ):
            return None
        return self._perform(message, None)

    @property
    def progress(self) -> Progress | None:
        """The channel for partial answers to the current message, if any."""
        return self.context and self.context.progress

    @property
    def begun(self) -> Callable[[Any], None] | None:
        """The channel for what is known of the current message's answer before its first piece, if any."""
        return self.context and self.context.begun

    def take_receipt(self) -> Any:
        """Return the receipt of the current message, once; None if it has none."""
        context = self.context
        if context is None or context.receipt is None:
            return None
        self.context = MessageContext(context.progress, None, context.begun)
        return context.receipt

    def deliver(self, envelope: Envelope) -> None:
        """Queue a message.

        Raises:
            Overloaded: the mailbox is full.
        """
        self._mailbox.put(envelope)
        self._schedule()

    def tell_self(self, message: Tell) -> None:
        """Queue the result of this actor's own background work, even in a full mailbox, because it must not be lost."""
        self._mailbox.put(Envelope(message, own=True), beyond_limit=True)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and self.life is State.LIVE:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._scheduled = False
        inbox = self._mailbox
        for _ in range(BURST):
            if inbox.empty() or self.life is not State.LIVE:
                return
            self._handle(inbox.get())
        if not inbox.empty():
            self._schedule()

    def _handle(self, envelope: Envelope) -> None:
        """Handle a queued message, and answer it."""
        now = monotonic()
        note_wait(self.recent, now - envelope.queued_at)
        if envelope.deadline is not None and now > envelope.deadline:
            expired = Overloaded("The request waited too long for its turn; try again.")
            message_type = cast(type[Any], type(envelope.message))
            self.recent.append(refused(NUMBERS.get(message_type, 0.0), expired.internal_code))
            envelope.fail(expired)
            return
        try:
            answer = self._perform(envelope.message, envelope.context)
        except ServiceError as error:
            envelope.fail(error)
            return
        reply_to = envelope.reply_to
        if reply_to is None:
            return
        if isinstance(answer, AsyncFuture):
            cast(AsyncFuture[Any], answer).then(lambda done: forward(done, reply_to))
        else:
            reply_to.set(answer)

    def _perform(self, message: Any, context: MessageContext | None) -> Any:
        """Run a message's handler; return an `AsyncFuture` if the answer must wait for the store.

        Raises:
            ServiceError: the handler's, or InternalError for any other exception, which also stops the actor.
        """
        began = self.active_at = monotonic()
        self.handled += 1
        self._busy = True
        self.context = context
        noted = 0.0
        try:
            noted = NUMBERS[type(message)]
            answer = self._handlers[type(message)](self, message)
        except ServiceError as error:
            noted = refused(noted, error.internal_code)
            if self._unsettled is None or self._unsettled.done():
                raise
            return self._deferred(None, error)
        except Exception as error:
            noted = refused(noted, InternalError.internal_code)
            log.exception("%s failed on %s", self.actor_urn, type(message).__name__)
            self.fail(error)
            raise InternalError("The gateway failed on this request; it has been logged.") from error
        finally:
            self._busy = False
            self.context = None
            recent = self.recent
            recent.append(noted + (monotonic() - began))
            if len(recent) > MOST:
                drop_oldest(recent)
        unsettled = self._unsettled
        if unsettled is None or unsettled.done() or isinstance(answer, AsyncFuture):
            return answer  # pyright: ignore[reportUnknownVariableType]
        if type(message) in self._provisional:
            return answer
        return self._deferred(answer, None)

    def _deferred(self, answer: Any, error: ServiceError | None) -> AsyncFuture[Any]:
        """Defer an answer that shows state not stored yet; it fails if the state can't be stored."""
        deferred: AsyncFuture[Any] = AsyncFuture()
        self.defer(deferred, answer, error)
        return deferred

    def defer(self, answered: AsyncFuture[Any], answer: Any, error: ServiceError | None = None) -> None:
        """Resolve an answer once all state in memory is stored; fail it if the state could not be stored."""
        unsettled = self._unsettled
        if unsettled is None or unsettled.done():
            settle(answered, answer, error)
        else:
            unsettled.then(lambda done: settle(answered, answer, _not_stored(done) or error))


def _not_stored(done: AsyncFuture[Any]) -> BaseException | None:
    """Return the error of a unit without which nothing of its actor is stored."""
    return None if isinstance(done.error, RefusedAlone) else done.error
