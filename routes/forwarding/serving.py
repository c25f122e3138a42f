"""Carries out, on this node, the requests that arrived at others."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable

from actors.calls.admission import admit, count_stored
from actors.calls.call import Call, Elsewhere
from actors.calls.request import MEMBERS
from actors.commands.table import COMMANDS, UNROUTED
from actors.conversations.conversation import RunBegun
from actors.runtime.cluster.places import Clustered, Places
from actors.runtime.cluster.post import NotReached, NotServed
from actors.runtime.cluster.wire import encode_error
from routes.bus.bus import CommandBus
from routes.bus.passing_on import BusPassage
from routes.bus.request import BusRequest
from routes.doors.answer_stream import AnswerStream, ForwardedStream
from routes.forwarding.entry import SUBJECT, Forwarding
from routes.forwarding.run import (
    Admission,
    Admitted,
    Delta,
    Malformed,
    Moved,
    Opening,
    Refused,
    Run,
    answer_frames,
    decode_run,
    encode,
)
from routes.gateway.passing_on import GatewayPassage
from routes.gateway.route import Arrival, Route
from routes.gateway.serve import GatewayRoutes
from routes.http.answers import JSON, RUN_ID, credential_of, quota_headers
from routes.http.errors import as_service_error
from routes.http.exchange import Exchange
from routes.http.server_sent_events import Silence
from routes.mcp.tools import members_of_tool

log = logging.getLogger("parley.forwarding")


class RunServer:
    """Carries out runs like requests that arrived here; each goes on when its client or the other node has gone."""

    def __init__(
        self, places: Places, exchange: Exchange, bus: CommandBus, gateway: GatewayRoutes, routes: Iterable[Route]
    ) -> None:
        self._places = places
        self._exchange = exchange
        self._bus = bus
        self._gateway = gateway
        self._routes = {route.name: route for route in routes}

    async def carry_out(self, data: bytes) -> AsyncIterator[bytes]:
        """Carry out a run, and return the frames of its answer; a `Handler` of the post.

        Raises:
            NotReached: before the first frame: nothing was begun, because this node does not own the shard, or can't
                read the run.
        """
        try:
            run = decode_run(data)
        except Malformed as error:
            log.error("another node sent a request that this one can't read: %s", error)
            raise NotReached("it is not readable") from None
        if not self._places.is_mine(run.key):
            raise NotServed("the shard is not this node's")
        work, running = self._exchange.work, object()
        work.add(running)  # an orderly stop waits for it
        try:
            if run.events:
                async for frame in self._streamed(run):
                    yield frame
            else:
                for frame in await self._carried_out(run):
                    yield frame
        finally:
            work.discard(running)

    async def _carried_out(
        self, run: Run, open_channels: Callable[[Call], None] | None = None, stream: AnswerStream | None = None
    ) -> Iterable[bytes]:
        """Carry out a run; return the frames of its answer, without those of its pieces.

        Raises:
            NotReached: the shard left this node before the request was admitted.
        """
        try:
            match run.door:
                case "admission":
                    return (await self._admitted(run),)
                case "route":
                    return await self._served_by_route(run, stream)
                case "bus" | "tool":
                    return await self._served_by_bus(run, open_channels)
        except Elsewhere as change:
            if change.call.caller is None:
                raise NotServed("the shard is no longer this node's") from None
            return (encode(Moved(change.key, Admitted.of(change.call))),)

    async def _admitted(self, run: Run) -> bytes:
        call = Call(self._exchange.core, run.request_id, run.address, run.name)
        call.counts_as = None  # the node that received the request knows it, and checks the scopes
        try:
            await admit(call, credential_of(run.headers.get))
            await count_stored(call)
        except Exception as raised:  # written, counted and logged where it arrived
            admitted = None if call.quota is None else Admitted.of(call)
            return encode(Refused(encode_error(as_service_error(raised)), admitted))
        return encode(Admission(Admitted.of(call)))

    async def _served_by_bus(self, run: Run, open_channels: Callable[[Call], None] | None) -> Iterable[bytes]:
        command = COMMANDS.get(run.name) or UNROUTED.get(run.name)
        if command is None:
            raise NotReached(f"this node has no command {run.name}")
        request = BusRequest(
            run.headers.get,
            run.request_id,
            run.address,
            run.body,
            members_of_tool(run.name) if run.door == "tool" else MEMBERS,
            goes_on=True,
            admission=run.admitted and run.admitted.admit,
            forwarded=True,
            open_channels=open_channels,
        )
        answer = await self._bus.serve(request, command)
        assert answer is not None  # only a stream without end has none, and it stays where it arrived
        return answer_frames(answer.status, answer.headers, answer.body, answer.rest)

    async def _served_by_route(self, run: Run, stream: AnswerStream | None) -> Iterable[bytes]:
        route = self._routes.get(run.name)
        if route is None:
            raise NotReached(f"this node has no route {run.name}")

        async def receive() -> bytes:
            return run.body

        header, admission = run.headers.get, run.admitted and run.admitted.admit
        arrival = Arrival(
            header, header, lambda: run.args, receive, admission, forwarded=True, stream=stream, base_url=run.base_url
        )
        call = Call(self._exchange.core, run.request_id, run.address, run.name)
        answer = await self._gateway.serve(arrival, route, run.params, call)
        if answer is None:  # its pieces have been sent
            return answer_frames(200, {}, b"")
        headers = answer.headers
        if answer.body and answer.media_type != JSON:
            headers["content-type"] = answer.media_type
        return answer_frames(answer.status, headers, answer.body)

    async def _streamed(self, run: Run) -> AsyncIterator[bytes]:
        """Carry out a run whose answer's pieces are sent as they come."""
        frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        headers: dict[str, str] = {}

        def send(piece: str) -> None:
            silence.heard()
            if headers:
                frames.put_nowait(encode(Opening(dict(headers))))
                headers.clear()
            frames.put_nowait(encode(Delta(piece)))

        silence = Silence(lambda: send(""))

        def begun(what: RunBegun) -> None:
            headers[RUN_ID] = what.run
            silence.begin()
            if what.waits:
                send("")

        def open_channels(call: Call) -> None:
            headers.update(quota_headers(call))
            call.stream_to(send, begun)

        stream = ForwardedStream(
            lambda headers: frames.put_nowait(encode(Opening(headers))),
            lambda piece: frames.put_nowait(encode(Delta(piece))),
        )
        running = asyncio.create_task(self._carried_out(run, open_channels, stream if run.door == "route" else None))
        running.add_done_callback(lambda _: frames.put_nowait(None))
        try:
            while (frame := await frames.get()) is not None:
                yield frame
            for frame in await running:
                yield frame
        finally:
            silence.end()
            running.cancel()  # done, unless this node stops


def forward(
    cluster: Clustered, exchange: Exchange, bus: CommandBus, gateway: GatewayRoutes, routes: Iterable[Route]
) -> None:
    """Serve the runs of other nodes, and pass requests of this one on to them; before the cluster's post starts."""
    server = RunServer(cluster.ownership, exchange, bus, gateway, routes)
    cluster.post.serve(SUBJECT, server.carry_out)
    forwarding = Forwarding(cluster.post, cluster.ownership, exchange.core.credentials, server.carry_out)
    exchange.forwarding = cluster.traffic = forwarding
    bus.passage = BusPassage(forwarding)
    gateway.passage = GatewayPassage(forwarding, exchange.work)
