"""Deliveries: one for each event and endpoint, the due time of its next attempt, and its attempts.

A position is never given twice, because outcomes name deliveries by it. Positions may become visible in any order, so
due deliveries are found by endpoint and due time.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from persistence.store import Params, Query, Write

INLINE_CHARS = 4_096
"""The longest event data that is loaded with a due delivery, in characters; longer data is loaded for its attempt."""


class DueRow(NamedTuple):
    """A delivery that is waiting, with its event; `data` is JSON, None if it is too long to be loaded early.

    `attempts` is the number of past ones, `due` and `created_at` (of the event) are in ms since the epoch.
    """

    endpoint: int
    position: int
    id: str
    attempts: int
    due: int
    event: int
    event_id: str
    type: str
    created_at: int
    data: str | None


class ResultRow(NamedTuple):
    """The outcome of an attempt: the delivery's state after it, and the entry of the log."""

    position: int
    state: str
    due: int | None
    number: int
    at: int
    status: int | None
    latency_ms: int
    error: str | None
    response: str | None


# making deliveries


def fan_out(event_id: str, id_start: str, pattern: str, at: int) -> Write:
    """Make a delivery, due now, for each active endpoint of the event's user whose filter takes it.

    `id_start` is the first 20 characters of their ids, `pattern` the group pattern that takes the event, too.
    """
    return Write(_FAN_OUT, (event_id, id_start, pattern, at), None, _FAN_OUT_MANY)


_FAN_OUT = """
    INSERT INTO deliveries (id, user_id, endpoint, event, state, due, created_at)
    SELECT ?2 || @random_end_like(events.user_id), events.user_id, endpoints.number, events.place, 'pending', ?4, ?4
    FROM events JOIN endpoints ON endpoints.user_id = events.user_id
    WHERE events.id = ?1 AND endpoints.active = 1 AND (endpoints.events = '[]' OR EXISTS
        (SELECT 1 FROM @list_text(endpoints.events) AS wanted WHERE wanted.value IN (events.type, ?3)))
"""
_FAN_OUT_MANY = """
    INSERT INTO deliveries (id, user_id, endpoint, event, state, due, created_at)
    SELECT made.id_start || @random_end_like(events.user_id), events.user_id, endpoints.number, events.place,
           'pending', made.at, made.at
    FROM @rows_in_order(?, event text, id_start text, pattern text, at bigint) AS made
    JOIN events ON events.id = made.event
    JOIN endpoints ON endpoints.user_id = events.user_id
    WHERE endpoints.active = 1 AND (endpoints.events = '[]' OR EXISTS
        (SELECT 1 FROM @list_text(endpoints.events) AS wanted WHERE wanted.value IN (events.type, made.pattern)))
    ORDER BY made.ordinal, endpoints.number
"""


def repeat(delivery_id: str, new_id: str, at: int) -> Write:
    """Make a new delivery of the same event to the same endpoint; refused as `ROWS` where that is not active."""
    return Write(
        "INSERT INTO deliveries (id, user_id, endpoint, event, state, due, created_at)"
        " SELECT ?2, old.user_id, old.endpoint, old.event, 'pending', ?3, ?3 FROM deliveries AS old"
        " JOIN endpoints ON endpoints.number = old.endpoint WHERE old.id = ?1 AND endpoints.active = 1",
        (delivery_id, new_id, at),
        rows=1,
    )


def repeat_all(positions: Iterable[int], id_start: str, at: int) -> Write:
    """Make a new delivery for each of these, as `repeat` does; those of inactive endpoints are left out."""
    return Write(
        "INSERT INTO deliveries (id, user_id, endpoint, event, state, due, created_at)"
        " SELECT ?2 || @random_end_like(old.user_id), old.user_id, old.endpoint, old.event, 'pending', ?3, ?3"
        " FROM @list_int(?1) AS chosen JOIN deliveries AS old ON old.place = chosen.value"
        " JOIN endpoints ON endpoints.number = old.endpoint WHERE endpoints.active = 1 ORDER BY old.place",
        (orjson.dumps(list(positions)).decode(), id_start, at),
    )


# the dispatcher's reads and writes


Waiting = list[tuple[int, int]]
"""Endpoints with waiting deliveries, each with the due time of the first."""

_SHARD = "substr(endpoints.user_id, length(endpoints.user_id) - 1)"
"""The shard of an endpoint's user, as two hex digits; PostgreSQL has an index of this expression."""

_FIRST_DUE = "(SELECT min(due) FROM deliveries WHERE endpoint = {} AND due IS NOT NULL)"


def waiting_endpoints(after: int, limit: int) -> Query[Waiting]:
    """List up to `limit` endpoints with waiting deliveries, by number, after a number; two seeks for each endpoint.

    This list, too, is one row of JSON, as `due_first`.
    """
    columns = f"@json_row(endpoint, {_FIRST_DUE.format('waiting.endpoint')})"
    return Query(_WAITING_AFTER.format(columns), (after, limit), _waiting)


def waiting_with_users(after: int, limit: int) -> Query[list[tuple[int, int, str]]]:
    """List the same endpoints with their users' ids."""
    user = "(SELECT user_id FROM endpoints WHERE number = waiting.endpoint)"
    columns = f"@json_row(endpoint, {_FIRST_DUE.format('waiting.endpoint')}, {user})"
    return Query(
        _WAITING_AFTER.format(columns), (after, limit), lambda row: [tuple(found) for found in orjson.loads(row[0])]
    )


_WAITING_AFTER = """
    WITH RECURSIVE waiting (endpoint, found) AS (
        SELECT min(endpoint), 1 FROM deliveries WHERE due IS NOT NULL AND endpoint > ?1
        UNION ALL
        SELECT (SELECT min(endpoint) FROM deliveries WHERE due IS NOT NULL AND endpoint > waiting.endpoint),
               found + 1
        FROM waiting WHERE waiting.endpoint IS NOT NULL AND found < ?2
    )
    SELECT @json_array({}) FROM waiting WHERE endpoint IS NOT NULL
"""


def waiting_in_shard(shard: str) -> Query[Waiting]:
    """List the endpoints of a shard's users with waiting deliveries; a seek for each of their endpoints.

    `shard` is two hex digits, in which the ids of its users end.
    """
    return Query(
        f"""
        SELECT @json_array(@json_row(number, {_FIRST_DUE.format("endpoints.number")}))
        FROM endpoints WHERE {_SHARD} = ?
        """,
        (shard,),
        _waiting,
    )


def waiting_of(users: Sequence[str]) -> Query[Waiting]:
    """List the active endpoints of some users with waiting deliveries; a seek for each of their endpoints."""
    return Query(
        f"""
        SELECT @json_array(@json_row(endpoints.number, {_FIRST_DUE.format("endpoints.number")}))
        FROM @list_text(?) AS woken
        @seek(endpoints @hint(INDEXED BY endpoints_user), endpoints.user_id = woken.value AND endpoints.active = 1)
        """,
        (orjson.dumps(users).decode(),),
        _waiting,
    )


def _waiting(row: Params) -> Waiting:
    return [(endpoint, due) for endpoint, due in orjson.loads(row[0]) if due is not None]


def due_first(endpoints: Sequence[int], limit: int) -> Query[list[DueRow]]:
    """Read the waiting deliveries of some endpoints that are due first: up to `limit` for each endpoint, in order.

    One row holds all of them as JSON, because each row from SQLite costs the loop a turn at the interpreter lock.
    """
    columns = f"""
        deliveries.endpoint, deliveries.place, deliveries.id, deliveries.attempts, deliveries.due,
        events.place, events.id, events.type, events.created_at,
        CASE WHEN length(events.data) <= {INLINE_CHARS} THEN events.data END
    """
    first = "(SELECT {} FROM deliveries WHERE endpoint = wanted.value AND due IS NOT NULL ORDER BY due, place LIMIT ?)"
    return Query(
        f"""
        SELECT @sqlite(json_group_array(json(found)))@postgres(CAST(coalesce(json_agg(found), '[]') AS text)) FROM (
            SELECT @sqlite(json_array({columns}))@postgres(json_build_array({columns})) AS found
            FROM @list_int(?) AS wanted
            @sqlite(CROSS JOIN deliveries ON deliveries.place IN {first.format("place")})
            @postgres(CROSS JOIN LATERAL {first.format("*")} AS deliveries)
            @seek(events, events.place = deliveries.event)
            ORDER BY deliveries.endpoint, deliveries.due, deliveries.place) AS ordered
        """,
        (orjson.dumps(endpoints).decode(), limit),
        lambda row: [DueRow(*found) for found in orjson.loads(row[0])],
    )


def event_data(event: int) -> Query[str]:
    """Read the data of an event, as JSON."""
    return Query("SELECT data FROM events WHERE place = ?", (event,), lambda row: row[0])


def record(results: Sequence[ResultRow]) -> tuple[Write, ...]:
    """Store the outcomes of attempts.

    A delivery that was cancelled meanwhile stays so unless the attempt succeeded; one that is gone stays gone.
    """
    rows = orjson.dumps([tuple(result) for result in results]).decode()
    done = (
        "@rows(?, delivery bigint, state text, due bigint, number bigint, at bigint, status bigint, latency_ms bigint,"
        " error text, response text) AS done"
    )
    stays = "deliveries.state = 'cancelled' AND done.state <> 'succeeded'"
    return (
        Write(
            "UPDATE deliveries SET attempts = done.number,"
            f" state = CASE WHEN {stays} THEN 'cancelled' ELSE done.state END,"
            f" due = CASE WHEN {stays} THEN NULL ELSE done.due END"
            f" FROM {done} WHERE deliveries.place = done.delivery",
            (rows,),
        ),
        Write(
            "INSERT INTO attempts (delivery, number, at, status, latency_ms, error, response)"
            f" SELECT delivery, number, at, status, latency_ms, error, response FROM {done}"
            " WHERE EXISTS (SELECT 1 FROM deliveries WHERE place = done.delivery)",
            (rows,),
        ),
    )


def cancel(endpoint: int, limit: int) -> Write:
    """Cancel up to `limit` waiting deliveries of an endpoint."""
    return Write(
        "UPDATE deliveries SET state = 'cancelled', due = NULL WHERE place IN"
        " (SELECT place FROM deliveries WHERE endpoint = ? AND due IS NOT NULL LIMIT ?)",
        (endpoint, limit),
    )


# recoveries


class Recovery(NamedTuple):
    """A recovery under way: a user's endpoint's failed deliveries from `since` to `upto`, done up to `cursor`."""

    position: int
    endpoint: int
    since: int
    cursor: int
    upto: int
    user_id: str = ""


_FAILED_SINCE = """
    FROM deliveries AS failed @hint(INDEXED BY deliveries_failed)
    WHERE failed.endpoint = :endpoint AND failed.state IN ('exhausted', 'cancelled')
    AND failed.created_at >= :since AND failed.place > :cursor AND failed.place <= :upto
    AND NOT EXISTS (SELECT 1 FROM deliveries AS later WHERE later.event = failed.event
                    AND later.endpoint = failed.endpoint AND later.place > failed.place)
"""
"""Deliveries that failed and whose events were not queued again for that endpoint since."""


def failed_since(endpoint: int, since: int) -> Query[tuple[int, int]]:
    """Count the deliveries that a further recovery would queue, and find the position of the last."""
    return Query(
        f"SELECT count(*), coalesce(max(failed.place), 0) {_FAILED_SINCE}"
        " AND NOT EXISTS (SELECT 1 FROM recoveries AS begun WHERE begun.endpoint = failed.endpoint"
        " AND begun.since <= failed.created_at AND begun.cursor < failed.place AND begun.upto >= failed.place)",
        {"endpoint": endpoint, "since": since, "cursor": 0, "upto": 2**62},
        lambda row: (row[0], row[1]),
    )


def begin_recovery(endpoint: int, since: int, upto: int) -> Write:
    """Begin a recovery of all deliveries that failed since a time, up to a position, if the endpoint still exists."""
    return Write(
        "INSERT INTO recoveries (endpoint, since, upto) SELECT number, @typed(?, bigint), @typed(?, bigint)"
        " FROM endpoints WHERE number = ?",
        (since, upto, endpoint),
    )


def next_recovery(shard: str | None = None, after_user: str = "") -> Query[Recovery]:
    """Read a recovery under way: the oldest of the first user after `after_user`; the first comes after the last.

    It is one of a shard's users, given as two hex digits, or of all.
    """
    return Query(
        "SELECT recoveries.place, endpoint, since, cursor, upto, user_id FROM recoveries"
        f" JOIN endpoints ON endpoints.number = endpoint {'' if shard is None else f'WHERE {_SHARD} = ?'}"
        " ORDER BY user_id <= ?, user_id, recoveries.place LIMIT 1",
        (*(() if shard is None else (shard,)), after_user),
        lambda row: Recovery(*row),
    )


RECOVERING: Query[str] = Query(
    "SELECT DISTINCT user_id FROM recoveries JOIN endpoints ON endpoints.number = endpoint", (), lambda row: row[0]
)
"""The users with a recovery under way."""


def to_recover(recovery: Recovery, limit: int) -> Query[int]:
    """List the positions of the next deliveries that a recovery queues again."""
    return Query(
        f"SELECT failed.place {_FAILED_SINCE} ORDER BY failed.place LIMIT :limit",
        {
            "endpoint": recovery.endpoint,
            "since": recovery.since,
            "cursor": recovery.cursor,
            "upto": recovery.upto,
            "limit": limit,
        },
        lambda row: row[0],
    )


def recovered(recovery: Recovery, upto: int) -> Write:
    """Store the position that a recovery has reached."""
    return Write("UPDATE recoveries SET cursor = ? WHERE place = ?", (upto, recovery.position))


def end_recovery(recovery: Recovery) -> Write:
    """End a recovery."""
    return Write("DELETE FROM recoveries WHERE place = ?", (recovery.position,))
