"""pykka's Actor on asyncio: mailbox, future and loop, through pykka's three hooks for new runtimes.

What differs from pykka's threads, and why, is in docs/decisions.md:

- Handlers are plain functions and never wait. An actor needs no thread and no parked task: its loop is a callback
  that empties the mailbox, scheduled when there is something in it.
- An ask of an actor that has nothing to do is handled at once, in the asking task's own step.
- A handler that returns an `AsyncFuture` is answered when that resolves, while the mailbox goes on.
- What a handler answers while the actor holds state that is not stored yet is held back until it is.

The only file that imports pykka.
"""

import asyncio
import enum
import itertools
import logging
import sys
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import pykka

from actors.errors import InternalError, Overloaded, ServiceError

T = TypeVar("T")
R = TypeVar("R")

MAILBOX_LIMIT = 1_000
"""Messages that may wait in one mailbox; one more is refused at once (design 2.5)."""

BURST = 64
"""Messages that an actor handles before others get their turn."""

log = logging.getLogger("parley.actors")
_incarnations = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """Base of messages that are answered with an `R`."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Base of messages that are not answered."""


Progress = Callable[[str], None]
"""What is called with each piece of an answer that comes in pieces."""


class MessageContext:
    """What goes along with a message and is no part of it: what takes the pieces of its answer, and its receipt."""

    __slots__ = ("progress", "receipt")

    def __init__(self, progress: Progress | None = None, receipt: Any = None) -> None:
        self.progress = progress
        self.receipt = receipt


class AsyncFuture(pykka.Future[T]):
    """A pykka future of the event loop: `await` it, or hang a callback on it with `then`.

    Resolving it wakes the first who awaits it, then calls the callbacks at once, in order, in the resolver's own step.
    """

    _get_hook = None  # pykka's lazy hook is not used
    # Class attributes until they are set: a command makes several futures, and most have one caller.
    _done = False
    _value: Any = None
    _error: BaseException | None = None
    _callbacks: "list[Callable[[AsyncFuture[T]], None]] | None" = None
    _waiter: "asyncio.Future[None] | None" = None

    def __init__(self) -> None:
        pass

    def done(self) -> bool:
        """Tell whether it has a value or an error."""
        return self._done

    @property
    def error(self) -> BaseException | None:
        """The error it was resolved with, if any."""
        return self._error

    def get(self, *, timeout: float | None = None) -> T:
        """Return the value or raise the error; an unresolved one is never waited for here.

        Raises:
            pykka.Timeout: it is not resolved; `await` it instead.
        """
        if not self._done:
            raise pykka.Timeout("not resolved yet; await it")
        if self._error is not None:
            raise self._error
        return self._value

    def set(self, value: T | None = None) -> None:
        """Resolve it with a value; a second resolution is ignored, as the first has been acted on."""
        if not self._done:
            self._value = value
            self._resolve()

    def fail(self, error: BaseException) -> None:
        """Resolve it with an error."""
        if not self._done:
            self._error = error
            self._resolve()

    def set_exception(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        exc_info: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None]
        | None = None,
    ) -> None:
        """Resolve it with an error, given as pykka gives it."""
        error = (exc_info or sys.exc_info())[1]
        self.fail(error or InternalError("The actor failed; try again."))

    def then(self, callback: "Callable[[AsyncFuture[T]], None]") -> None:
        """Call back when it is resolved, or now if it is."""
        if self._done:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def _resolve(self) -> None:
        self._done = True
        waiter, callbacks = self._waiter, self._callbacks
        if waiter is not None:
            self._waiter = None
            _wake(waiter, self)
        if callbacks is not None:
            self._callbacks = None
            for callback in callbacks:
                callback(self)

    def waiter(self) -> "asyncio.Future[None]":
        """Make a future of asyncio's to await, which is woken when this is resolved, and may be before."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiter is None and not self._done:
            self._waiter = waiter
        else:
            self.then(partial(_wake, waiter))
        return waiter

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            yield from self.waiter()
        return self.get()


def _wake(waiter: "asyncio.Future[None]", _: object) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Deadlines:
    """Awaits futures, each for a bounded time, with one timer for all of them.

    A timer per ask would cost more than the ask; this one looks every `TICK_S` while anything is awaited.
    """

    TICK_S = 0.25

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[None], float] = {}
        self._ticking = False

    async def wait(self, future: AsyncFuture[T], deadline: float) -> T:
        """Await a future until `deadline` (of `time.monotonic`), or a tick longer.

        Raises:
            Overloaded: the time is up. What was asked may still be carried out.
        """
        waiter = future.waiter()
        self._waiters[waiter] = deadline
        if not self._ticking:
            self._ticking = True
            waiter.get_loop().call_later(min(max(deadline - monotonic(), 0.0), self.TICK_S), self._tick)
        try:
            await waiter
        finally:
            del self._waiters[waiter]
        if not future.done():
            raise Overloaded(
                "The gateway did not answer in time; the command may still be carried out, so look before you send "
                "it again."
            )
        return future.get()

    def _tick(self) -> None:
        now = monotonic()
        for waiter, deadline in self._waiters.items():
            if now >= deadline and not waiter.done():
                waiter.set_result(None)
        self._ticking = bool(self._waiters)
        if self._ticking:
            asyncio.get_running_loop().call_later(self.TICK_S, self._tick)


class Envelope:
    """A message on its way: where the answer goes, until when it is wanted, and for which request."""

    __slots__ = ("aside", "deadline", "message", "own", "reply_to", "request_id")

    def __init__(
        self,
        message: Any,
        reply_to: AsyncFuture[Any] | None = None,
        deadline: float | None = None,
        request_id: str = "",
        aside: MessageContext | None = None,
        own: bool = False,
    ) -> None:
        self.message = message
        self.reply_to = reply_to
        self.deadline = deadline
        self.request_id = request_id
        self.aside = aside
        self.own = own
        """Whether it is the actor's own, about an incarnation's work, and worth nothing to the next one."""

    def fail(self, error: BaseException) -> None:
        """Answer with an error, where an answer is wanted."""
        if self.reply_to is not None:
            self.reply_to.fail(error)


class Mailbox:
    """A bounded queue of envelopes. An empty one holds no memory but its own."""

    __slots__ = ("limit", "queue")

    def __init__(self, limit: int = MAILBOX_LIMIT) -> None:
        self.limit = limit
        self.queue: deque[Envelope] | None = None
        """What waits; None where nothing does."""

    def __len__(self) -> int:
        return len(self.queue) if self.queue else 0

    def put(self, envelope: Envelope, /, *, beyond_limit: bool = False) -> None:
        """Add an envelope at the end; `beyond_limit` for what must not be refused.

        Raises:
            Overloaded: the mailbox is full.
        """
        if self.queue is None:
            self.queue = deque()
        elif len(self.queue) >= self.limit and not beyond_limit:
            raise Overloaded("Too many requests wait for this already; try again in a second.")
        self.queue.append(envelope)

    def get(self) -> Envelope:
        """Take the first envelope; the mailbox must not be empty."""
        assert self.queue
        envelope = self.queue.popleft()
        if not self.queue:
            self.queue = None
        return envelope

    def empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self.queue

    def drain(self) -> list[Envelope]:
        """Take all that waits."""
        waiting, self.queue = list(self.queue or ()), None
        return waiting


class State(enum.Enum):
    """Where an actor is in its life."""

    STARTING = "starting"
    LIVE = "live"
    STOPPING = "stopping"
    STOPPED = "stopped"


_LIVE = State.LIVE  # an enum's attribute takes longer to find


class _PykkaInbox:
    """What pykka takes for an actor's inbox: hands its envelopes on as ours."""

    __slots__ = ("_actor",)

    def __init__(self, actor: "Actor") -> None:
        self._actor = actor

    def put(self, envelope: Any, /) -> None:
        self._actor.deliver(Envelope(envelope.message, envelope.reply_to))

    def empty(self) -> bool:
        return self._actor.waiting == 0


class _StopFlag:
    """What pykka keeps in a threading.Event: whether an actor has stopped."""

    __slots__ = ("_actor",)

    def __init__(self, actor: "Actor") -> None:
        self._actor = actor

    def is_set(self) -> bool:
        return self._actor.life in {State.STOPPING, State.STOPPED}


class NotNow(enum.Enum):
    """The type of `NOT_NOW`: an ask that has to wait its turn."""

    NOT_NOW = "not now"


NOT_NOW = NotNow.NOT_NOW

Handler = Callable[[Any, Any], Any]


def handles(message_type: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method of an actor as the handler of one type of message."""

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.handled_type = message_type  # pyright: ignore[reportFunctionMemberAccess]
        return method

    return mark


class Actor(pykka.Actor):
    """An actor of the event loop, addressed by (kind, key).

    Subclasses mark their handlers with `handles`, load their state in `on_begin` and leave in `on_end`.
    """

    kind: ClassVar[str]
    mailbox_limit: ClassVar[int] = MAILBOX_LIMIT
    _handlers: ClassVar[dict[type[Any], Handler]] = {}

    # Slots, here and in subclasses: a hundred thousand of these may be idle at a time.
    __slots__ = (
        "_begin_error",
        "_busy",
        "_holds",
        "_mailbox",
        "_on_stopping",
        "_scheduled",
        "_stopped",
        "_task",
        "_unsettled",
        "active_at",
        "aside",
        "handled",
        "incarnation",
        "key",
        "life",
        "started_at",
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        marked = {method.handled_type: method for method in vars(cls).values() if hasattr(method, "handled_type")}
        cls._handlers = {**cls._handlers, **marked}

    def __init__(self, key: str) -> None:
        # pykka's own __init__ is not called: it makes a random URN, a threading.Event and a reference for each actor.
        self.key = key
        self.incarnation = next(_incarnations)
        self.life = State.STARTING
        self.handled = 0
        self.started_at = self.active_at = monotonic()
        self.aside: MessageContext | None = None  # of the message in hand, while a handler runs
        self._mailbox = Mailbox(self.mailbox_limit)
        self._busy = False
        self._scheduled = False
        self._holds = 0
        self._unsettled: AsyncFuture[Any] | None = None
        self._stopped: AsyncFuture[None] | None = None
        self._on_stopping: Callable[[Actor, list[Envelope]], None] | None = None
        self._begin_error: ServiceError | None = None
        self._task: asyncio.Task[None] | None = None

    # pykka's three hooks, and its names for what an actor has

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
        """What pykka's references put messages in."""
        return _PykkaInbox(self)

    @property
    def actor_stopped(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What pykka asks with `is_set()` whether the actor takes no more messages."""
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

    # what subclasses override

    async def on_begin(self) -> None:
        """Load state; what waits in the mailbox is handled after. A `ServiceError` answers all of it."""

    def begin_error(self, raised: Exception) -> ServiceError:
        """Say what those who wait are answered when `on_begin` raised what is no `ServiceError`."""
        log.error("%s failed to start", self.actor_urn, exc_info=raised)
        return InternalError("The gateway failed to load this; it has been logged.")

    async def on_end(self) -> None:
        """Let go of what is held, once no message will come any more."""

    def snapshot(self) -> dict[str, Any]:
        """Show state to maintainers: plain values, nothing secret, no texts of messages."""
        return {}

    @property
    def title(self) -> str | None:
        """The entity's name, for maintainers."""
        return None

    @property
    def stopped(self) -> AsyncFuture[None]:
        """Resolved when this incarnation is gone: ended, with every unit of its answered."""
        if self._stopped is None:
            self._stopped = AsyncFuture()
            if self.life is State.STOPPED:
                self._stopped.set(None)
        return self._stopped

    @property
    def holds_something(self) -> bool:
        """Tell whether `on_end` has anything to let go of."""
        return type(self).on_end is not Actor.on_end

    @property
    def engaged(self) -> bool:
        """Tell whether work goes on outside the mailbox, so that this actor must not be passivated."""
        return False

    def concerns(self, user_id: str) -> bool:
        """Tell whether its state has rows of this user's."""
        return False

    # life

    def begin(
        self,
        predecessor: "Actor | None",
        on_stopping: "Callable[[Actor, list[Envelope]], None] | None",
    ) -> None:
        """Start, once `predecessor` (an earlier incarnation of this key) is gone.

        `on_stopping` is called once, when this actor takes no more messages, with those that it leaves unhandled.
        """
        self._on_stopping = on_stopping
        self._hold()
        self._task = asyncio.create_task(self._begin(predecessor))

    async def _begin(self, predecessor: "Actor | None") -> None:
        try:
            if predecessor is not None:
                await predecessor.stopped
            await self.on_begin()
            if self.life is State.STARTING:
                self.life = State.LIVE
                self._pump()
            else:  # it was retired meanwhile
                await self._end()
        except ServiceError as error:
            self._begin_error = error
            self.retire()
        except Exception as raised:
            self._begin_error = self.begin_error(raised)
            self.retire()
        finally:
            self._task = None
            self._release()

    def retire(self) -> None:
        """Take no more messages: hand back those that wait, and end once no unit is open."""
        if self.life in (State.STOPPING, State.STOPPED):
            return
        live = self.life is State.LIVE
        self.life = State.STOPPING
        leftovers = [envelope for envelope in self._mailbox.drain() if not envelope.own]
        error = self._begin_error
        if error is not None or self._on_stopping is None:
            for envelope in leftovers:
                envelope.fail(error or Overloaded("The gateway is stopping; try again."))
            leftovers = []
        if self._on_stopping is not None:
            self._on_stopping(self, leftovers)
        if live and self.holds_something:
            self._hold()
            self._task = asyncio.create_task(self._end_and_release())
        elif self._holds == 0:
            self._finish()

    async def _end_and_release(self) -> None:
        await self._end()
        self._task = None
        self._release()

    async def _end(self) -> None:
        try:
            await self.on_end()
        except Exception:
            log.exception("%s failed to end", self.actor_urn)

    def _finish(self) -> None:
        self.life = State.STOPPED
        self.on_finished()
        if self._stopped is not None:
            self._stopped.set(None)

    def on_finished(self) -> None:
        """Be told that this incarnation is gone for good."""

    def fail(self, error: BaseException) -> None:
        """Stop because of a fault: the next ask starts a new incarnation from the store."""
        if self.life in (State.STARTING, State.LIVE):
            log.warning("%s stops after a fault: %s", self.actor_urn, error)
        self.retire()

    def _hold(self) -> None:
        """Keep this incarnation from ending while something of it is open."""
        self._holds += 1

    def _release(self) -> None:
        self._holds -= 1
        if self._holds == 0 and self.life is State.STOPPING:
            self._finish()

    @property
    def waiting(self) -> int:
        """Messages that wait in the mailbox."""
        return len(self._mailbox)

    @property
    def idle(self) -> bool:
        """Tell whether it may be passivated: nothing waits, nothing is open."""
        return (
            self.life is State.LIVE
            and self._holds == 0
            and not self._busy
            and self._mailbox.empty()
            and not self.engaged
        )

    # messages

    def ask_now(self, message: Ask[R], aside: MessageContext | None) -> "R | AsyncFuture[R] | NotNow":
        """Handle an ask within this step, after what is ahead of it; `NOT_NOW` where it must wait its turn.

        Raises:
            ServiceError: what the handler answered.
        """
        if self.life is not _LIVE or self._busy:
            return NOT_NOW
        if self._mailbox.queue is not None:
            self._pump()
            if not self._mailbox.empty() or self.life is not State.LIVE:
                return NOT_NOW
        return self._perform(message, aside)

    @property
    def progress(self) -> Progress | None:
        """What takes the pieces of the answer in hand."""
        return self.aside and self.aside.progress

    def take_receipt(self) -> Any:
        """Return the receipt of the message in hand, once; None where it has none."""
        aside = self.aside
        if aside is None or aside.receipt is None:
            return None
        self.aside = MessageContext(aside.progress)
        return aside.receipt

    def deliver(self, envelope: Envelope) -> None:
        """Queue a message.

        Raises:
            Overloaded: the mailbox is full.
        """
        self._mailbox.put(envelope)
        self._schedule()

    def tell_self(self, message: Tell) -> None:
        """Queue the result of this actor's own background work, in a full mailbox too: it must not be lost."""
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
        """Carry out a queued message and see that it is answered."""
        if envelope.deadline is not None and monotonic() > envelope.deadline:
            envelope.fail(Overloaded("The request waited too long for its turn; try again."))
            return
        try:
            answer = self._perform(envelope.message, envelope.aside)
        except ServiceError as error:
            envelope.fail(error)
            return
        reply_to = envelope.reply_to
        if reply_to is None:
            return
        if isinstance(answer, AsyncFuture):
            cast(AsyncFuture[Any], answer).then(lambda done: _forward(done, reply_to))
        else:
            reply_to.set(answer)

    def _perform(self, message: Any, aside: MessageContext | None) -> Any:
        """Run a message's handler; an `AsyncFuture` where the answer must wait for the store.

        Raises:
            ServiceError: the handler's, or InternalError for any other exception, which also stops the actor.
        """
        self.active_at = monotonic()
        self.handled += 1
        self._busy = True
        self.aside = aside
        try:
            answer = self._handlers[type(message)](self, message)
        except ServiceError as error:
            if self._unsettled is None or self._unsettled.done():
                raise
            return self._deferred(None, error)
        except Exception as error:
            log.exception("%s failed on %s", self.actor_urn, type(message).__name__)
            self.fail(error)
            raise InternalError("The gateway failed on this request; it has been logged.") from error
        finally:
            self._busy = False
            self.aside = None
        unsettled = self._unsettled
        if unsettled is None or unsettled.done() or isinstance(answer, AsyncFuture):
            return answer  # pyright: ignore[reportUnknownVariableType]
        return self._deferred(answer, None)

    def _deferred(self, answer: Any, error: ServiceError | None) -> AsyncFuture[Any]:
        """Hold an answer back that saw state which is not stored yet: it stands only if that is."""
        held: AsyncFuture[Any] = AsyncFuture()
        self.defer(held, answer, error)
        return held

    def defer(self, answered: AsyncFuture[Any], answer: Any, error: ServiceError | None = None) -> None:
        """Answer at once where all state in memory is stored, else once it is; fail if it could not be."""
        unsettled = self._unsettled
        if unsettled is None or unsettled.done():
            _settle(answered, answer, error)
        else:
            unsettled.then(lambda done: _settle(answered, answer, done.error or error))

    def on_receive(self, message: Any) -> Any:
        """Hand a message to its handler; pykka's entry point."""
        return self._handlers[type(message)](self, message)


def _forward(done: AsyncFuture[Any], reply_to: AsyncFuture[Any]) -> None:
    _settle(reply_to, None if done.error else done.get(), done.error)


def _settle(reply_to: AsyncFuture[Any], answer: Any, error: BaseException | None) -> None:
    if error is None:
        reply_to.set(answer)
    else:
        reply_to.fail(error)
