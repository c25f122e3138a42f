"""The errors of failed runs, kept until the run is tried again or its conversation is erased."""

from typing import NamedTuple

from persistence.store import Query, Write


class FailedRun(NamedTuple):
    """A run's user's message, and the error as clients were told it."""

    message_id: str
    internal_code: int
    http_code: int
    note: str


def remember(run: FailedRun, conversation_id: int) -> Write:
    """Note the error of a run, in place of an earlier one; without its conversation nothing is noted."""
    return Write(
        "INSERT INTO failed_runs (message_id, conversation_id, internal_code, http_code, note)"
        " SELECT ?1, id, ?3, ?4, ?5 FROM conversations WHERE id = ?2"
        " ON CONFLICT (message_id) DO UPDATE SET internal_code = excluded.internal_code,"
        " http_code = excluded.http_code, note = excluded.note",
        (run.message_id, conversation_id, run.internal_code, run.http_code, run.note),
    )


def forget(message_id: str) -> Write:
    """Forget the error of a run that is tried again."""
    return Write("DELETE FROM failed_runs WHERE message_id = ?", (message_id,))


def of_message(message_id: str) -> Query[FailedRun]:
    """Find the error of the run of a message."""
    return Query(
        "SELECT message_id, internal_code, http_code, note FROM failed_runs WHERE message_id = ?",
        (message_id,),
        lambda row: FailedRun(*row),
    )
