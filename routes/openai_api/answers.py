"""The answer of an agent, whichever of the two APIs shows it, and its ids."""

import re
from collections.abc import Sequence

from msgspec import Struct

from actors.engines.message import Source
from actors.engines.options import ClientToolCall, Usage
from actors.engines.turn import Finish

COMPLETION = "chatcmpl-"
RESPONSE = "resp_"
MESSAGE = "msg_"

_response = re.compile(r"resp_([0-9a-f]{32})\Z")


class Heading(Struct, frozen=True):
    """The part of an answer that is known from its beginning.

    Args:
        number: the unique part of the run's id, and of those of completion and response.
        model: the model's id, as the client wrote it.
        at: the time of the user's message, in ms since the epoch.
        conversation: the id of the conversation; None if there is none.
    """

    number: str
    model: str
    at: int
    conversation: str | None = None


class Answered(Struct, frozen=True):
    """A whole answer; `at` is the time of the reply in ms since the epoch.

    `cancelled`: it was ended before it was whole.
    """

    heading: Heading
    text: str
    at: int
    usage: Usage
    sources: Sequence[Source] = ()
    calls: Sequence[ClientToolCall] = ()
    finish: Finish = "stop"
    cancelled: bool = False


def message_of_response(response_id: str) -> str | None:
    """Return the id of the user's message that a response answers; None if it is no response's id."""
    found = _response.match(response_id)
    return MESSAGE + found[1] if found else None


def unique_part(message_id: str) -> str:
    """Return the unique part of a user's message id, which the ids of its answer repeat."""
    return message_id.removeprefix(MESSAGE)
