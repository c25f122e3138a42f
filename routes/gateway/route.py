"""Gateway routes as data, from which their handlers, checks and OpenAPI operations derive."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from actors.calls.call import Call
from actors.calls.request import Body
from actors.idempotency.records import Quoting
from actors.sessions.scopes import GATEWAY_ROUTE
from routes.doors.answer_stream import AnswerStream
from routes.doors.door import JSON, Door
from routes.gateway.live import Live
from routes.http.background import BackgroundTasks
from routes.http.console_cookie import Header
from routes.http.exchange import Received
from routes.http.server_sent_events import EVENT_POSITION, is_taken_up_again
from routes.openapi.schemas import Schema

Entrance = Literal["member", "guest", "operator", "internal", "open"]


class Query(BaseModel):
    """Query parameters of a route; others are refused."""

    model_config = ConfigDict(extra="forbid")


class RouteReply(Quoting, frozen=True):
    """The answer of a gateway route: a JSON value, a body already written, or none if `value` is None."""

    value: Any = None
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = {}
    """Further headers, of a route without Idempotency-Key."""
    media_type: str = JSON
    """The same: its media type."""


class RouteCall(Struct, frozen=True):
    """One request to a gateway route.

    `params` are the path's parameters; `body` and `query` are instances of the route's models, None without a model;
    `body` may also be the result of the route's `parse`. `stream` takes a streamed answer, on a route that `streams`.
    `base_url` is the gateway's URL as its client knows it, on the route of a door. `work` takes what goes on after the
    answer.
    """

    call: Call
    params: dict[str, str]
    body: Any
    query: Any
    received: Received
    work: BackgroundTasks
    stream: AnswerStream | None = None
    base_url: str = ""
    live: Live | None = None
    """The figures that GET /debug/stream sends."""


class Arrival(Struct):
    """A request to a gateway route, on a connection of this node or from the node where it arrived.

    `header` returns the first value of a header, `whole_header` all of them joined by commas; `args` returns the query
    parameters, and `receive` the body.
    """

    header: Callable[[str], str | None]
    whole_header: Callable[[str], str | None]
    args: Callable[[], dict[str, str]]
    receive: Callable[[], Coroutine[Any, Any, bytes]]
    admission: Callable[[Call], Coroutine[Any, Any, None]] | None = None
    """Admits it if its admission is not this node's matter."""
    forwarded: bool = False
    """Whether it arrived at another node, which has sent it here."""
    stream: AnswerStream | None = None
    """Takes a streamed answer."""
    base_url: str = ""
    """The gateway's URL as its client knows it."""
    goes_on: bool = False
    """Whether it goes on when its client disconnects; else that cancels it."""
    body: bytes = b""
    """The body, as far as it has been received."""


@dataclass(frozen=True, slots=True)
class Route:
    """One gateway route.

    Args:
        method: GET, POST, PUT, PATCH or DELETE.
        path: its path, with parameters in braces; its last segment may end in a colon and a verb. A final slash is
            allowed.
        name: the operation's id in OpenAPI, logs, metrics and the audit log.
        tag: its group in the OpenAPI document.
        summary: its purpose in one line.
        run: the function that serves it.
        reply: the schema of its answer; None without a body.
        status: the HTTP status of success.
        body: the model of its JSON body; None if it takes no body.
        query: the model of its query.
        may_be_empty: True if success may also be 204 without a body.
        errors: the HTTP statuses of its own refusals, beyond those of every route with its entrance.
        entrance: `member` needs a credential and counts, `guest` does so if one is sent and needs none, `operator`
            needs a credential of an operator (of an auditor, if it only reads) or else X-Internal-Secret, `internal`
            needs X-Internal-Secret, `open` needs nothing.
        mutates: True for a change, which has an audit row and, on POST, may have an Idempotency-Key.
        example: a valid body.
        reads_body: True if the route reads its body itself, of any media type.
        described_body: the OpenAPI description of such a body.
        headers: the names of further headers of its answers (routes/openapi/headers.py): with `ETag` it may answer 304,
            with `X-Conversation-Id` the errors of a message that is stored have them, too.
        parameters: the OpenAPI descriptions of parameters that the route reads itself, from its query or its headers.
        redacted: the answer to a repeat with an Idempotency-Key if what the first answer shows was erased since.
        mock: True for a route that exists only if DEV_MOCKS_ENABLED is set.
        door: the protocol that it belongs to, which writes its errors; the frame ignores Idempotency-Key there.
        keys_runs: True if such a route finds the run of a repeat by its Idempotency-Key.
        parse: reads the body, after admission and count, into `RouteCall.body`, or returns a coroutine of that; may
            raise a ServiceError. The body is received as with `reads_body`.
        named: the names of the entities in a parsed body, for the audit row; those of the path are added.
        streams: True if its answer may be streamed; a change goes on when its client disconnects, and a read runs at
            the node of its connection, with which it ends.
        counts: False for a read that the quota doesn't count.
        fast: whether a request with this body may take the fast path, which answers it whole, as JSON; None for never.
        safe_to_resend: True for a change that may be carried out again after another node was lost with it, because a
            repeat finds the first one; it ignores Idempotency-Key.
        endless: True for a streamed read without end, whose latency is the time to its head. The quota doesn't count
            one that is taken up again with the id of an event, which is a position of own events.
        may_only_read: True for a change that some bodies don't ask for; its handler checks an API key's scopes again,
            with `Call.mutates` as the body says.
        hidden_at: a path of its own pattern, with the parameters there, that a route of another method would hide.
        service: the service as which it counts for the scopes of an API key; by default a door's route counts as
            AP_Chat, and others as none.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    run: Callable[[RouteCall], Coroutine[Any, Any, RouteReply]]
    reply: Schema | None = None
    status: int = HTTPStatus.OK
    body: type[Body] | None = None
    query: type[BaseModel] | None = None
    may_be_empty: bool = False
    errors: tuple[int, ...] = ()
    entrance: Entrance = "member"
    mutates: bool = False
    example: Any = None
    reads_body: bool = False
    described_body: Schema | None = None
    headers: tuple[str, ...] = ()
    parameters: tuple[Schema, ...] = ()
    redacted: Any = field(default_factory=dict[str, Any])
    mock: bool = False
    door: Door | None = None
    parse: Callable[[Received], Any] | None = None
    named: Callable[[Any], dict[str, str]] | None = None
    streams: bool = False
    counts: bool = True
    fast: Callable[[bytes], bool] | None = None
    safe_to_resend: bool = False
    endless: bool = False
    may_only_read: bool = False
    hidden_at: tuple[str, Mapping[str, str]] | None = None
    service: str = GATEWAY_ROUTE
    keys_runs: bool = False

    @property
    def counts_as(self) -> str | None:
        """The service that the scopes of an API key must allow; that of a door is AP_Chat unless it says another.

        None on a route for guests, which checks it itself for what guests don't see.
        """
        if self.entrance == "guest":
            return None
        return self.service or (GATEWAY_ROUTE if self.door is None else "AP_Chat")

    def counts_one(self, header: Header) -> bool:
        """Return whether the quota counts a request with this header."""
        return self.counts and not (self.endless and is_taken_up_again(header("last-event-id"), EVENT_POSITION))

    @property
    def takes_no_body(self) -> bool:
        """Whether a body must be an empty object, because no member is known; doors ignore members."""
        if self.method != "POST" or not self.mutates or self.door is not None:
            return False
        return self.body is None and not self.reads_body

    @property
    def takes_key(self) -> bool:
        """Whether a request with a credential may have an Idempotency-Key."""
        if self.method != "POST" or not self.mutates or self.safe_to_resend or self.door is not None:
            return False
        return self.entrance in ("member", "operator")
