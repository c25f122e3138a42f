"""The command bus and its aliases: every command comes through here (spec 4.1, 4.2; order of checks, product 1)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from time import perf_counter
from typing import Any

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import admit, audit_of, count_stored, deferred_until
from actors.calls.call import Answer, Call
from actors.calls.context import context, context_now, prepare_context
from actors.calls.known_members import MAX_COMPARED, Members
from actors.calls.request import MEMBERS, parse, require
from actors.commands.command import Command, Follow
from actors.commands.table import COMMANDS, UNROUTED
from actors.core import Core
from actors.errors import (
    InvalidField,
    MissingField,
    NotAvailable,
    UnknownService,
)
from actors.idempotency.once import Execution, fingerprint_of, require_key
from actors.idempotency.records import Receipt, Rendered
from actors.slices import sliced
from routes.bus.zone_stream import send_stream
from routes.http.access_log import AccessLog
from routes.http.addresses import Network, client_address
from routes.http.answers import (
    OK_STATUS,
    REPLAYED,
    BusAnswer,
    JsonAnswer,
    bus_error,
    credential_of,
    quota_headers,
    request_id,
    request_id_of,
    status_of,
    tps_body,
)
from routes.http.background import BackgroundTasks
from routes.http.bodies import json_object, next_turn, received_body, whole_header
from routes.http.errors import as_service_error
from routes.http.metrics import RequestMetrics
from routes.http.pieces import FEW_RECORDS, send_pieces, tps_pieces

EVENT_STREAM = "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Those of event streams: nobody keeps them, and nginx passes each event on at once."""
CUT_OFF = -1
"""What is counted and logged as the internal code where the client went away before its answer."""

log = logging.getLogger("parley.bus")


@dataclass(slots=True)
class BusRequest:
    """A request to the command bus, whether Sanic or the fast path received it."""

    header: Callable[[str], str | None]
    """Returns a header's value; the name in lower case."""
    request_id: str
    address: str
    body: bytes = b""
    members: Members = MEMBERS
    """The members that its body may have."""
    sanic: Request | None = None
    """Where Sanic received it: its body is still to come, and its answer can be streamed."""
    goes_on: bool = False
    """Whether it goes on by itself where the client goes away; else that cancels it."""

    @property
    def wants_events(self) -> bool:
        """Whether it asks for an answer as server-sent events."""
        return EVENT_STREAM in (self.header("accept") or "")


class CommandBus:
    """Carries requests to the flows of their commands and their answers back."""

    def __init__(
        self,
        core: Core,
        metrics: RequestMetrics,
        access_log: AccessLog,
        trusted_proxies: Sequence[Network],
        max_body_bytes: int,
        work: BackgroundTasks,
    ) -> None:
        self._core = core
        self._metrics = metrics
        self._access_log = access_log
        self._trusted_proxies = trusted_proxies
        self._max_body_bytes = max_body_bytes
        self._work = work
        self._request_lines: dict[str, Command | None] = {}

    def blueprint(self, brand: str) -> Blueprint:
        """Make the routes: the bus itself, and one alias per command."""
        prefix = f"/demo/v1/{brand}/tps"
        blueprint = Blueprint("bus", url_prefix=prefix)

        async def bus(request: Request) -> HTTPResponse | None:
            return await self._respond(request, None)

        blueprint.add_route(bus, "/", methods=["POST"], name="bus", strict_slashes=False, ignore_body=True)
        self._request_lines[f"POST {prefix} HTTP/1.1"] = None
        for command in COMMANDS.values():
            self._add_alias(blueprint, command)
            if command.follow is None:
                self._request_lines[f"POST {prefix}{command.alias} HTTP/1.1"] = command
        return blueprint

    def _add_alias(self, blueprint: Blueprint, command: Command) -> None:
        async def alias(request: Request) -> HTTPResponse | None:
            return await self._respond(request, command)

        blueprint.add_route(alias, command.alias, methods=["POST"], name=command.service, ignore_body=True)

    def begin(
        self, request_line: str, headers: dict[str, str], body: bytes, peer: str
    ) -> Coroutine[Any, Any, BusAnswer | None] | None:
        """Make ready to serve a request that Sanic didn't receive; None where only Sanic can answer it."""
        if request_line not in self._request_lines or b"ZN_Stream" in body:
            return None
        address = client_address(peer, headers.get, self._trusted_proxies)
        request = BusRequest(headers.get, request_id(headers.get("x-request-id")), address, body, goes_on=True)
        return None if request.wants_events else self.serve_held(request, self._request_lines[request_line])

    def refused(self, request_id: str, status: int, code: int, seconds: float, address: str) -> None:
        """Count and log a request whose head was refused."""
        self._metrics.observe("unknown", code, seconds)
        self._access_log.write(request_id, "-", status, code, seconds, None, address)

    async def _respond(self, request: Request, command: Command | None) -> HTTPResponse | None:
        connection: Any = request.conn_info
        address = client_address(connection.client_ip, partial(whole_header, request), self._trusted_proxies)
        headers: Any = request.headers
        answer = await self.serve(BusRequest(headers.get, request_id_of(request), address, sanic=request), command)
        if answer is not None and answer.rest:
            await send_pieces(request, JsonAnswer(b"", answer.status, answer.headers), (answer.body, *answer.rest))
            return None
        return answer and answer.response()

    async def serve(self, request: BusRequest, command: Command | None) -> BusAnswer | None:
        """Carry out one request; `command` is what an alias fixes. None when the answer was streamed."""
        answer = await self.serve_held(request, command)
        if answer is None or answer.held is None:
            return answer
        with suppress(Exception):  # what it was resolved with is told by the answer
            await answer.held
        return answer.released()

    async def serve_held(self, request: BusRequest, command: Command | None) -> BusAnswer | None:
        """Carry out one request like `serve`, but return the answer before it may be sent; see `BusAnswer.held`."""
        started = perf_counter()
        call = Call(self._core, request.request_id, request.address)
        service = command.service if command else None
        response: BusAnswer | None = None
        code = CUT_OFF
        try:
            if request.sanic is not None:
                request.body = await received_body(request.sanic)
            body = json_object(request.body, request.header("content-type"), self._max_body_bytes)
            await next_turn(request.body)
            command = command or _command_of(body)
            service = call.service = command.service
            await self._check(request, call, command, body)
            if command.streams and request.sanic is not None and request.wants_events:
                code, response = await self._stream(request, call, command, body)
            elif command.follow and request.sanic is not None:
                call.last_event_id = request.header("last-event-id")
                code = await self._follow(request.sanic, call, command.follow)
            else:
                answering = self._answered(request, call, command, body)
                shield = command.mutates and not request.goes_on
                code, response = await (self._work.shielded(answering) if shield else answering)
        except Exception as raised:
            error = as_service_error(raised)
            code = error.internal_code
            response = bus_error(call.request_id, service, error, await context(call), quota_headers(call))
        finally:  # a client that goes away cancels this; its request is counted all the same
            seconds = perf_counter() - started
            self._metrics.observe(service or "unknown", code, seconds)
            user = call.caller.user_name if call.caller else None
            status = response.status if response else 200
            self._access_log.write(call.request_id, service or "-", status, code, seconds, user, call.address)
        if response is not None:
            response.held = deferred_until(call)
        return response

    async def _check(self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]) -> None:
        """Make the checks that come before the core, in the order of product 1."""
        if not command.public:
            await admit(call, credential_of(request.header))
            if command.mutates:
                await count_stored(call)  # first, or what could not be counted would be done all the same
        call.says(parse(body, request.members))
        require(call.request, command.requires)
        if not command.available:
            raise NotAvailable(f"The service {command.service} exists but is not available; see /docs.")

    async def _answered(
        self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]
    ) -> tuple[int, BusAnswer]:
        """Carry the command out, once if it has an Idempotency-Key; also the internal code.

        Raises:
            Exception: a refusal, unless it is one that is kept for a key.
        """
        headers = quota_headers(call)
        headers["X-Request-Id"] = call.request_id
        if not command.mutates or call.caller is None:
            return 0, await self._written(call, await command.run(call), headers)
        audit = audit_of(call)
        key = request.header("idempotency-key")
        if key is None:
            if audit is None:
                return 0, await self._written(call, await command.run(call), headers)
            answer = await self._core.idempotency.audited(audit, partial(_run, call, command))
            return 0, await self._written(call, answer, headers)
        execution = Execution(
            run=partial(_run, call, command),
            prepare=partial(prepare_context, call),
            render=lambda answer: Rendered(200, _body_now(call, answer)),
            failed=lambda error: _rendered(bus_error(call.request_id, call.service, error, context_now(call))),
            redacted=lambda: Rendered(200, _body_now(call, Answer())),
        )
        await next_turn(request.body)
        fingerprint = fingerprint_of(call.service, body)
        user, idempotency = call.user, self._core.idempotency
        keyed = idempotency.key(user.credential_id, user.user_id, require_key(key), fingerprint)
        done = await idempotency.once(keyed, audit, execution)
        if done.replayed:
            headers[REPLAYED] = "true"
        return done.internal_code, BusAnswer(done.rendered.body, done.rendered.status, headers)

    async def _written(self, call: Call, answer: Answer, headers: dict[str, str]) -> BusAnswer:
        """Write an answer; one of many records in slices and pieces."""
        names, profile, content = await context(call), answer.profile, answer.content
        if len(profile) + len(content) <= FEW_RECORDS:
            return BusAnswer(_body_of(call, answer, names), 200, headers)
        writing = tps_pieces(call.service, call.request_id, names, OK_STATUS, profile, content, answer.next)
        body, *rest = await sliced(writing)
        return BusAnswer(body, 200, headers, rest=rest)

    async def _stream(
        self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]
    ) -> tuple[int, BusAnswer | None]:
        """Answer as server-sent events: `delta` pieces, then the whole `response`, or an `error` after a piece.

        The command runs in a task of its own, so that a client which goes away doesn't cancel it. Returns the internal
        code that the stream ended with; a refusal that was kept for a key is answered whole.

        Raises:
            Exception: the command failed before its first piece.
        """
        events: asyncio.Queue[bytes | None] = asyncio.Queue()
        failed: Exception | None = None

        def progress(piece: str) -> None:
            events.put_nowait(_event("delta", orjson.dumps({"text": piece})))

        whole: BusAnswer | None = None
        code = 0
        headers: dict[str, str] = {}

        async def run() -> None:
            nonlocal failed, whole, code
            try:
                code, answer = await self._answered(request, call, command, body)
                if REPLAYED in answer.headers:
                    headers[REPLAYED] = "true"
                    for said in orjson.loads(answer.body)["content"][1:]:  # the reply, as one piece
                        progress(said["content"])
                if code == 0:
                    events.put_nowait(_event("response", answer.body))
                else:
                    whole = answer
            except Exception as raised:
                failed = raised
            finally:
                events.put_nowait(None)

        call.stream_to(progress)
        work = self._work.begin(run())
        try:
            event = await events.get()
            if event is None:
                if failed is not None:
                    raise failed
                return code, whole
            assert request.sanic is not None
            response = await _respond_with_events(request.sanic, call, headers)
            while event is not None:
                await response.send(event)
                event = await events.get()
            if failed is not None:
                error = as_service_error(failed)
                code = error.internal_code
                await response.send(_event("error", orjson.dumps(status_of(error))))
            elif whole is not None:
                await response.send(_event("error", orjson.dumps(orjson.loads(whole.body)["status"])))
            await response.eof()
            return code, None
        finally:  # a reader that went away leaves it to itself
            self._work.leave(work)

    async def _follow(self, request: Request, call: Call, follow: Follow) -> int:
        """Answer as server-sent events until the reader goes away or the stream ends.

        Raises:
            Exception: the command failed before it began.
        """
        stream = await follow(call)
        try:
            await send_stream(request, await _respond_with_events(request, call), stream)
        finally:
            stream.reader.close()
        return 0


async def _respond_with_events(request: Request, call: Call, more: dict[str, str] | None = None) -> Any:
    await count_stored(call)
    untyped: Any = request
    headers = {"X-Request-Id": call.request_id} | STREAM_HEADERS | quota_headers(call) | (more or {})
    return await untyped.respond(content_type=EVENT_STREAM, headers=headers)


async def _run(call: Call, command: Command, receipt: Receipt, resumes: str | None = None) -> Answer:
    call.receipt, call.resumes = receipt, resumes
    return await command.run(call)


def _body_of(call: Call, answer: Answer, names: dict[str, str | None]) -> bytes:
    return tps_body(
        call.service,
        call.request_id,
        names,
        profile=answer.profile,
        content=answer.content,
        next_cursor=answer.next,
    )


def _body_now(call: Call, answer: Answer) -> bytes:
    """Write an answer within this step, with the names that are known by now."""
    return _body_of(call, answer, context_now(call))


def _rendered(answer: BusAnswer) -> Rendered:
    return Rendered(answer.status, answer.body)


def _command_of(body: dict[str, Any]) -> Command:
    """Find the command that a bus request names.

    Raises:
        MissingField: it names none.
        InvalidField: `service` is no text.
        UnknownService: there is none of that name.
    """
    service = body.get("service")
    if service is None or (isinstance(service, str) and not service.strip()):
        raise MissingField("missing service field: name the command as `service`.")
    if not isinstance(service, str):
        raise InvalidField("Invalid value of service: it must be a text.")
    command = COMMANDS.get(service) or UNROUTED.get(service)
    if command is None:
        nearest = get_close_matches(service[:MAX_COMPARED], COMMANDS, 1)
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        raise UnknownService(f"There is no such service (names are case-sensitive){hint}. See /docs for all of them.")
    return command


def _event(name: str, data: bytes) -> bytes:
    """Write one server-sent event (WHATWG HTML, 9.2); JSON has no line breaks."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
