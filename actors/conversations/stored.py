"""Messages as rows of the store, and the rows that note a message's quotes of memories."""

from collections.abc import Mapping, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import orjson
from msgspec import structs

from actors.engines.answering import Outcome
from actors.engines.message import Source, Utterance
from actors.engines.turn import Memory, Reply, Turn
from actors.errors import Overloaded, RefusedAlone, ServiceError
from actors.idempotency.records import Receipt
from persistence import agents, banks, conversations, quotes
from persistence.conversations import MessageRow
from persistence.memories import censored_among
from persistence.quotes import Talk
from persistence.store import Store, StoreUnavailable, Write

JUST_NOW_MS = 30_000
"""More milliseconds than a commit takes, and the notice of it to the actors that have to reload."""

_MARKS: Mapping[str | None, Literal["cancelled", "imported"] | None] = {
    None: None,
    "cancelled": "cancelled",
    "imported": "imported",
}

S = TypeVar("S", int, str)
S_contra = TypeVar("S_contra", int, str, contravariant=True)


def append(conversation_id: int, message: Utterance, answers: int | None = None) -> Write:
    """Make the write that adds a message to a private conversation.

    `answers` is the seq of the user's message that it is the reply to, if that does not stand before it.
    """
    if message.mark is None and answers is None:
        return conversations.append(conversation_id, *columns_of(message))
    return conversations.append_marked(conversation_id, *columns_of(message), message.mark, answers)


def columns_of(message: Utterance) -> tuple[int, str, str, str, str, str | None, int]:
    """Return the values of a message's row, in the order of `MessageRow`."""
    sources = message.sources
    stored = orjson.dumps([source.record() for source in sources]).decode() if sources else None
    return message.seq, message.id, message.role, message.name, message.content, stored, message.at


def from_row(row: MessageRow) -> Utterance:
    """Return the message of a row."""
    return Utterance(
        id=row.id,
        role="user" if row.role == "user" else "agent",
        name=row.name,
        content=row.content,
        seq=row.seq,
        at=row.at,
        sources=tuple(Source.from_record(source) for source in orjson.loads(row.sources or b"[]")),
        mark=_MARKS[row.mark],
        of_destroyed=row.of_destroyed,
    )


class _Quote(Protocol[S_contra]):
    def __call__(self, position: int, stream: S_contra, seq: int, source: int, /, *, whole: bool = False) -> Write: ...


class _Echo(Protocol[S_contra]):
    def __call__(self, stream: S_contra, seqs: Sequence[int], seq: int, since: int, /) -> Write: ...


class QuoteNotes(NamedTuple, Generic[S]):
    """Makes the notes of a message's quotes, so that censoring a memory redacts the message.

    `S` is the id of a message's stream: of the private conversation, or of the zone.
    """

    said_in: Talk
    quote: _Quote[S]
    echo: _Echo[S]

    def notes(self, stream: S, message: Utterance, memories: tuple[Memory, ...], *, whole: bool = False) -> list[Write]:
        """Note the memories that a reply quotes; `whole`: it may contain their words anywhere."""
        positions = {(memory.bank, memory.name): memory.position for memory in memories}
        return [
            self.quote(positions[source.of, source.id], stream, message.seq, number, whole=whole)
            for number, source in enumerate(message.sources)
            if source.kind == "bank" and (source.of, source.id) in positions
        ]

    def unseen_notes(self, stream: S, message: Utterance, reply: Reply, receipt: Receipt | None) -> list[Write]:
        """Note the memories whose words a reply may repeat without showing them as sources.

        The unit is refused if a message that it may repeat was redacted just now, because the engine may have read that
        message before. (Whoever reads a redacted message later is loaded after the redaction.)

        The answer that a receipt keeps may repeat the same texts, so it gets the notes of the message.
        """
        notes = [self.quote(position, stream, message.seq, quotes.UNSEEN, whole=True) for position in reply.positions]
        if reply.echoes:
            notes.append(self.echo(stream, reply.echoes, message.seq, message.at - JUST_NOW_MS))
        if notes and receipt is not None:
            notes += receipt.quotes_alike(self.said_in, stream, message.seq)
        return notes


PRIVATE_QUOTES = QuoteNotes[int]("conversation", quotes.quote, quotes.echo)
ZONE_QUOTES = QuoteNotes[str]("zone", quotes.quote_in_zone, quotes.echo_in_zone)


def may_be_refused(message: Utterance, reply: Reply, memories: tuple[Memory, ...]) -> bool:
    """Return whether a reply, or the message that it became, has notes, which the store refuses after a censoring."""
    return bool(reply.echoes or reply.positions or quoted_positions(message, memories))


def quoted_positions(message: Utterance | Reply, memories: tuple[Memory, ...]) -> tuple[int, ...]:
    """Return the positions of the given memories that a message, or a reply that becomes one, quotes."""
    if not memories:
        return ()
    quoted = {(source.of, source.id) for source in message.sources if source.kind == "bank"}
    return tuple(memory.position for memory in memories if (memory.bank, memory.name) in quoted)


async def is_seen(store: Store, agent_id: str, user_id: str) -> bool:
    """Return whether another user's agent is open to a user whose message may have waited."""
    try:
        return bool(await store.fetch(agents.opened_to(agent_id, user_id)))
    except StoreUnavailable:  # then the reply can't be stored either
        return True


async def in_sight(store: Store, turn: Turn) -> Turn:
    """Return a turn whose message may have waited, without memories of banks that are out of sight since then.

    Those are banks that its agent may not read any more, or its speaker not see.
    """
    if not turn.memories:
        return turn
    positions = [memory.position for memory in turn.memories]
    try:
        shown = set(await store.fetch(banks.shown_among(positions, turn.persona.id, turn.speaker_id)))
    except StoreUnavailable:  # then the reply can't be stored either
        shown = set[int]()
    return structs.replace(turn, memories=tuple([memory for memory in turn.memories if memory.position in shown]))


async def unless_censored(store: Store, outcome: Outcome, memories: tuple[Memory, ...]) -> Outcome:
    """Return the outcome of a turn that took long, or an error if it quotes a memory that was censored meanwhile.

    The store refuses the unit of such a reply too (`CensoredMeanwhile`), but only once it has it.
    """
    if isinstance(outcome, ServiceError):
        return outcome
    positions = (*quoted_positions(outcome, memories), *outcome.positions)
    try:
        return censored_meanwhile() if positions and await store.fetch(censored_among(positions)) else outcome
    except StoreUnavailable:
        return outcome


class CensoredMeanwhile(RefusedAlone, Overloaded):
    """The reply draws on texts that were censored before it was stored."""

    undone = True


def censored_meanwhile() -> CensoredMeanwhile:
    """Make the error for a chat with texts that were censored before the agent answered."""
    return CensoredMeanwhile(
        "A memory that the answer draws on was censored meanwhile; look at AP_History, then try again."
    )
