"""What went wrong, on stderr, and the exit status that stands for it (docs/python-client.md)."""

import re

from parley_client import InvalidSetting, NoConnection, ParleyError, Refused
from parley_client.cli.context import hint
from parley_client.cli.output import tell

OTHER_ERROR = 1
WRONG_USAGE = 2
NO_CONNECTION = 3
NO_UTF_8 = "The text is not valid UTF-8."
RUNNING = "Is the gateway running, and is this its address (--url or PARLEY_URL)?"

_COMMANDS = {
    "US_Create": "login --register",
    "US_LogOn": "login",
    "US_LogOff": "logout",
    "AP_Create": "agents create",
    "AP_List": "agents list",
    "CV_List": "conversations list",
    "DM_Create": "domains create",
    "DM_List": "domains list",
    "ZN_List": "zones list",
    "MB_Create": "banks create",
    "MB_List": "banks list",
    "MB_Load": "banks load",
    "MB_Recall": "banks recall",
    "MB_Censor": "banks censor",
}
"""The commands of `parley` that do what services of the gateway do, which its notes name."""


def told(error: ParleyError) -> int:
    """Say on stderr what went wrong; return the exit status."""
    match error:
        case Refused():
            status, said = 10 + error.code // 1000, f"{error.code}: {_with_commands(error.note)}"
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


def _with_commands(note: str) -> str:
    """Return a note of the gateway that names commands of `parley` in place of services, where there are any."""
    return re.sub(rf"\b({'|'.join(_COMMANDS)})\b", lambda found: f"`parley {_COMMANDS[found[1]]}`", note)
