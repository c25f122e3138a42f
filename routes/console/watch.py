"""GET /console/watch: hints that banks or zones have changed (docs/contract.md, "The console")."""

from typing import Annotated

import orjson
from pydantic import Field, StringConstraints

from actors.commands.watching import MAX_SUBSCRIPTIONS, Change, Watch, watch_of
from actors.errors import InvalidField
from actors.wire import json_event
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.http.server_sent_events import SILENT_S, SLOW_S, STILL_HERE

_Named = Annotated[str, StringConstraints(max_length=2_000)]


class Watched(Query):
    """The query of a watch."""

    bank: _Named = Field("", description="Names of banks; the parameter may be repeated.")
    zone: _Named = Field("", description="Zones as `domain/zone`; the parameter may be repeated.")

    def resources(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return kind, name and parts of the name of each; with none, a watch tells of its session's end alone.

        Raises:
            InvalidField: a name that is none, or too many.
        """
        banks = [("bank", name, (name,)) for name in _listed(self.bank)]
        zones = [("zone", name, tuple(name.split("/"))) for name in _listed(self.zone)]
        if any("/" in name for name in _listed(self.bank)) or any(len(parts) != 2 for *_, parts in zones):
            raise InvalidField("Invalid value of bank or zone: name banks as `bank`, zones as `domain/zone`.")
        found = list(dict.fromkeys([*banks, *zones]))
        if len(found) > MAX_SUBSCRIPTIONS:
            raise InvalidField(f"Invalid value of bank or zone: name at most {MAX_SUBSCRIPTIONS} of both together.")
        return found


def _listed(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


async def stream_changes(request: RouteCall) -> RouteReply:
    """Stream hints until the reader goes or its session ends; the stream doesn't keep the session alive."""
    query: Watched = request.query
    answer, watch = request.stream, watch_of(request.call, counts_as_use=False)
    assert answer is not None
    try:
        await watch.start()
        for kind, name, parts in query.resources():
            await watch.subscribe(f"{kind} {name}", kind, parts)
        answer.begin(failure=lambda _: b"")
        while (changes := await watch.next(SILENT_S)) is not None:
            answer.send(b"".join(_written(watch, change) for change in changes) or STILL_HERE)
            if not await answer.flushed(SLOW_S):
                return RouteReply()
        answer.send(json_event(orjson.dumps({"reason": watch.reason}), "end"))
    finally:
        watch.close()
    return RouteReply()


def _written(watch: Watch, change: Change) -> bytes:
    kind, _, name = change.uri.partition(" ")
    redacted = {"redacted": True} if watch.redacted(change.uri) else {}
    return json_event(orjson.dumps({"kind": kind, "name": name} | redacted), "changed")


ROUTE = Route(
    "GET",
    "/console/watch",
    "watchForConsole",
    "Console",
    "Follow hints that banks or zones may have changed: loaded, censored, deleted, posted, redacted.",
    stream_changes,
    query=Watched,
    errors=(404, 409),
    streams=True,
    counts=False,
    endless=True,
)
