"""A message of a conversation and the sources it is based on, as engines see them."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec import Struct


class Source(Struct, frozen=True, array_like=True):
    """A text that a reply is based on.

    `of` is the name of the bank, the label of the conversation or the name of the agent; `id` is the memory's
    name, the message's id or the agent's id. `quote` is a literal part of the source's text.
    """

    kind: Literal["bank", "conversation", "profile"]
    of: str
    id: str
    quote: str

    def record(self) -> dict[str, str]:
        """Return the record of the source (docs/contract.md, "Records")."""
        return {self.kind: self.of, "name" if self.kind == "bank" else "id": self.id, "quote": self.quote}

    @classmethod
    def from_record(cls, record: Mapping[str, str]) -> "Source":
        """Return the source of a record, for messages read from the store; the inverse of `record`."""
        if "bank" in record:
            return cls("bank", record["bank"], record["name"], record["quote"])
        if "conversation" in record:
            return cls("conversation", record["conversation"], record["id"], record["quote"])
        return cls("profile", record["profile"], record["id"], record["quote"])


A_PRIVATE_TURN = 2
"""The number of messages in a turn of a private conversation: the user's and the reply."""


def turn_of(seq: int, a_turn: int) -> int:
    """Return the number of the turn that a message belongs to, from 1 on.

    The messages of neighbouring turns are each other's context. `a_turn` is the number of messages in a turn,
    1 in a zone.
    """
    return (seq + a_turn - 1) // a_turn


class Utterance(Struct, frozen=True):
    """One message of a conversation, by `name`; `at` is Unix time in milliseconds.

    `mark`: the reply was cancelled and is not whole, or the message was imported with a client's history.
    `of_destroyed`: it was read for a client, when the agent that said it had been destroyed.
    """

    id: str
    role: Literal["user", "agent"]
    name: str
    content: str
    seq: int
    at: int
    sources: tuple[Source, ...] = ()
    mark: Literal["cancelled", "imported"] | None = None
    of_destroyed: bool = False


class FoundUtterance(NamedTuple):
    """An utterance that matches a question, with its distinct terms; for the rest see `retrieval.found.Found`."""

    utterance: Utterance
    score: float
    share: float
    answers: bool
    terms: tuple[str, ...]
