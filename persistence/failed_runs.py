"""The errors of runs that ended without a reply, kept until the run is tried again or its conversation is erased."""

from typing import NamedTuple

from persistence.store import Query, Write


class FailedRun(NamedTuple):
    """A run's user's message, the error as clients were told it, and its time in ms since the epoch.

    The time is None where an older version has noted the error.
    """

    message_id: str
    internal_code: int
    http_code: int
    note: str
    at: int | None


def remember(run: FailedRun, conversation_id: int) -> Write:
    """Note the error of a run, in place of an earlier one; without its conversation nothing is noted."""
    return Write(
        "INSERT INTO failed_runs (message_id, conversation_id, internal_code, http_code, note, at)"
        " SELECT ?1, id, ?3, ?4, ?5, ?6 FROM conversations WHERE id = ?2"
        " ON CONFLICT (message_id) DO UPDATE SET internal_code = excluded.internal_code,"
        " http_code = excluded.http_code, note = excluded.note, at = excluded.at",
        (run.message_id, conversation_id, run.internal_code, run.http_code, run.note, run.at),
    )


def forget(message_id: str) -> Write:
    """Forget the error of a run that is tried again."""
    return Write("DELETE FROM failed_runs WHERE message_id = ?", (message_id,))


def of_message(message_id: str) -> Query[FailedRun]:
    """Find the error of the run of a message."""
    return Query(
        "SELECT message_id, internal_code, http_code, note, at FROM failed_runs WHERE message_id = ?",
        (message_id,),
        lambda row: FailedRun(*row),
    )
