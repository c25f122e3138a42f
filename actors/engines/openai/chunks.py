"""The chunks of a streamed answer. The client builds them without validation, so any member may be of any type."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from actors.engines.options import Usage

MAX_CALLS = 16
"""The largest number of tool calls of one answer."""

MAX_ARGUMENTS = 65_536
"""The largest number of characters of a call's arguments."""


class MalformedChunk(Exception):
    """A chunk does not follow the protocol."""


@dataclass(slots=True)
class ToolCall:
    """A function call that the model asks for; `arguments` as the model wrote them, perhaps not JSON."""

    number: int
    id: str = ""
    name: str = ""
    arguments: str = ""

    def message(self) -> dict[str, Any]:
        """Return the call in the form in which the next request repeats it to the model."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


class CallPiece(NamedTuple):
    """A piece of the tool call with this number."""

    number: int
    id: str
    name: str
    arguments: str


class Delta(NamedTuple):
    """The addition that one chunk makes to an answer.

    `alive`: it has content, which may be hidden reasoning. `finish`: the reason for the end, in the last chunk.
    """

    text: str = ""
    calls: tuple[CallPiece, ...] = ()
    alive: bool = False
    finish: str | None = None


def read_chunk(chunk: Any) -> Delta:
    """Read a chunk.

    Raises:
        MalformedChunk: it does not follow the protocol.
    """
    choices = getattr(chunk, "choices", None)
    if not isinstance(choices, list):
        raise MalformedChunk("choices")
    if not choices:
        return Delta()  # usage, or a filter's verdict
    choice = cast(list[Any], choices)[0]
    delta = getattr(choice, "delta", None)
    finish = getattr(choice, "finish_reason", None)
    if finish is not None and not isinstance(finish, str):
        raise MalformedChunk("finish_reason")
    if delta is None:
        if finish is None:
            raise MalformedChunk("delta")
        return Delta(finish=finish)
    text = _text(delta, "content") or _text(delta, "refusal")
    thinks = bool(_text(delta, "reasoning_content") or _text(delta, "reasoning"))
    calls = _calls(getattr(delta, "tool_calls", None))
    return Delta(text, calls, bool(text or calls or thinks), finish)


def read_usage(chunk: Any) -> Usage | None:
    """Read the usage that a chunk reports; None if it reports none, or nothing readable."""
    usage = getattr(chunk, "usage", None)
    counts = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    prompt, completion = (count if type(count) is int and count >= 0 else None for count in counts)
    return None if prompt is None or completion is None else Usage(prompt, completion)


def _text(delta: Any, member: str) -> str:
    value = getattr(delta, member, None)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedChunk(member)
    # the store takes neither NUL nor lone surrogates
    return value.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _calls(given: Any) -> tuple[CallPiece, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise MalformedChunk("tool_calls")
    calls: list[CallPiece] = []
    for position, call in enumerate(cast(list[Any], given)):
        index = getattr(call, "index", None)
        function = getattr(call, "function", None)
        if index is None:
            index = position
        if not isinstance(index, int) or not 0 <= index < MAX_CALLS or function is None:
            raise MalformedChunk("tool call")
        calls.append(CallPiece(index, _text(call, "id"), _text(function, "name"), _text(function, "arguments")))
    return tuple(calls)


def add_calls(calls: list[ToolCall], pieces: tuple[CallPiece, ...]) -> None:
    """Add pieces to the latest tool calls with their numbers.

    Some servers give all calls one number, so a piece with a name and another id begins a call. An id alone doesn't,
    because others give each piece an id.

    Raises:
        MalformedChunk: there are too many calls, or the arguments of one are too long.
    """
    for number, id, name, arguments in pieces:
        call = next((call for call in reversed(calls) if call.number == number), None)
        if call is None or (id and name and call.id not in ("", id)):
            call = ToolCall(number)
            calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        call.arguments += arguments
        if len(calls) > MAX_CALLS or len(call.arguments) > MAX_ARGUMENTS:
            raise MalformedChunk("tool calls")
