"""Requests to gateway routes that another node carries out."""

from collections.abc import Coroutine
from typing import Any

from actors.calls.call import Call, Elsewhere
from routes.doors.answer_stream import AnswerStream
from routes.doors.door import JSON
from routes.forwarding.entry import Forwarding
from routes.forwarding.run import DOOR_HEADERS, HEADERS, Admitted, Delta, Opening, Run, headers_of
from routes.gateway.route import Arrival, Route
from routes.http.answers import HttpAnswer, credential_of
from routes.http.background import BackgroundTasks

Served = tuple[int, HttpAnswer | None]


class GatewayPassage:
    """Passes requests to gateway routes on to other nodes."""

    def __init__(self, forwarding: Forwarding, work: BackgroundTasks) -> None:
        self._forwarding = forwarding
        self._work = work

    async def require_home(self, arrival: Arrival, route: Route, call: Call) -> None:
        """Go on only if the home of a request is here.

        Open routes that change something are limited by address. An operator's routes run where they arrive, and so do
        streamed reads: they end with their connection.

        Raises:
            Elsewhere: it is on another node.
            NoCredential, InvalidCredential: the route needs a credential, and there is none, or an unknown one.
        """
        home, credential = None, credential_of(arrival.header)
        if route.streams and not route.mutates:
            return
        if route.entrance == "member" or (route.entrance == "guest" and credential is not None):
            home = await self._forwarding.away(credential)
        elif route.entrance == "open" and route.mutates:
            home = self._forwarding.away_by_address(call.address)
        if home is not None:
            raise Elsewhere(home, call)

    async def served(
        self,
        here: Coroutine[Any, Any, Served],
        arrival: Arrival,
        route: Route,
        params: dict[str, str],
        call: Call,
    ) -> Served:
        """Serve a request `here`, or have another node serve it: its home, or the owner of what it changes."""
        try:
            return await here
        except Elsewhere as change:
            key = change.key
        try:
            run = await _run_of(arrival, route, params, call, key)
        except Exception:  # the body is refused, which comes after credential and quota
            if call.caller is None and route.entrance != "open":
                await self._forwarding.admit(call, key, credential_of(arrival.header))
            raise
        named: dict[str, str] = {}
        if call.caller is not None:
            run = self._forwarding.moved_on(run, Admitted.of(call))
        elif route.entrance != "open":  # the home of an open route's request is an address's
            named = self._forwarding.naming(key)
        passing_on = self._passed_on(run, route, call, arrival.stream, named)
        if arrival.stream is not None:
            return await arrival.stream.carry(passing_on, self._work)
        return await (self._work.shielded(passing_on) if route.mutates else passing_on)

    async def _passed_on(
        self, run: Run, route: Route, call: Call, stream: AnswerStream | None, named: dict[str, str]
    ) -> Served:
        def hear(piece: Opening | Delta) -> None:
            assert stream is not None
            if isinstance(piece, Delta):
                stream.send(piece.text.encode())
            else:
                stream.open(piece.headers | named)

        safe = not route.mutates or route.safe_to_resend or _has_key(run, route)
        answered = await self._forwarding.carry_out(call, run, safe=safe, hear=hear)
        media_type = answered.headers.pop("content-type", JSON)
        return 0, HttpAnswer(b"".join(answered.pieces), answered.status, answered.headers | named, media_type)


def _has_key(run: Run, route: Route) -> bool:
    """Return whether a change is carried out once for its Idempotency-Key."""
    has_credential = run.admitted is not None or any(name in run.headers for name in ("authorization", "x-api-key"))
    return route.takes_key and has_credential and "idempotency-key" in run.headers


async def _run_of(arrival: Arrival, route: Route, params: dict[str, str], call: Call, key: str) -> Run:
    """Return a request as it travels."""

    def header(name: str) -> str | None:
        return arrival.whole_header(name) if name == "content-type" else arrival.header(name)

    body = arrival.body = arrival.body or await arrival.receive()
    return Run(
        key=key,
        door="route",
        name=route.name,
        request_id=call.request_id,
        address=call.address,
        headers=headers_of(header, DOOR_HEADERS if route.door is not None or route.streams else HEADERS),
        body=body,
        params=params,
        args=arrival.args(),
        events=arrival.stream is not None,
        base_url=arrival.base_url,
    )
