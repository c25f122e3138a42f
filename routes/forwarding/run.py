"""A request that another node carries out, and the frames of its answer, in their form between nodes (msgpack).

Nodes of two versions may run side by side: a new member needs a default, and unknown members are ignored.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal, Self

import msgspec

from actors.calls.call import Call
from actors.quotas.messages import QuotaStatus
from actors.sessions.messages import Caller

PART_BYTES = 524_288
"""The largest number of bytes of an answer's body in one frame."""

HEADERS = ("authorization", "x-api-key", "x-internal-secret", "content-type", "idempotency-key", "accept")
"""The headers that a request is carried out by. `Received.header` and `BusRequest.header` show no others there."""

CREDENTIALS = HEADERS[:3]

DOOR_HEADERS = (
    *HEADERS,
    "a2a-extensions",
    "a2a-version",
    "if-none-match",
    "last-event-id",
    "x-conversation-id",
    "x-stainless-retry-count",
)
"""The same for the routes of open protocols."""

Door = Literal["bus", "tool", "route", "admission"]


class Admitted(msgspec.Struct, frozen=True, array_like=True):
    """An admitted request's caller and quota; its count is stored. `left_zone` is the call's."""

    caller: Caller
    plan: str
    limit: int | None
    used: int
    resets_at: int
    left_zone: bool = False

    @classmethod
    def of(cls, call: Call) -> Self:
        """Return the admission of a call that has been admitted; its plan is empty if it was not counted."""
        quota = call.quota
        if quota is None:
            return cls(call.user, "", None, 0, 0, call.left_zone)
        return cls(call.user, quota.plan, quota.limit, quota.used, quota.resets_at, call.left_zone)

    async def admit(self, call: Call) -> None:
        """Admit the request again, without a look at its credential and without counting it."""
        call.sent_by(self.caller)
        call.left_zone = self.left_zone
        if self.plan:
            call.quota = QuotaStatus(self.plan, self.limit, self.used, self.resets_at)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A request for another node.

    Args:
        key: the key whose shard's owner carries it out.
        door: the front door: the bus, a tool of MCP (its body may have the tool's members only), a gateway route; or
            only its admission is asked for.
        name: the command's service, or the route's name.
        request_id, address: the request's id and the client's address, as the node that received it found them.
        headers: those of HEADERS (DOOR_HEADERS) that it has, by names in lower case.
        body: the body as received, or a tool's arguments as JSON.
        params, args: the parameters of a gateway route's path and query.
        events: whether the answer's pieces are sent as they come.
        admitted: its admission, if it moves on from the node that admitted it.
        moves: how often it has moved on.
        base_url: the gateway's URL as its client knows it, where answers name it.
    """

    key: str
    door: Door
    name: str
    request_id: str
    address: str
    headers: dict[str, str]
    body: bytes = b""
    params: dict[str, str] = {}
    args: dict[str, str] = {}
    events: bool = False
    admitted: Admitted | None = None
    moves: int = 0
    base_url: str = ""

    def moved(self, key: str, admitted: Admitted) -> "Run":
        """Return the run for the node of another key, with no credential, because it is admitted."""
        headers = {name: value for name, value in self.headers.items() if name not in CREDENTIALS}
        return msgspec.structs.replace(self, key=key, headers=headers, admitted=admitted, moves=self.moves + 1)


class Head(msgspec.Struct, frozen=True, array_like=True, tag="head"):
    """The answer; `parts` further frames have the rest of its body."""

    status: int
    headers: dict[str, str]
    body: bytes
    parts: int = 0


class Part(msgspec.Struct, frozen=True, array_like=True, tag="part"):
    """A part of an answer's body."""

    body: bytes


class Opening(msgspec.Struct, frozen=True, array_like=True, tag="opening"):
    """The headers of a streamed answer, before its first piece."""

    headers: dict[str, str]


class Delta(msgspec.Struct, frozen=True, array_like=True, tag="delta"):
    """A piece of a streamed answer."""

    text: str


class Moved(msgspec.Struct, frozen=True, array_like=True, tag="moved"):
    """Nothing has changed yet: the change belongs to the node of this key."""

    key: str
    admitted: Admitted


class Admission(msgspec.Struct, frozen=True, array_like=True, tag="admission"):
    """The answer to the door `admission`."""

    admitted: Admitted


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """A refusal that the node which received the request writes; `error` is of `wire.encode_error`.

    `admitted` has the caller and the quota, for the refusal's headers, if they are known.
    """

    error: bytes
    admitted: Admitted | None = None


Frame = Head | Part | Opening | Delta | Moved | Admission | Refused
Heard = Callable[[Opening | Delta], None]
"""Takes the pieces of a streamed answer."""

_encode = msgspec.msgpack.Encoder().encode
_decode_run = msgspec.msgpack.Decoder(Run).decode
_decode_frame: Callable[[bytes], Frame] = msgspec.msgpack.Decoder(Frame).decode  # pyright: ignore[reportAssignmentType]

Malformed = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Raised for bytes that are no run or no frame."""


def headers_of(header: Callable[[str], str | None], names: Iterable[str] = HEADERS) -> dict[str, str]:
    """Return those of a request's headers that its run needs."""
    sent = ((name, header(name)) for name in names)
    return {name: value for name, value in sent if value is not None}


def encode(value: Run | Frame) -> bytes:
    """Write a run or a frame."""
    return _encode(value)


def decode_run(data: bytes) -> Run:
    """Read a run.

    Raises:
        Malformed: it is none.
    """
    return _decode_run(data)


def decode_frame(data: bytes) -> Frame:
    """Read a frame.

    Raises:
        Malformed: it is none.
    """
    return _decode_frame(data)


def answer_frames(status: int, headers: dict[str, str], body: bytes, rest: Iterable[bytes] = ()) -> Iterator[bytes]:
    """Write an answer as frames; one frame unless its body is long."""
    parts = [part for piece in chain((body,), rest) for part in _parts(piece)]
    yield encode(Head(status, headers, parts[0] if parts else b"", max(len(parts) - 1, 0)))
    for part in parts[1:]:
        yield encode(Part(part))


def _parts(body: bytes) -> Iterator[bytes]:
    if len(body) <= PART_BYTES:
        yield body
        return
    for start in range(0, len(body), PART_BYTES):
        yield body[start : start + PART_BYTES]
