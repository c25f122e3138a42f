"""The command bus and its aliases, which receive every command (docs/contract.md, "Order of checks")."""

from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import admit, authenticate, count_stored, deferred_until
from actors.calls.call import Answer, Call, Elsewhere
from actors.calls.context import context, context_now
from actors.calls.known_members import nearest_name
from actors.calls.request import parse, require
from actors.commands.command import Command
from actors.commands.table import COMMANDS, UNROUTED
from actors.conversations.ids import run_of
from actors.errors import InvalidField, MissingField, NotAvailable, ServiceError, UnknownService
from actors.idempotency.once import fingerprint_of
from actors.idempotency.records import Rendered
from actors.ids import system_clock
from actors.slices import sliced
from routes.bus.chat_events import stream_chat
from routes.bus.request import BusRequest
from routes.bus.zone_stream import follow_zone
from routes.http.access_log import RequestLine
from routes.http.answers import (
    OK_STATUS,
    REPLAYED,
    RUN_ID,
    HttpAnswer,
    JsonAnswer,
    bus_error,
    credential_of,
    quota_headers,
    request_id,
    request_id_of,
    tps_body,
)
from routes.http.bodies import json_object, next_turn, received_body
from routes.http.exchange import Exchange, Writing
from routes.http.internal_auth import InternalAuth
from routes.http.pieces import FEW_RECORDS, send_pieces, tps_pieces
from routes.http.server_sent_events import ZONE_POSITION, is_taken_up_again

if TYPE_CHECKING:
    from routes.bus.passing_on import BusPassage


class CommandBus:
    """Runs the commands of requests and writes their answers."""

    def __init__(self, exchange: Exchange, internal_auth: InternalAuth) -> None:
        self._exchange = exchange
        self._internal_auth = internal_auth
        self.passage: BusPassage | None = None
        """Passes requests on to other nodes; None if there is only this one."""
        self._request_lines: dict[str, Command | None] = {}

    def blueprint(self, brand: str) -> Blueprint:
        """Return the routes: the bus itself and one alias per command."""
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

        # Without an error format Sanic parses the source of each handler.
        blueprint.add_route(alias, command.alias, ["POST"], name=command.service, ignore_body=True, error_format="json")

    def begin(
        self, request_line: str, headers: dict[str, str], body: bytes, peer: str
    ) -> Coroutine[Any, Any, HttpAnswer | None] | None:
        """Prepare a request that Sanic did not receive; return None if only Sanic can answer it."""
        if request_line not in self._request_lines:
            return None
        started = perf_counter()
        address = self._exchange.address(peer, headers.get)
        request = BusRequest(headers.get, request_id(headers.get("x-request-id")), address, body, goes_on=True)
        if request.wants_events:
            return None
        command = self._request_lines[request_line]
        if command is None:
            try:
                command = self._command_in(request)
            except ServiceError:
                pass  # `_served` meets it again and answers it
            else:
                if command.follow is not None:
                    return None
        return self.serve_deferred(request, command, started)

    def log_refused(self, request_id: str, status: int, code: int, seconds: float, address: str) -> None:
        """Count and log a request with a refused head."""
        line = RequestLine(system_clock(), request_id, "", status, code, seconds, None, address)
        self._exchange.observe(line, seconds)

    async def _respond(self, request: Request, command: Command | None) -> HTTPResponse | None:
        header, address = self._exchange.header_of(request), self._exchange.address_of(request)
        answer = await self.serve(BusRequest(header, request_id_of(request), address, sanic=request), command)
        if answer is not None and answer.rest:
            await send_pieces(request, JsonAnswer(b"", answer.status, answer.headers), (answer.body, *answer.rest))
            return None
        return answer and answer.response()

    async def serve(self, request: BusRequest, command: Command | None) -> HttpAnswer | None:
        """Serve one request; return None if the answer was streamed. `command` is set for an alias."""
        answer = await self.serve_deferred(request, command, perf_counter())
        if answer is None or answer.deferred is None:
            return answer
        with suppress(Exception):  # `released` reads its outcome
            await answer.deferred
        return answer.released()

    def serve_deferred(
        self, request: BusRequest, command: Command | None, started: float
    ) -> Coroutine[Any, Any, HttpAnswer | None]:
        """Serve one request like `serve`, but return an answer that may be deferred; see `HttpAnswer.deferred`."""
        call = Call(self._exchange.core, request.request_id, request.address, command.service if command else "")
        return self._exchange.run(call, started, self._served(request, call, command), _refused)

    async def _served(self, request: BusRequest, call: Call, command: Command | None) -> tuple[int, HttpAnswer | None]:
        """Check a request and run its command; return the internal code and the answer, None if streamed."""
        sanic = request.sanic
        if sanic is not None:
            request.body = await received_body(sanic)
        body = request.parsed
        if body is None:
            command = self._command_in(request, command)
            body = request.parsed
        assert command is not None
        assert body is not None
        call.service = call.counts_as = command.service
        call.mutates = command.only_changes
        await next_turn(request.body)
        answered, home, passage = self._answered, None, self.passage
        if passage is not None and not request.forwarded:
            home = await passage.home_of(request, command)
            answered = partial(passage.answered, self._answered, home)
        if home is None:
            try:
                await self._check(request, call, command, body)
            except Elsewhere as gone:
                if passage is None or request.forwarded:
                    raise
                answered = partial(passage.answered, self._answered, gone.key)
        if sanic is not None and command.follow is not None:
            call.last_event_id = request.header("last-event-id")
            return await follow_zone(sanic, call, command.follow), None
        if sanic is not None and command.streams and request.wants_events:
            opening = request.opening = {}
            answering = partial(answered, request, call, command, body)
            code, answer = await stream_chat(sanic, call, answering, self._exchange.work, opening)
        elif command.mutates and not request.goes_on:
            code, answer = await self._exchange.work.shielded(answered(request, call, command, body))
        else:
            code, answer = await answered(request, call, command, body)
        if answer is not None:
            answer.deferred = deferred_until(call)
        return code, answer

    def _command_in(self, request: BusRequest, command: Command | None = None) -> Command:
        """Parse the body and return its command; an alias names the command already.

        Raises:
            BodyTooLarge, WrongMediaType, MalformedBody: the body is not a JSON object that the gateway takes.
            MissingField, InvalidField, UnknownService: the body names no command.
        """
        body = json_object(request.body, request.header("content-type"), self._exchange.max_body_bytes)
        command = command or _command_of(body)
        request.parsed = body
        return command

    async def _check(self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]) -> None:
        """Run the checks before the command, in the order of the contract."""
        if command.public:
            call.by_secret = self._internal_auth.holds(request.header)
        else:
            if request.admission is not None:
                await request.admission(call)
            elif command.follow is None:
                await admit(call, credential_of(request.header))
            elif is_taken_up_again(request.header("last-event-id"), ZONE_POSITION):
                await authenticate(call, credential_of(request.header))
            else:  # a stream runs where its connection is, which need not be the user's home
                await self._exchange.admit(call, credential_of(request.header))
            if command.mutates:  # before the command, because a request that can't be counted must change nothing
                await count_stored(call)
        call.says(parse(body, request.members))
        require(call.request, command.requires)
        if not command.available:
            raise NotAvailable(f"The service {command.service} exists but is not available; see /docs.")
        if request.open_channels is not None:
            request.open_channels(call)

    def _answered(
        self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]
    ) -> Coroutine[Any, Any, tuple[int, HttpAnswer]]:
        """Run the command as `_carried_out` does; a streamed answer ends with its credential."""
        running = self._carried_out(request, call, command, body)
        return running if call.progress is None else self._exchange.heard(call, running)

    async def _carried_out(
        self, request: BusRequest, call: Call, command: Command, body: dict[str, Any]
    ) -> tuple[int, HttpAnswer]:
        """Run the command, once if it has an Idempotency-Key; return the internal code and the answer.

        Raises:
            Exception: the command was refused, and no record for a key keeps the refusal.
        """
        headers = quota_headers(call)
        headers["X-Request-Id"] = call.request_id
        if not command.mutates or call.caller is None:
            return 0, await _written(call, await command.run(call), headers)
        key = request.header("idempotency-key")
        if key is None:
            answer = await self._exchange.carry_out(call, command.run, call)
            if call.run is not None:
                headers[RUN_ID] = call.run
            return 0, await _written(call, answer, headers)
        await next_turn(request.body)
        fingerprint = fingerprint_of(call.service, body)

        def refusal(error: ServiceError) -> Rendered:
            call.run = error.run
            return _rendered(bus_error(call.request_id, call.service, error, context_now(call)))

        writing: Writing[Answer] = Writing(
            answer=lambda answer: Rendered(200, _body_now(call, answer)),
            refusal=refusal,
            redacted=lambda: Rendered(200, _body_now(call, Answer())),
        )
        done = await self._exchange.carry_out_once(call, command.run, call, key, fingerprint, writing)
        if done.replayed:
            headers[REPLAYED] = "true"
        run = _run_in(done.rendered.body) if done.replayed and command.streams else call.run
        if run is not None:
            headers[RUN_ID] = run
        return done.internal_code, HttpAnswer(done.rendered.body, done.rendered.status, headers)


async def _refused(call: Call, error: ServiceError) -> HttpAnswer:
    answer = bus_error(call.request_id, call.service or None, error, await context(call), quota_headers(call))
    answer.deferred = deferred_until(call)
    return answer


async def _written(call: Call, answer: Answer, headers: dict[str, str]) -> HttpAnswer:
    """Write an answer; with many records, in slices and pieces."""
    names, profile, content = await context(call), answer.profile, answer.content
    if len(profile) + len(content) <= FEW_RECORDS:
        return HttpAnswer(_body_of(call, answer, names), 200, headers)
    writing = tps_pieces(call.service, call.request_id, names, OK_STATUS, profile, content, answer.next)
    body, *rest = await sliced(writing)
    return HttpAnswer(body, 200, headers, rest=rest)


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
    """Write an answer within this step of the loop, with the names known by now."""
    return _body_of(call, answer, context_now(call))


def _run_in(body: bytes) -> str | None:
    """Return the run of a kept answer, if it is that of a private chat that was answered."""
    for message in orjson.loads(body).get("content", ())[:1]:
        if message.get("conversation") is not None:  # kept by an earlier version, it has no such member
            return run_of(message["id"])
    return None


def _rendered(answer: HttpAnswer) -> Rendered:
    return Rendered(answer.status, answer.body)


def _command_of(body: dict[str, Any]) -> Command:
    """Return the command that a bus request names.

    Raises:
        MissingField: the request names no command.
        InvalidField: `service` is no text.
        UnknownService: no command has this name.
    """
    service = body.get("service")
    if service is None or (isinstance(service, str) and not service.strip()):
        raise MissingField("missing service field: name the command as `service`.")
    if not isinstance(service, str):
        raise InvalidField("Invalid value of service: it must be a text.")
    command = COMMANDS.get(service) or UNROUTED.get(service)
    if command is None:
        nearest = nearest_name(service, COMMANDS)
        hint = f"; the nearest is {nearest}" if nearest else ""
        raise UnknownService(f"There is no such service (names are case-sensitive){hint}. See /docs for all of them.")
    return command
