"""POST, GET and DELETE /console/session: the console's session, whose token the browser keeps in a cookie."""

from collections.abc import Callable, Coroutine
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import Field
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import authenticate
from actors.calls.call import Call
from actors.calls.request import Body, RequiredReference, RequiredSecret, checked
from actors.commands import sessions
from actors.commands.table import COMMANDS
from actors.errors import NotPermitted, ServiceError, WrongMediaType
from actors.sessions.messages import Caller, role_of
from actors.wire import iso
from routes.bus.bus import CommandBus
from routes.bus.request import BusRequest
from routes.http.answers import JSON, NOT_STORED, JsonAnswer, credential_of, error_answer
from routes.http.bodies import drop_body, header, json_object, received_body
from routes.http.console_cookie import clear_cookie, csrf_of, set_cookie
from routes.http.exchange import Exchange

PATH = "/console/session"
_OWN_SITE = ("same-origin", "none")
"""The values of Sec-Fetch-Site for requests of the console's page, or of the user alone (Fetch Metadata, 2.1)."""

Served = tuple[int, HTTPResponse]
Serving = Callable[[Request, Call], Coroutine[Any, Any, Served]]


class LogOn(Body):
    """Body of a log-on."""

    name: RequiredReference = Field(description="The user's name.")
    password: RequiredSecret = Field(description="The user's password.")


class ConsoleSession:
    """Opens, reads and ends the session of the console's page.

    Args:
        exchange: the frame of every request.
        bus: carries out US_LogOn, with its throttles and on whichever node they are counted.
        version: of the gateway.
        bus_path: the path of the command bus.
    """

    def __init__(self, exchange: Exchange, bus: CommandBus, version: str, bus_path: str) -> None:
        self._exchange = exchange
        self._core = exchange.core
        self._bus = bus
        self._about = {"version": version, "bus": bus_path}

    def blueprint(self) -> Blueprint:
        """Return the routes."""
        blueprint = Blueprint("console-session")
        routes: tuple[tuple[str, str, Serving], ...] = (
            ("POST", "openConsoleSession", self._opened),
            ("GET", "readConsoleSession", self._read),
            ("DELETE", "endConsoleSession", self._ended),
        )
        for method, name, serve in routes:
            handler = partial(self._answer, serve, name)
            blueprint.add_route(handler, PATH, methods=[method], name=name, ignore_body=True)
        return blueprint

    async def _answer(self, serve: Serving, name: str, request: Request) -> HTTPResponse | None:
        call = self._exchange.call_of(request, name)
        return await self._exchange.run(call, perf_counter(), serve(request, call), _refused)

    async def _opened(self, request: Request, call: Call) -> Served:
        body = await received_body(request)
        _require_json(header(request, "content-type"))
        _require_own_page(request, self._exchange.base_url_of(request))
        log_on = checked(LogOn, json_object(body, JSON, self._exchange.max_body_bytes))
        target, vx = {"user": log_on.name}, {"secret": log_on.password}
        sent = BusRequest(
            lambda _: None,
            call.request_id,
            call.address,
            orjson.dumps({"service": "US_LogOn", "target": target, "vx": vx}),
        )
        answer = await self._bus.serve(sent, COMMANDS["US_LogOn"])
        assert answer is not None  # only streams have none
        call.elsewhere = True  # the bus has logged it
        answered = orjson.loads(answer.body)
        status = answered["status"]
        headers = answer.headers | NOT_STORED
        if not status["success"]:
            refused = JsonAnswer(orjson.dumps({"status": status}), status["http_code"], headers)
            return status["internal_code"], refused
        token: str = answered["content"][0]["token"]
        cookie = set_cookie(token, secure=self._exchange.is_https(request))
        record = orjson.dumps(await self._record(token, call))
        return 0, JsonAnswer(record, 200, headers | {"Set-Cookie": cookie})

    async def _read(self, request: Request, call: Call) -> Served:
        await drop_body(request)
        token = credential_of(self._exchange.header_of(request))
        return 0, JsonAnswer(orjson.dumps(await self._record(token, call)), 200, _headers(call))

    async def _ended(self, request: Request, call: Call) -> Served:
        await drop_body(request)
        await authenticate(call, credential_of(self._exchange.header_of(request)))
        await self._exchange.work.shielded(sessions.end_own(call))
        cookie = clear_cookie(secure=self._exchange.is_https(request))
        return 0, HTTPResponse(status=204, headers=_headers(call) | {"Set-Cookie": cookie})

    async def _record(self, token: str | None, call: Call) -> dict[str, Any]:
        """Return what the page knows of its session; doesn't count as a use of it.

        Raises:
            NoCredential, InvalidCredential, NotPermitted, UserSuspended: there is no such session.
        """
        session = await self._core.credentials.read_session(token)
        call.sent_by(Caller(session.id, session.user_id, session.user_name))
        return {
            "user": session.user_name,
            "role": role_of(session.user_name, session.role, self._core.operators),
            "csrf": csrf_of(token or ""),
            "expires_at": iso(session.last_used_at + self._core.session_ttl_ms),
        } | self._about


async def _refused(call: Call, error: ServiceError) -> HTTPResponse:
    return error_answer(call.request_id, error, NOT_STORED).response()


def _headers(call: Call) -> dict[str, str]:
    return {"X-Request-Id": call.request_id} | NOT_STORED


def _require_json(media_type: str | None) -> None:
    """Refuse what a page of another site can send without being asked: a form, or text of no type (Fetch, 2.2.2).

    Raises:
        WrongMediaType: the body is not declared as JSON.
    """
    if media_type is None or media_type.partition(";")[0].strip().lower() != JSON:
        raise WrongMediaType("Send the log-on as application/json.")


def _require_own_page(request: Request, base_url: str) -> None:
    """Refuse a log-on by another site's page, which could have a user work in a session of somebody else.

    Raises:
        NotPermitted: the browser tells that it is one.
    """
    site, origin = header(request, "sec-fetch-site"), header(request, "origin")
    if site is not None:
        is_own = site in _OWN_SITE
    elif origin is not None:
        hosts = {(header(request, "host") or "").lower(), _host_of(base_url)} - {""}  # RFC 9110, 7.2: Host may be empty
        is_own = _host_of(origin) in hosts
    else:
        is_own = True
    if not is_own:
        raise NotPermitted("Log on to the console from its own page; programs use US_LogOn.")


def _host_of(url: str) -> str:
    """Return the host and port of a URL, in lower case; empty if it has none or is malformed."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
