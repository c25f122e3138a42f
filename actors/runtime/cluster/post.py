"""How nodes reach each other: requests to one node, and messages to all who follow a topic.

Nothing rests on it for correctness: a message may be lost, and the store's fences decide what is committed. A request
is never executed twice, and one that fails says whether it may have begun.
"""

from collections.abc import AsyncIterator, Callable
from typing import Protocol


class Lost(Exception):
    """The request was sent, and its end is unknown: it may have been carried out."""


class NotReached(Exception):
    """The request never began, so it may be sent again, also to another node."""


class NotServed(NotReached):
    """The same, from a node that was reached and refused it, as while it hands the shard over."""


Handler = Callable[[bytes], AsyncIterator[bytes]]
"""Carries out one request: takes its body, yields the frames of the answer.

Raising NotReached before the first frame refuses the request as not begun: the sender gets NotServed. Any other error
is logged, and the sender gets Lost; so errors that a client shall see are frames.
"""


class Post(Protocol):
    """Sends requests and messages between nodes.

    Frames of one request arrive once and in order. Requests of one sender to one node begin in the order in which they
    were sent; those of several senders in any order.
    """

    @property
    def connected(self) -> bool:
        """Whether other nodes can be reached now; without that, requests fail with NotReached at once."""
        ...

    @property
    def on_reconnect(self) -> list[Callable[[], None]]:
        """Called after an interruption, in which messages to followed topics may have been lost."""
        ...

    def serve(self, subject: str, handler: Handler) -> None:
        """Carry out requests for a subject ("run", "ask" ...) with `handler`, each in a task of its own.

        To be called before `start`.
        """
        ...

    async def start(self, node: str) -> None:
        """Connect as this node, an id of letters, digits, `-` and `_`; afterwards its requests are served.

        Raises:
            ConnectionError: there is no connection, or the server's settings don't fit.
        """
        ...

    def request(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> AsyncIterator[bytes]:
        """Send a request at once, and return the frames of its answer as they arrive.

        It needs no task. Who stops reading early changes nothing on the other node.

        Args:
            node: the id of the node that carries it out; it may be this one.
            subject: one that the node serves.
            body: of any size.
            timeout_s: seconds to wait for each next frame.

        Raises:
            NotReached: from the iterator: it never began.
            Lost: from the iterator: it may have been carried out; also if the answer is late.
        """
        ...

    async def call(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> bytes:
        """Send a request whose answer is exactly one frame, and return that; see `request`."""
        ...

    def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all nodes that follow a topic, this one included; it may be lost."""
        ...

    def follow(self, topic: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `handler` with each message of a topic; return the function that ends this."""
        ...

    async def settled(self) -> None:
        """Wait until all that is followed is in force: no message that is published later is missed for this reason.

        Not for use outside of tasks.
        """
        ...

    def lose(self, node: str) -> None:
        """Fail with Lost all that waits for a node, because it is dead."""
        ...

    async def close(self) -> None:
        """Disconnect; what still waits fails with Lost."""
        ...
