"""The last messages of an actor, for maintainers: type, times and outcome of each, no texts.

They are kept for every actor, whether somebody looks or not. So a message is one number in an array, which costs the
handling of a message a tenth of a microsecond, takes 8 bytes, and is nothing to the garbage collector: seconds of
handling + 1024 * (number of the type + 1024 * internal code of the error). A message that waited in the mailbox has the
seconds of that, negative, before it.
"""

from array import array
from typing import Any, TypeAlias

SHOWN = 50
"""Number of messages shown of each actor."""

_KEPT = 2 * SHOWN  # numbers; each message may have two
MOST = _KEPT + 28
"""The number of numbers above which the oldest are dropped."""
_TYPE = 1024.0
_CODE = _TYPE * 1024
_LEAST_S = 1e-9  # so that a wait is never zero, which has no sign

NUMBERS: dict[type[Any], float] = {}
"""The addend for each type of message."""
_names = [""]

Recent: TypeAlias = "array[float]"


def no_messages() -> Recent:
    """Return the record of a new actor."""
    return array("d")


def register(message_type: type[Any]) -> None:
    """Number a type of message."""
    if message_type not in NUMBERS:
        NUMBERS[message_type] = _TYPE * len(_names)
        _names.append(message_type.__name__)


def refused(number: float, code: int) -> float:
    """Return the addend for a message that ended in the error with this internal code."""
    return number + _CODE * code


def note_wait(recent: Recent, seconds: float) -> None:
    """Note that the next message has waited."""
    recent.append(-seconds - _LEAST_S)


def drop_oldest(recent: Recent) -> None:
    """Drop what is not shown any more."""
    del recent[:-_KEPT]


def shown(recent: Recent) -> list[dict[str, Any]]:
    """Return the last messages, newest last; times in milliseconds."""
    messages: list[dict[str, Any]] = []
    waited = 0.0
    for number in recent:
        if number < 0:
            waited = -number
            continue
        code, rest = divmod(number, _CODE)
        index, seconds = divmod(rest, _TYPE)
        messages.append(
            {
                "type": _names[int(index)],
                "waiting_ms": round(waited * 1000, 3),
                "handling_ms": round(seconds * 1000, 3),
                "outcome": "done" if not code else "failed" if 5000 <= code < 5003 else "refused",
                "internal_code": int(code),
            }
        )
        waited = 0.0
    return messages[-SHOWN:]
