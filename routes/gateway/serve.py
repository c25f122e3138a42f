"""Serves gateway routes from their tables: credential, count, checks, the route's own work, one error shape."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import admit, audit_of, count_stored
from actors.calls.call import Call
from actors.calls.context import prepare_context
from actors.calls.known_members import members_of
from actors.calls.request import checked, refusal_of
from actors.core import Core
from actors.errors import ServiceError
from actors.idempotency.once import Done, Execution, fingerprint_of, require_key
from actors.idempotency.records import Receipt, Rendered
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.access_log import AccessLog
from routes.http.addresses import Network, client_address
from routes.http.answers import (
    REPLAYED,
    JsonAnswer,
    credential_of,
    gateway_error,
    quota_headers,
    request_id_of,
    status_of,
)
from routes.http.background import BackgroundTasks
from routes.http.bodies import header, json_object, next_turn, received_body, whole_header
from routes.http.errors import as_service_error
from routes.http.internal_auth import InternalAuth
from routes.http.metrics import RequestMetrics


class GatewayRoutes:
    """Carries requests to the handlers of gateway routes and their answers back."""

    def __init__(
        self,
        core: Core,
        door: InternalAuth,
        metrics: RequestMetrics,
        access_log: AccessLog,
        trusted_proxies: Sequence[Network],
        max_body_bytes: int,
        work: BackgroundTasks,
    ) -> None:
        self._core = core
        self._door = door
        self._metrics = metrics
        self._access_log = access_log
        self._trusted_proxies = trusted_proxies
        self._max_body_bytes = max_body_bytes
        self._work = work

    def blueprint(self, routes: Iterable[Route]) -> Blueprint:
        """Make the routes."""
        blueprint = Blueprint("members")
        for route in routes:
            self._add(blueprint, route)
        return blueprint

    def _add(self, blueprint: Blueprint, route: Route) -> None:
        async def handler(request: Request, **params: str) -> HTTPResponse:
            return await self._serve(request, route, params)

        path = re.sub(r"{(\w+)}", r"<\1:str>", route.path)
        blueprint.add_route(handler, path, methods=[route.method], name=route.name, ignore_body=True)

    async def _serve(self, request: Request, route: Route, params: dict[str, str]) -> HTTPResponse:
        started = perf_counter()
        connection: Any = request.conn_info
        address = client_address(connection.client_ip, partial(whole_header, request), self._trusted_proxies)
        call = Call(self._core, request_id_of(request), address, service=route.name)
        code = -1
        status = 0
        try:
            done = await self._carried_out(request, route, params, call)
            await count_stored(call)
            headers = {"X-Request-Id": call.request_id} | quota_headers(call)
            if done.replayed:
                headers[REPLAYED] = "true"
            code, status, body = done.internal_code, done.rendered.status, done.rendered.body
            return JsonAnswer(body, status, headers) if body else HTTPResponse(status=status, headers=headers)
        except Exception as raised:
            error = as_service_error(raised)
            code, status = error.internal_code, error.http_code
            try:
                await count_stored(call)
            except Exception as uncounted:  # like an answer, an error goes out only if its request was counted
                error = as_service_error(uncounted)
                code, status = error.internal_code, error.http_code
            return gateway_error(request, error, quota_headers(call))
        finally:  # a client that goes away cancels this; its request is counted all the same
            seconds = perf_counter() - started
            self._metrics.observe(route.name, code, seconds)
            user = call.caller.user_name if call.caller else None
            self._access_log.write(call.request_id, route.name, status, code, seconds, user, address)

    async def _carried_out(self, request: Request, route: Route, params: dict[str, str], call: Call) -> Done:
        """Make the checks in the order of product 1, then let the route do its work."""
        if route.entrance == "internal":
            self._door.check(request)
        sent: dict[str, Any] = {}
        raw = b""
        if not route.reads_body:
            raw = await received_body(request)
            if route.body is not None:
                sent = json_object(raw or b"{}", whole_header(request, "content-type"), self._max_body_bytes)
                await next_turn(raw)
        if route.entrance == "member":
            headers: Any = request.headers
            await admit(call, credential_of(headers.get))
            if route.mutates:
                await count_stored(call)
        arguments: Any = request.get_args(keep_blank_values=True)
        asked = {name: values[0] for name, values in arguments.items()}
        received = RouteCall(
            call,
            params,
            route.body and checked(route.body, sent),
            route.query and _asked(route.query, asked),
            request,
        )
        await next_turn(raw)
        call.target_names = params
        run = partial(route.run, received)
        audit = audit_of(call) if route.mutates else None
        key = header(request, "idempotency-key") if route.method == "POST" and route.mutates else None
        if not route.mutates:
            return await _done(run())
        if route.reads_body:
            await received_body(request)  # here, where a client that goes away ends it
        if key is None or call.caller is None:
            if audit is None:
                return await self._work.shielded(_done(run()))
            return await self._work.shielded(_done(self._core.idempotency.audited(audit, partial(_run, call, run))))
        prepare = partial(prepare_context, call)
        execution = Execution(
            partial(_run, call, run), prepare, _rendered, _failed, partial(_rendered, RouteReply(route.redacted))
        )
        body = await received_body(request) if route.reads_body else sent
        fingerprint = fingerprint_of(f"{route.name} {orjson.dumps(params).decode()}", body)
        await next_turn(raw)
        user, idempotency = call.user, self._core.idempotency
        keyed = idempotency.key(user.credential_id, user.user_id, require_key(key), fingerprint)
        return await self._work.shielded(idempotency.once(keyed, audit, execution))


async def _run(
    call: Call, run: Callable[[], Awaitable[RouteReply]], receipt: Receipt, resumes: str | None = None
) -> RouteReply:
    call.receipt, call.resumes = receipt, resumes
    return await run()


async def _done(running: Awaitable[RouteReply]) -> Done:
    return Done(_rendered(await running))


def _rendered(reply: RouteReply) -> Rendered:
    return Rendered(int(reply.status), b"" if reply.value is None else orjson.dumps(reply.value))


def _failed(error: ServiceError) -> Rendered:
    return Rendered(error.http_code, orjson.dumps({"status": status_of(error)}))


def _asked(model: type[BaseModel], values: dict[str, str]) -> BaseModel:
    """Check a query.

    Raises:
        InvalidField: the note names each wrong or unknown parameter, at most ten.
    """
    if model.model_config.get("extra") == "forbid":
        members_of(model).require_known(values)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal_of(error) from None
