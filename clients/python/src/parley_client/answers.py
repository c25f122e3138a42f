"""Answers of commands, and the events of streams."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from parley_client._decoding import decode, member
from parley_client._events import members_of
from parley_client.errors import UnexpectedAnswer
from parley_client.records import Header, Membership, Message

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer of a command (TPSResponse), its records as JSON values.

    Args:
        header: service, request id, time, the selected names, and the cursor of the next page.
        profile: the records of `profile`.
        content: the records of `content`.
        headers: the HTTP headers, whose names match in any case.
    """

    header: Header
    profile: tuple[Mapping[str, Any], ...] = field(repr=False)  # a token or a secret may be in it
    content: tuple[Mapping[str, Any], ...] = field(repr=False)
    headers: Mapping[str, str]

    @property
    def replayed(self) -> bool:
        """Whether it is the kept answer of an earlier try."""
        return "Idempotency-Replayed" in self.headers

    def record(self, kind: type[T]) -> T:
        """Return the record of `profile`.

        Raises:
            UnexpectedAnswer: there is none.
        """
        if not self.profile:
            raise UnexpectedAnswer(f"the answer of {self.header.service} has no {kind.__name__}")
        return decode(kind, self.profile[0])

    def records(self, kind: type[T]) -> tuple[T, ...]:
        """Return the records of `profile`."""
        return tuple(decode(kind, record) for record in self.profile)

    def item(self, kind: type[T], number: int = 0) -> T:
        """Return a record of `content`.

        Raises:
            UnexpectedAnswer: there is none.
        """
        if len(self.content) <= number:
            raise UnexpectedAnswer(f"the answer of {self.header.service} has no {kind.__name__}")
        return decode(kind, self.content[number])

    def items(self, kind: type[T]) -> tuple[T, ...]:
        """Return the records of `content`."""
        return tuple(decode(kind, record) for record in self.content)


def answer_of(body: Any, headers: Mapping[str, str]) -> Answer:
    """Return a TPSResponse as an answer.

    Raises:
        UnexpectedAnswer: it is none.
    """
    if not isinstance(body, dict) or not {"header", "profile", "content"} <= body.keys():  # pyright: ignore[reportUnknownMemberType]
        raise UnexpectedAnswer("the answer is no TPSResponse: is this a gateway's address?")
    profile, content = (member(tuple[Any, ...], body, name) for name in ("profile", "content"))
    return Answer(member(Header, body, "header"), profile, content, headers)


@dataclass(frozen=True, slots=True)
class Page(Generic[T, R]):
    """A page of a list.

    Args:
        items: its entries.
        record: the entity whose entries they are, such as the zone of messages; None in lists of entities.
        next: the cursor of the next page, or None.
    """

    items: tuple[T, ...]
    record: R
    next: str | None


def listed(kind: type[T], body: Any, name: str) -> tuple[T, ...]:
    """Return the records that a gateway route lists under a name.

    Raises:
        UnexpectedAnswer: it lists none.
    """
    return tuple(decode(kind, record) for record in member(tuple[Any, ...], body, name))


def page_of(kind: type[T], body: Any, name: str) -> Page[T, None]:
    """Return a page of a gateway route.

    Raises:
        UnexpectedAnswer: it is none.
    """
    return Page(listed(kind, body, name), None, None if body.get("next") is None else member(str, body, "next"))


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """A piece of a reply that is being written; with `anew` it begins again, and the pieces before don't count."""

    text: str
    id: str
    anew: bool = False


@dataclass(frozen=True, slots=True)
class ChatDone:
    """The end of a streamed chat: the user's message and the whole reply, with its sources."""

    message: Message
    reply: Message


@dataclass(frozen=True, slots=True)
class ZoneMessage:
    """A message said in a zone; `id` is where a later stream goes on."""

    message: Message
    id: str


@dataclass(frozen=True, slots=True)
class ZoneMembership:
    """A change of a membership in the zone's domain; `id` is where a later stream goes on."""

    membership: Membership
    id: str


@dataclass(frozen=True, slots=True)
class StreamSecret:
    """The beginning of a stream of events: the secret that signs them; `id` is where a later stream goes on."""

    secret: str = field(repr=False)
    id: str


@dataclass(frozen=True, slots=True)
class SignedEvent:
    """An event as a webhook endpoint gets it: the headers with its signatures, and the raw body.

    `id` is where a later stream goes on. `parley_client.webhooks.verify` verifies it with the stream's secret.
    """

    id: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        """The body's JSON: id, type, created_at and data.

        Raises:
            UnexpectedAnswer: it is no JSON object.
        """
        return members_of(self.body)
