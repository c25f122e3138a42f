"""A request to the command bus, without its connection."""

from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Struct
from sanic import Request

from actors.calls.call import Call
from actors.calls.known_members import Members
from actors.calls.request import MEMBERS
from routes.http.accept import weight_of
from routes.http.server_sent_events import EVENT_STREAM


class BusRequest(Struct):
    """A request to the command bus, whether Sanic, the fast path or MCP received it."""

    header: Callable[[str], str | None]
    """Returns the value of a header; names are in lower case."""
    request_id: str
    address: str
    body: bytes = b""
    members: Members = MEMBERS
    """The members allowed in its body."""
    sanic: Request | None = None
    """Sanic's request, if Sanic received it: its body is still to be read, and its answer can be streamed."""
    goes_on: bool = False
    """True if the command goes on when the client disconnects; otherwise it is cancelled."""
    parsed: dict[str, Any] | None = None
    """The body as a JSON object, once it has been parsed."""
    admission: Callable[[Call], Coroutine[Any, Any, None]] | None = None
    """Admits it if its admission is not this node's matter."""
    forwarded: bool = False
    """Whether it arrived at another node, which has sent it here."""
    open_channels: Callable[[Call], None] | None = None
    """Opens the channels for the pieces of its answer, if they go to another node."""
    opening: dict[str, str] | None = None
    """Further headers of a streamed answer, known before its first piece."""

    @property
    def wants_events(self) -> bool:
        """Whether the client asks for server-sent events, and does not prefer JSON."""
        accepted = self.header("accept") or ""
        events = weight_of(accepted, EVENT_STREAM)
        return events > 0 and events >= weight_of(accepted, "application/json")
