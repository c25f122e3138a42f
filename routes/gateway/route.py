"""A gateway route as data: from these tables come the routes themselves, their checks and their part of OpenAPI."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel

from actors.calls.call import Call
from actors.calls.request import Body
from routes.http.exchange import Received
from routes.openapi.schemas import Schema

Entrance = Literal["member", "internal", "open"]


@dataclass(frozen=True, slots=True)
class RouteReply:
    """The answer of a gateway route: a JSON value, or no body where `value` is None and the status is 204."""

    value: Any = None
    status: int = HTTPStatus.OK
    quoted: tuple[int, ...] = ()
    """Positions of memories whose texts stand in it (see `actors/idempotency/records.py`)."""


@dataclass(frozen=True, slots=True)
class RouteCall:
    """One request to a gateway route.

    `params` are the parts of the path; `body` and `query` are instances of the route's models, None where it has none.
    """

    call: Call
    params: dict[str, str]
    body: Any
    query: Any
    received: Received


@dataclass(frozen=True, slots=True)
class Route:
    """One gateway route.

    Args:
        method: GET, POST, PUT, PATCH or DELETE.
        path: with its parameters in braces.
        name: the operation's id, its name in logs, metrics and the audit log.
        tag: its group in the document.
        summary: its purpose, in a line.
        run: carries it out.
        reply: the schema of its answer; None where it has no body.
        status: that of success.
        body: the model of its JSON body; None where it takes none.
        query: the model of its query.
        may_be_empty: True where success may also be 204, without a body.
        errors: the HTTP statuses of its refusals beyond those that every route of its entrance may answer.
        entrance: `member` needs a credential and counts, `internal` needs X-Internal-Secret, `open` needs nothing.
        mutates: True for a change, to which Idempotency-Key (on POST) and the audit log apply.
        example: a body that works.
        reads_body: True for a route that reads its body itself, of whatever media type.
        described_body: how OpenAPI describes such a body.
        redacted: the answer to a repeat with an Idempotency-Key where the first one quoted a memory censored since.
        mock: True for a route that exists only where DEV_MOCKS_ENABLED is set.
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
    redacted: Any = None
    mock: bool = False
