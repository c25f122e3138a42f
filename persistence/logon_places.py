"""The places of a user's recent log-ons, which stay open while others guess the user's password."""

from persistence.store import Query, Write

MAX_PLACES = 32
"""The largest number of places of a user; the one with the oldest log-on is dropped first."""


def put(user_id: str, place: bytes, at: int) -> tuple[Write, ...]:
    """Note a log-on from a place, which is a digest; refused as `FOREIGN_KEY` when the user is gone."""
    return (
        Write(
            "INSERT INTO logon_places (user_id, place, last_at) VALUES (?, ?, ?)"
            " ON CONFLICT (user_id, place) DO UPDATE SET last_at = excluded.last_at",
            (user_id, place, at),
        ),
        Write(
            "DELETE FROM logon_places WHERE user_id = ?1 AND place NOT IN (SELECT place FROM logon_places"
            " WHERE user_id = ?1 ORDER BY last_at DESC, place = ?2 DESC LIMIT ?3)",
            (user_id, place, MAX_PLACES),
        ),
    )


def is_known(name_key: str, place: bytes, since: int) -> Query[bool]:
    """Return one row if the user of that name has logged on from a place since a time, else none."""
    return Query(
        "SELECT 1 FROM logon_places JOIN users ON users.id = logon_places.user_id"
        " WHERE users.name_key = ? AND logon_places.place = ? AND logon_places.last_at >= ?",
        (name_key, place, since),
        lambda _: True,
    )


def delete_older(before: int) -> Write:
    """Remove places that nobody has logged on from since a time."""
    return Write("DELETE FROM logon_places WHERE last_at < ?", (before,))
