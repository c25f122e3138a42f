"""Serves gateway routes from their tables: credential, quota, checks, handler, one shape of errors."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from inspect import iscoroutine
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.acts import note_refused, noted, require_role
from actors.calls.admission import admit, authenticate, count_stored
from actors.calls.call import Call, Elsewhere
from actors.calls.request import REFERENCE_CHARS, Body, checked
from actors.errors import MessageKept, NotPermitted, Overloaded, ServiceError, UserSuspended
from actors.idempotency.once import Done, fingerprint_of, require_key
from actors.idempotency.records import Rendered
from routes.doors.answer_stream import AnswerStream, ConnectionStream, HeadSent
from routes.doors.door import Door, door_of
from routes.gateway.live import Live
from routes.gateway.paths import Verbs, by_sanic_path, chosen, takes
from routes.gateway.query import validated
from routes.gateway.route import Arrival, Route, RouteCall, RouteReply
from routes.http.answers import (
    REPLAYED,
    HttpAnswer,
    caller_headers,
    credential_of,
    door_headers_of,
    error_answer,
    status_of,
)
from routes.http.bodies import json_object, next_turn, received_body, require_size, whole_header
from routes.http.console_cookie import Header
from routes.http.errors import as_service_error
from routes.http.exchange import Exchange, Received, Writing
from routes.http.internal_auth import InternalAuth

if TYPE_CHECKING:
    from routes.gateway.passing_on import GatewayPassage

Served = tuple[int, HttpAnswer | None]


class GatewayRoutes:
    """Runs the handlers of gateway routes and writes their answers."""

    def __init__(self, exchange: Exchange, internal_auth: InternalAuth, live: Live) -> None:
        self._exchange = exchange
        self._live = live
        self._internal_auth = internal_auth
        self.passage: GatewayPassage | None = None
        """Passes requests on to other nodes; None if there is only this one."""

    def blueprint(self, routes: Iterable[Route]) -> Blueprint:
        """Return the Sanic routes of these rows."""
        blueprint = Blueprint("gateway")
        for (method, path), verbs in by_sanic_path(routes).items():
            self._add(blueprint, method, path, verbs)
        return blueprint

    def _add(self, blueprint: Blueprint, method: str, path: str, verbs: Verbs) -> None:
        async def handler(request: Request, **sent: str) -> HTTPResponse | None:
            route, params = chosen(verbs, request.method, sent)
            arrival = self._arrived(request, route)
            answer = await self.serve(arrival, route, params, self._exchange.call_of(request, route.name))
            return answer and answer.response()

        name = next(iter(verbs.routes.values())).name + ("Hidden" if verbs.known else "")
        taken = partial(takes, verbs, method)
        blueprint.add_route(handler, path, [method], name=name, ignore_body=True, error_format="json", ctx_takes=taken)

    def _arrived(self, request: Request, route: Route) -> Arrival:
        headers: Any = request.headers
        header: Header = headers.get
        whole: Header = partial(whole_header, request)
        if route.door is None:
            header, whole = self._exchange.header_of(request), self._exchange.header_of(request, whole)

        def args() -> dict[str, str]:
            arguments: Any = request.get_args(keep_blank_values=True)
            return {name: ",".join(values) for name, values in arguments.items()}

        arrival = Arrival(header, whole, args, partial(received_body, request))
        if route.door is not None:
            arrival.base_url = self._exchange.base_url_of(request)
        if route.streams:
            arrival.stream = ConnectionStream(request)
            arrival.stream.goes_on = route.mutates
        return arrival

    def serve(
        self, arrival: Arrival, route: Route, params: dict[str, str], call: Call
    ) -> Coroutine[Any, Any, HttpAnswer | None]:
        """Serve one request; return None if its answer was streamed.

        Raises:
            Elsewhere: it came from another node, and moves on.
        """
        serving: Coroutine[Any, Any, Served] = self._served_here(arrival, route, params, call)
        if self.passage is not None and not arrival.forwarded:
            serving = self.passage.served(serving, arrival, route, params, call)
        if arrival.stream is not None:
            serving = _streamed(serving, arrival, arrival.stream, route.door)
        refuse = partial(_refused, route.door, arrival, call.core.clock())
        return self._exchange.run(call, perf_counter(), serving, refuse)

    async def _served_here(self, arrival: Arrival, route: Route, params: dict[str, str], call: Call) -> Served:
        try:
            code, answer = await self._carried_out(arrival, route, params, call)
        except Exception:
            await count_stored(call)  # as for answers, an error is sent only once its request is counted
            raise
        await count_stored(call)
        answer.headers = {"X-Request-Id": call.request_id, **caller_headers(call), **answer.headers}
        return code, answer

    async def _carried_out(
        self, arrival: Arrival, route: Route, params: dict[str, str], call: Call
    ) -> tuple[int, HttpAnswer]:
        """Run the checks in the order of the contract, then the handler."""
        call.counts_as, call.mutates = route.counts_as, route.mutates and not route.may_only_read
        if route.entrance == "internal":
            self._internal_auth.check(arrival.header)
        elif route.entrance == "operator":
            await self._let_operator_in(arrival, route, params, call)
        sent: Any = {}
        body = b""
        late = route.reads_body or route.parse is not None
        if not late:
            body = await arrival.receive()
            if route.body is not None or (body and route.takes_no_body):
                media_type = arrival.whole_header("content-type")
                sent = json_object(body or b"{}", media_type, self._exchange.max_body_bytes)
                await next_turn(body)
        if self.passage is not None and not arrival.forwarded:
            await self.passage.require_home(arrival, route, call)
        await _admit(self._exchange, arrival, route, call)
        if late:
            # received here, where a disconnect of the client ends it
            body = arrival.body = arrival.body or await arrival.receive()
            require_size(body, self._exchange.max_body_bytes)
            await next_turn(body)
        args = arrival.args()
        received = Received(arrival.whole_header, args, body)
        model = route.body or (Body if sent else None)
        parsed = route.parse(received) if route.parse else model and checked(model, sent, body)
        if iscoroutine(parsed):
            parsed = await parsed
        asked = route.query and validated(route.query, args)
        request = RouteCall(
            call, params, parsed, asked, received, self._exchange.work, arrival.stream, arrival.base_url, self._live
        )
        await next_turn(body)
        call.target_names = params | route.named(parsed) if route.named else params
        if route.door is not None or route.streams:
            return 0, _of_door(await self._run_of_door(arrival, route, request))
        done = await self._done(arrival, route, request, body if late else sent)
        status, body = done.rendered
        return done.internal_code, HttpAnswer(body, status, {REPLAYED: "true"} if done.replayed else {})

    async def _let_operator_in(self, arrival: Arrival, route: Route, params: dict[str, str], call: Call) -> None:
        """Check the credential of an operator's route, or else the internal secret; note who may not change anything.

        Raises:
            NotPermitted: the credential's user has not the role.
            InvalidCredential, UserSuspended: the credential is refused.
            NoCredential, NotFound: there is neither a credential nor the secret.
        """
        call.is_act = True
        credential = credential_of(arrival.header)
        if arrival.admission is None and credential is None:
            self._internal_auth.check(arrival.header)
            call.by_secret = True
            return
        try:
            await (authenticate(call, credential) if arrival.admission is None else arrival.admission(call))
            require_role(call, changes=route.mutates)
        except (NotPermitted, UserSuspended) as error:
            if route.mutates:
                call.target_names = {name: sent[:REFERENCE_CHARS] for name, sent in params.items()}
                await note_refused(call, error.internal_code, credential)
            raise

    async def _run_of_door(self, arrival: Arrival, route: Route, request: RouteCall) -> RouteReply:
        """Run the handler of a door, with its answer streamed if it wants that."""
        exchange, call, stream = self._exchange, request.call, request.stream
        running = exchange.carry_out(call, route.run, request) if route.mutates else route.run(request)
        try:
            if stream is None:
                return await (exchange.work.shielded(running) if route.mutates and not arrival.goes_on else running)
            stream.headers = {"X-Request-Id": call.request_id} | caller_headers(call)
            if route.endless:
                stream.on_begun = call.begins_stream
            heard = exchange.heard(call, running, stream) if route.mutates else running
            return await stream.carry(_unless_begun(stream, heard), exchange.work)
        except MessageKept as error:
            if route.door is None:
                raise
            raise error.told(route.door.go_on) from error  # its clients know no Idempotency-Key

    async def _done(self, arrival: Arrival, route: Route, request: RouteCall, sent: Any) -> Done:
        """Run the handler of a gateway route, once if it has an Idempotency-Key; `sent` is its body."""
        call = request.call
        if not route.mutates:
            return Done(_rendered(await (noted(call, route.run(request)) if call.is_act else route.run(request))))
        exchange = self._exchange
        key = arrival.header("idempotency-key") if route.takes_key else None
        if key is not None and call.caller is None:
            require_key(key)  # an answer is kept for a credential only, but a wrong key is one for the operator, too
        if key is None or call.caller is None:
            reply = await exchange.work.shielded(exchange.carry_out(call, route.run, request))
            return Done(_rendered(reply))
        fingerprint = fingerprint_of(f"{route.name} {orjson.dumps(request.params).decode()}", sent)
        await next_turn(request.received.body)
        writing = Writing(_rendered, _failed, partial(_rendered, RouteReply(route.redacted)))
        once = exchange.carry_out_once(call, route.run, request, key, fingerprint, writing)
        return await exchange.work.shielded(once)


async def _admit(exchange: Exchange, arrival: Arrival, route: Route, call: Call) -> None:
    """Check the credential of a route that takes one, and count the request.

    Raises:
        NoCredential, InvalidCredential, QuotaExceeded, NotPermitted: it is refused.
    """
    credential = credential_of(arrival.header)
    if arrival.admission is not None:
        await arrival.admission(call)
    elif route.entrance == "member" or (route.entrance == "guest" and credential is not None):
        if not route.counts_one(arrival.header):
            await authenticate(call, credential)
        else:  # of an endless stream maybe by another node
            await (exchange.admit if route.endless else admit)(call, credential)
    if route.mutates or route.streams:  # before the change, and before the first piece
        await count_stored(call)


async def _streamed(
    serving: Coroutine[Any, Any, Served], arrival: Arrival, stream: AnswerStream, door: Door | None
) -> Served:
    """Serve a request that has a stream, and end that if it was begun."""
    try:
        code, answer = await serving
    except HeadSent:
        code, answer = 0, None
    except Exception as raised:
        if not stream.begun:
            raise
        error = as_service_error(raised)
        await stream.end(_last_piece(error, stream, door, arrival.body))
        return error.internal_code, None
    if stream.begun:
        await stream.end()
    return code, None if stream.begun else answer


async def _unless_begun(stream: AnswerStream, running: Coroutine[Any, Any, RouteReply]) -> RouteReply:
    """Run the handler of a door, which can't move to another node once its answer has begun."""
    try:
        return await running
    except Elsewhere:
        if stream.begun:
            raise Overloaded("The agent has moved to another node; send this again.") from None
        raise


def _last_piece(error: ServiceError, stream: AnswerStream, door: Door | None, body: bytes) -> bytes:
    """Write an error as the last piece of a stream."""
    if stream.failure is not None:
        return stream.failure(error)
    return b"" if door is None else door.stream_error(error, body)


async def _refused(door: Door | None, arrival: Arrival, at: int, call: Call, error: ServiceError) -> HttpAnswer:
    if door is None:
        return error_answer(call.request_id, error, caller_headers(call))
    if (door.refused is not None or door.names_request) and call.caller is not None:
        with suppress(Exception):  # a body that does not arrive can't be told
            arrival.body = arrival.body or await arrival.receive()
    if door.refused is not None and call.caller is not None:
        await door.refused(call, Received(arrival.whole_header, arrival.args(), arrival.body), error, at)
    media_type = door.media_type and door.media_type(arrival.whole_header)
    return refused_by(door, call.request_id, error, arrival.body, caller_headers(call), media_type)


def refused_by(
    door: Door,
    request_id: str,
    error: ServiceError,
    body: bytes = b"",
    extra: Mapping[str, str] | None = None,
    media_type: str | None = None,
) -> HttpAnswer:
    """Return a door's answer to an error."""
    refusal = door.refusal(error, body)
    headers = door_headers_of(error) | dict(extra or {}) | {"X-Request-Id": request_id} | dict(refusal.headers)
    return HttpAnswer(refusal.body, refusal.status, headers, media_type or refusal.media_type)


def refused_below(
    doors: Iterable[Door],
    path: str,
    header: Callable[[str], str | None],
    request_id: str,
    error: ServiceError,
    extra: dict[str, str],
) -> HttpAnswer | None:
    """Return the answer to an error of a path that no route serves, if a door serves others beside it."""
    door = door_of(path, doors)
    media_type = door and door.media_type and door.media_type(header)
    return door and refused_by(door, request_id, error, extra=extra, media_type=media_type)


def _of_door(reply: RouteReply) -> HttpAnswer:
    return HttpAnswer(_written(reply.value), int(reply.status), dict(reply.headers), reply.media_type)


def _rendered(reply: RouteReply) -> Rendered:
    return Rendered(int(reply.status), _written(reply.value))


def _written(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"" if value is None else orjson.dumps(value)


def _failed(error: ServiceError) -> Rendered:
    return Rendered(error.http_code, orjson.dumps({"status": status_of(error)}))
