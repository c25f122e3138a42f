"""A gateway route as data: from these tables come the routes themselves, their checks and their part of OpenAPI."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from sanic import Request

from actors.calls.call import Call
from actors.calls.request import Body
from routes.openapi.schemas import Schema

Entrance = Literal["member", "internal", "open"]


@dataclass(frozen=True, slots=True)
class RouteReply:
    """What a gateway route answers: a JSON value, or no body at all where `value` is None and the status is 204."""

    value: Any = None
    status: int = HTTPStatus.OK
    quoted: tuple[int, ...] = ()
    """Places of memories whose texts stand in it (see `actors/idempotency/records.py`)."""


@dataclass(frozen=True, slots=True)
class RouteCall:
    """One request to a gateway route.

    `body` and `query` are instances of the route's models, None where it has none. `params` are the path's.
    """

    call: Call
    params: dict[str, str]
    body: Any
    query: Any
    request: Request


@dataclass(frozen=True, slots=True)
class Route:
    """One gateway route.

    Args:
        method: GET, POST, PUT, PATCH or DELETE.
        path: with its parameters in braces.
        name: the operation's id, which logs, metrics and the audit log call it by.
        tag: its group in the document.
        summary: what it does, in a line.
        run: carries it out.
        reply: the schema of its answer; None where it has no body.
        status: that of success.
        body: the model of its JSON body; None where it takes none.
        query: the model of its query.
        may_be_empty: True where success may also be 204, without a body.
        errors: the HTTP statuses of its refusals beyond those that every route of its entrance may answer.
        entrance: `member` needs a credential and counts, `internal` needs X-Internal-Secret, `open` needs nothing.
        mutates: True where it changes something: what Idempotency-Key (on POST) and the audit log hold on to.
        example: a body that works.
        reads_body: True for a route that reads its body itself, of whatever media type.
        described_body: how OpenAPI describes such a body.
        withdrawn: what a repeat with an Idempotency-Key is answered where the answer quoted a memory that was censored.
        mock: True for what is there only where DEV_MOCKS_ENABLED is set.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    run: Callable[[RouteCall], Awaitable[RouteReply]]
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
