"""Gateway routes on the fast path (routes/http/fastpath.py), for doors whose requests are as frequent as chats."""

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from actors.calls.call import Call
from routes.gateway.route import Arrival, Route
from routes.http.answers import HttpAnswer, request_id

if TYPE_CHECKING:
    from routes.gateway.serve import GatewayRoutes
    from routes.http.exchange import Exchange


class FastRoutes:
    """Serves POST requests to the routes with `fast`: paths without parameters, and JSON without the gateway's URL."""

    def __init__(self, exchange: "Exchange", gateway: "GatewayRoutes", routes: Iterable[Route]) -> None:
        self._exchange = exchange
        self._gateway = gateway
        self._by_line = {f"{route.method} {route.path} HTTP/1.1": route for route in routes if route.fast is not None}

    def begin(
        self, request_line: str, headers: dict[str, str], body: bytes, peer: str
    ) -> Coroutine[Any, Any, HttpAnswer | None] | None:
        """Prepare a request that Sanic did not receive; return None if only Sanic can answer it."""
        route = self._by_line.get(request_line)
        if route is None or route.fast is None or not route.fast(body) or len(body) > self._exchange.max_body_bytes:
            return None
        exchange, header = self._exchange, headers.get
        arrival = Arrival(header, header, dict, _no_more, goes_on=True, body=body)
        call = Call(exchange.core, request_id(header("x-request-id")), exchange.address(peer, header), route.name)
        return self._gateway.serve(arrival, route, {}, call)


async def _no_more() -> bytes:
    """Receive nothing after a body that is whole."""
    return b""


def asks_no_stream(body: bytes) -> bool:
    """Return whether a JSON body can't ask for a stream as `stream`, also with that name in escapes."""
    return b'"stream"' not in body and b"\\u00" not in body
