"""Server-sent events (WHATWG HTML, 9.2) from the bytes of an answer."""

from typing import NamedTuple


class ServerSentEvent(NamedTuple):
    """An event: its type, its data, and the id from which a new connection goes on."""

    type: str
    data: str
    id: str


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
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r").decode())) is not None]

    def _line(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._end()
        name, _, value = line.partition(":")
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
