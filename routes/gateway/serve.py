"""Serves gateway routes from their tables: credential, quota, checks, handler, one shape of errors."""

import re
from collections.abc import Iterable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel, ValidationError
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import admit, count_stored
from actors.calls.call import Call
from actors.calls.known_members import members_of
from actors.calls.request import checked, refusal_of
from actors.errors import ServiceError
from actors.idempotency.once import Done, fingerprint_of
from actors.idempotency.records import Rendered
from routes.gateway.route import Arrival, Route, RouteCall, RouteReply
from routes.http.answers import REPLAYED, credential_of, error_answer, gateway_answer, quota_headers, status_of
from routes.http.bodies import json_object, next_turn, received_body, whole_header
from routes.http.exchange import Exchange, Received, Writing
from routes.http.internal_auth import InternalAuth

if TYPE_CHECKING:
    from routes.gateway.passing_on import GatewayPassage


class GatewayRoutes:
    """Runs the handlers of gateway routes and writes their answers."""

    def __init__(self, exchange: Exchange, internal_auth: InternalAuth) -> None:
        self._exchange = exchange
        self._internal_auth = internal_auth
        self.passage: GatewayPassage | None = None
        """Passes requests on to other nodes; None if there is only this one."""

    def blueprint(self, routes: Iterable[Route]) -> Blueprint:
        """Return the Sanic routes of these rows."""
        blueprint = Blueprint("members")
        for route in routes:
            self._add(blueprint, route)
        return blueprint

    def _add(self, blueprint: Blueprint, route: Route) -> None:
        async def handler(request: Request, **params: str) -> HTTPResponse:
            return await self.serve(_arrived(request), route, params, self._exchange.call_of(request, route.name))

        path = re.sub(r"{(\w+)}", r"<\1:str>", route.path)
        blueprint.add_route(handler, path, methods=[route.method], name=route.name, ignore_body=True)

    async def serve(self, arrival: Arrival, route: Route, params: dict[str, str], call: Call) -> HTTPResponse:
        """Serve one request.

        Raises:
            Elsewhere: it came from another node, and moves on.
        """
        started = perf_counter()
        answer = await self._exchange.run(call, started, self._served(arrival, route, params, call), _refused)
        assert answer is not None  # only a stream has no answer
        return answer

    async def _served(
        self, arrival: Arrival, route: Route, params: dict[str, str], call: Call
    ) -> tuple[int, HTTPResponse]:
        here = self._served_here(arrival, route, params, call)
        if self.passage is None or arrival.forwarded:
            return await here
        return await self.passage.served(here, arrival, route, params, call)

    async def _served_here(
        self, arrival: Arrival, route: Route, params: dict[str, str], call: Call
    ) -> tuple[int, HTTPResponse]:
        try:
            done = await self._carried_out(arrival, route, params, call)
        except Exception:
            await count_stored(call)  # as for answers, an error is sent only once its request is counted
            raise
        await count_stored(call)
        headers = {"X-Request-Id": call.request_id} | quota_headers(call)
        if done.replayed:
            headers[REPLAYED] = "true"
        return done.internal_code, gateway_answer(done.rendered.status, done.rendered.body, headers)

    async def _carried_out(self, arrival: Arrival, route: Route, params: dict[str, str], call: Call) -> Done:
        """Run the checks in the order of the contract, then the handler."""
        if route.entrance == "internal":
            self._internal_auth.check(arrival.header)
        sent: dict[str, Any] = {}
        body = b""
        if not route.reads_body:
            body = await arrival.receive()
            if route.body is not None:
                media_type = arrival.whole_header("content-type")
                sent = json_object(body or b"{}", media_type, self._exchange.max_body_bytes)
                await next_turn(body)
        if self.passage is not None and not arrival.forwarded:
            await self.passage.require_home(arrival, route, call)
        if route.entrance == "member":
            if arrival.admission is not None:
                await arrival.admission(call)
            else:
                await admit(call, credential_of(arrival.header))
            if route.mutates:
                await count_stored(call)
        if route.reads_body:
            body = await arrival.receive()  # here, where a disconnect of the client ends it
        args = arrival.args()
        received = RouteCall(
            call,
            params,
            route.body and checked(route.body, sent),
            route.query and _asked(route.query, args),
            Received(arrival.whole_header, args, body),
        )
        await next_turn(body)
        call.target_names = params
        if not route.mutates:
            return Done(_rendered(await route.run(received)))
        exchange = self._exchange
        key = arrival.header("idempotency-key") if route.method == "POST" else None
        if key is None or call.caller is None:
            reply = await exchange.work.shielded(exchange.carry_out(call, route.run, received))
            return Done(_rendered(reply))
        fingerprint = fingerprint_of(
            f"{route.name} {orjson.dumps(params).decode()}", body if route.reads_body else sent
        )
        await next_turn(body)
        writing = Writing(_rendered, _failed, partial(_rendered, RouteReply(route.redacted)))
        once = exchange.carry_out_once(call, route.run, received, key, fingerprint, writing)
        return await exchange.work.shielded(once)


def _arrived(request: Request) -> Arrival:
    headers: Any = request.headers

    def args() -> dict[str, str]:
        arguments: Any = request.get_args(keep_blank_values=True)
        return {name: values[0] for name, values in arguments.items()}

    return Arrival(headers.get, partial(whole_header, request), args, partial(received_body, request))


async def _refused(call: Call, error: ServiceError) -> HTTPResponse:
    return error_answer(call.request_id, error, quota_headers(call))


def _rendered(reply: RouteReply) -> Rendered:
    return Rendered(int(reply.status), b"" if reply.value is None else orjson.dumps(reply.value))


def _failed(error: ServiceError) -> Rendered:
    return Rendered(error.http_code, orjson.dumps({"status": status_of(error)}))


def _asked(model: type[BaseModel], values: dict[str, str]) -> BaseModel:
    """Validate query parameters.

    Raises:
        InvalidField: the note names up to ten wrong or unknown parameters.
    """
    if model.model_config.get("extra") == "forbid":
        members_of(model).require_known(values)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal_of(error) from None
