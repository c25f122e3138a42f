"""Server-sent events (WHATWG HTML, 9.2) from the bytes of an answer."""

from typing import Any, NamedTuple

from parley_client._decoding import json_of
from parley_client.errors import UnexpectedAnswer


class _Members(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        raise UnexpectedAnswer(f"an event of the stream has no {name}: is this a gateway's address?")


def members_of(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of an event; a member that it lacks is UnexpectedAnswer, too.

    Raises:
        UnexpectedAnswer: it is something else.
    """
    try:
        value: Any = json_of(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UnexpectedAnswer("an event of the stream is no JSON object: is this a gateway's address?")
    return _Members(value)  # pyright: ignore[reportUnknownArgumentType]


class ServerSentEvent(NamedTuple):
    """An event: its type, its data, and the id from which a new connection goes on."""

    type: str
    data: str
    id: str

    def members(self) -> dict[str, Any]:
        """Return the data, a JSON object; a member that it lacks is UnexpectedAnswer, too.

        Raises:
            UnexpectedAnswer: the data is something else.
        """
        return members_of(self.data)


class EventReader:
    """Takes the bytes of a stream in pieces of any size, and gives whole events. `last_id` is where it stands."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._rest = b""
        self._id = last_id
        self._type = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that end in this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._end()
        name, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "event":
            self._type = value
        elif name == "data":
            self._data.append(value)
        return None

    def _end(self) -> ServerSentEvent | None:
        self.last_id = self._id
        kind, data = self._type or "message", self._data
        self._type, self._data = "", []
        return ServerSentEvent(kind, "\n".join(data), self.last_id) if data else None
