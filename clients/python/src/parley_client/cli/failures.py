"""What went wrong, on stderr, and the exit status that stands for it (docs/python-client.md)."""

from parley_client import InvalidSetting, NoConnection, ParleyError, Refused
from parley_client.cli.context import hint
from parley_client.cli.output import tell

OTHER_ERROR = 1
WRONG_USAGE = 2
NO_CONNECTION = 3
NO_UTF_8 = "The text is not valid UTF-8."
RUNNING = "Is the gateway running, and is this its address (--url or PARLEY_URL)?"


def told(error: ParleyError) -> int:
    """Say on stderr what went wrong; return the exit status."""
    match error:
        case Refused():
            status, said = 10 + error.code // 1000, f"{error.code}: {error.note}"
        case NoConnection():
            status, said = NO_CONNECTION, f"No connection: {error}. {RUNNING}"
        case InvalidSetting() if isinstance(error.__context__, UnicodeError):
            status, said = WRONG_USAGE, NO_UTF_8
        case InvalidSetting():
            status, said = WRONG_USAGE, str(error)
        case _:
            status, said = OTHER_ERROR, str(error)
    helps = hint(error.code) if isinstance(error, Refused) else None
    for line in (said, *([helps] if helps else ()), *getattr(error, "__notes__", ())):
        tell(line)
    return status
