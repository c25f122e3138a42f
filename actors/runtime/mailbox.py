"""Messages on their way: asks, tells, their context, envelopes and the bounded mailbox."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from actors.errors import Overloaded
from actors.runtime.future import AsyncFuture

R = TypeVar("R")

MAILBOX_LIMIT = 1_000
"""Messages that may wait in one mailbox; the next is refused at once."""


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """Base of messages that get an `R` in reply.

    Message and reply are plain data with a binary form, so that they may cross to another node. A type that carries
    something live says in `local` why it never leaves its process.
    """

    local: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Tell:
    """Base of messages that get no reply; plain data, as an `Ask` is."""

    local: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class OwnTell(Tell):
    """Base of the messages by which an actor's background work tells the actor its result."""

    local: ClassVar[str] = "An actor tells it to itself."


Progress = Callable[[str], None]
"""Takes each piece of an answer that is produced in pieces."""


class MessageContext:
    """Context sent beside a message: the channel for partial answers and the receipt to commit with it."""

    __slots__ = ("progress", "receipt")

    def __init__(self, progress: Progress | None = None, receipt: Any = None) -> None:
        self.progress = progress
        self.receipt = receipt


class Envelope:
    """A message on its way: where the answer goes, until when it is wanted, and for which request."""

    __slots__ = ("context", "deadline", "message", "own", "reply_to", "request_id")

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
        """Return whether nothing waits."""
        return not self.queue

    def drain(self) -> list[Envelope]:
        """Take all that waits."""
        waiting, self.queue = list(self.queue or ()), None
        return waiting
