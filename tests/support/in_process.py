"""Commands in this process: the command bus over a core without HTTP, with a client like a gateway's."""

import asyncio
import json as json_
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
from multidict import CIMultiDict

from actors.calls.admission import admit, count_stored
from actors.calls.call import Call
from actors.calls.request import checked
from actors.commands.table import COMMANDS
from actors.core import Core, CoreOptions
from actors.errors import ServiceError
from actors.jobs.ingestion import keep_ingesting
from routes.bus.bus import CommandBus
from routes.bus.request import BusRequest
from routes.gateway.route import Route, RouteCall
from routes.gateway.table import ROUTES
from routes.http.access_log import AccessLog
from routes.http.answers import credential_of, error_answer, request_id
from routes.http.background import BackgroundTasks
from routes.http.exchange import Exchange, Received
from routes.http.internal_auth import InternalAuth
from routes.http.metrics import RequestMetrics
from tests.support.core import open_core
from tests.support.gateway import BUS, Answer, Client

ADDRESS = "192.0.2.1"
MAX_BODY = 1_048_576
_ALIASES = {BUS + command.alias: command for command in COMMANDS.values()}
_ROUTES = [(route.method, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.path)), route) for route in ROUTES]


class CoreGateway:
    """A gateway without HTTP: a core and the command bus over it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        exchange = Exchange(core, RequestMetrics(), AccessLog(None), (), MAX_BODY, BackgroundTasks())
        self.bus = CommandBus(exchange, InternalAuth(None))

    @asynccontextmanager
    async def client(self) -> AsyncIterator["CommandClient"]:
        """Open a client without a user."""
        yield CommandClient(self)


class CommandClient(Client):
    """A client that passes its requests to the bus, or to a gateway route's own function, in this process.

    It has no connection and no address of a gateway, so it lacks `http` and `base`.
    """

    def __init__(self, gateway: CoreGateway, token: str | None = None, name: str = "") -> None:
        self.gateway = gateway
        self.token = token
        self.name = name

    def as_user(self, token: str | None = None, name: str = "") -> "CommandClient":
        return CommandClient(self.gateway, token, name)

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = CIMultiDict({"content-type": "application/json"} | self.headers(headers))
        body = data if json is None else json_.dumps(json).encode()
        if method == "POST" and (path == BUS or path in _ALIASES):
            return await self._by_bus(path, sent, body)
        place, _, query = path.partition("?")
        for of_route, pattern, route in _ROUTES:
            if of_route == method and (match := pattern.fullmatch(place)):
                params = {name: unquote(value) for name, value in match.groupdict().items()}
                return await self._by_route(route, params, Received(sent.get, dict(parse_qsl(query)), body or b"{}"))
        raise AssertionError(f"{method} {path} needs a gateway with HTTP (tests/service)")

    async def _by_bus(self, path: str, sent: CIMultiDict[str], body: bytes) -> Answer:
        id = request_id(sent.get("x-request-id"))
        request = BusRequest(sent.get, id, ADDRESS, body, goes_on=True)
        assert not request.wants_events, "a stream needs a gateway with HTTP (tests/service)"
        answer = await self.gateway.bus.serve(request, _ALIASES.get(path))
        assert answer is not None
        whole = b"".join((answer.body, *answer.rest))
        return Answer(answer.status, CIMultiDict(answer.headers), orjson.loads(whole))

    async def _by_route(self, route: Route, params: dict[str, str], received: Received) -> Answer:
        """Run a gateway route as its front door does after the checks that need HTTP; internal ones as the operator.

        Without Idempotency-Key, audit and headers: tests of these send HTTP.
        """
        call = Call(self.gateway.core, request_id(received.header("x-request-id")), ADDRESS, service=route.name)
        assert received.header("idempotency-key") is None
        try:
            if route.entrance == "member":
                await admit(call, credential_of(received.header))
                await count_stored(call)
            body = route.body and checked(route.body, orjson.loads(received.body))
            query = route.query and route.query.model_validate(received.args)
            reply = await route.run(RouteCall(call, params, body, query, received, BackgroundTasks()))
        except ServiceError as error:
            refused = error_answer(call.request_id, error, {})
            return Answer(refused.status, CIMultiDict(refused.headers), orjson.loads(refused.body or b"{}"))
        value = "" if reply.value is None else orjson.loads(orjson.dumps(reply.value))
        return Answer(int(reply.status), CIMultiDict[str](), value)


@asynccontextmanager
async def commanded(folder: Path, *, options: CoreOptions | None = None, **parts: Any) -> AsyncIterator[CoreGateway]:
    """Run a core with its command bus for a while, and take documents in; see `open_core` for the parts.

    Registration is without limit unless the options say otherwise.
    """
    async with open_core(folder, options=options or CoreOptions(registrations_per_hour=0), **parts) as core:
        ingesting = asyncio.create_task(keep_ingesting(core))
        try:
            yield CoreGateway(core)
        finally:
            ingesting.cancel()
