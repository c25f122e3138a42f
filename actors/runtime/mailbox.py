"""Asks and tells, their context and envelopes, and the bounded mailbox."""

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from actors.errors import Overloaded
from actors.runtime.future import AsyncFuture

R = TypeVar("R")

MAILBOX_LIMIT = 1_000
"""The number of messages that one mailbox holds; the next is refused at once."""


class Ask(Struct, Generic[R], frozen=True):
    """Base of messages that get an `R` in reply.

    Message and reply are plain data with a binary form, so that they may cross to another node. A type that carries
    something live states in `local` why it never leaves its process.
    """

    local: ClassVar[str] = ""


class Tell(Struct, frozen=True):
    """Base of messages that get no reply; plain data, as an `Ask` is."""

    local: ClassVar[str] = ""


class OwnTell(Tell, frozen=True):
    """Base of the messages by which an actor's background work reports its result to the actor."""

    local: ClassVar[str] = "An actor sends it to itself."


Progress = Callable[[str], None]
"""Receives an answer piece by piece."""


class MessageContext:
    """Context sent beside a message: the channels for partial answers and the receipt to commit with it.

    `begun` is called before the first piece with what is known of the answer by then, and if the message has to wait,
    also when that begins.
    """

    __slots__ = ("begun", "progress", "receipt")

    def __init__(
        self, progress: Progress | None = None, receipt: Any = None, begun: Callable[[Any], None] | None = None
    ) -> None:
        self.progress = progress
        self.receipt = receipt
        self.begun = begun


class Envelope:
    """A queued message, with the future of its answer, its deadline and the id of its request."""

    __slots__ = ("context", "deadline", "message", "own", "queued_at", "reply_to", "request_id")

    def __init__(
        self,
        message: Any,
        reply_to: AsyncFuture[Any] | None = None,
        deadline: float | None = None,
        request_id: str = "",
        context: MessageContext | None = None,
        own: bool = False,
    ) -> None:
        self.message = message
        self.reply_to = reply_to
        self.deadline = deadline
        self.request_id = request_id
        self.context = context
        self.queued_at = monotonic()
        self.own = own
        """Whether it reports an incarnation's own work, which means nothing to the next one."""

    def fail(self, error: BaseException) -> None:
        """Answer with an error, if an answer is expected."""
        if self.reply_to is not None:
            self.reply_to.fail(error)


class Mailbox:
    """A bounded queue of envelopes; the queue itself is allocated only while something waits."""

    __slots__ = ("limit", "queue")

    def __init__(self, limit: int = MAILBOX_LIMIT) -> None:
        self.limit = limit
        self.queue: deque[Envelope] | None = None
        """The envelopes that wait; None if there are none."""

    def __len__(self) -> int:
        return len(self.queue) if self.queue else 0

    def put(self, envelope: Envelope, /, *, beyond_limit: bool = False) -> None:
        """Add an envelope at the end; `beyond_limit` for one that must not be refused.

        Raises:
            Overloaded: the mailbox is full.
        """
        if self.queue is None:
            self.queue = deque()
        elif len(self.queue) >= self.limit and not beyond_limit:
            raise Overloaded("Too many requests wait for this already; try again in a second.")
        self.queue.append(envelope)

    def get(self) -> Envelope:
        """Remove and return the first envelope; the mailbox must not be empty."""
        assert self.queue
        envelope = self.queue.popleft()
        if not self.queue:
            self.queue = None
        return envelope

    def first(self) -> Any:
        """Return the message of the first envelope; the mailbox must not be empty."""
        assert self.queue
        return self.queue[0].message

    def empty(self) -> bool:
        """Whether the mailbox is empty."""
        return not self.queue

    def drain(self) -> list[Envelope]:
        """Remove and return all envelopes."""
        waiting, self.queue = list(self.queue or ()), None
        return waiting
