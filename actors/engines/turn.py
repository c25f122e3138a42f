"""The input and output of a chat engine, and the two kinds of engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from actors.engines.halting import Halt
from actors.engines.message import Source
from actors.engines.options import ClientToolCall, EngineOptions, Usage
from actors.slices import Steps

if TYPE_CHECKING:
    from actors.engines.message import FoundUtterance
    from actors.engines.window import Window
    from actors.retrieval.question import Question


class Persona(Struct, frozen=True):
    """The agent that answers; texts are "" when absent."""

    id: str
    name: str
    description: str
    profile: str


class Memory(Struct, frozen=True):
    """A memory of a bank that the agent is attached to; the score only orders memories of one turn.

    `position` is the number of its row in the store, by which messages that quote the memory are noted. `share` is the
    share of the question's terms that it accounts for, 0 to 1; `answers`: whether that is enough to quote it.
    """

    bank: str
    name: str
    text: str
    score: float
    position: int = 0
    share: float = 0.0
    answers: bool = False


class Archive(Protocol):
    """The whole conversation, however long. Searches never raise; on an error they find nothing in the store."""

    async def answers(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Return the indexed messages that answer a question, best first."""
        ...

    async def best(self, question: Question, before: int, limit: int) -> list[FoundUtterance]:
        """Return the messages before a seq that match a question best, best first, those in memory included."""
        ...


class Turn(Struct, frozen=True):
    """One message to answer.

    Attributes:
        persona: the agent that answers.
        label: the name of the conversation in sources.
        memories: from the agent's banks, best first.
        window: the messages before this one.
        message: the text to answer.
        speaker: the name of the author of the message; "" in a conversation that has only one user.
        owner_id: the agent's owner if the owner is the author of the message, else "". Only then may an engine use that
            user's tools and skills.
        speaker_id: the id of the user whose turn it is, where `speaker` is "".
        archive: searches messages from before the window; None if there are none, and once they were searched.
        older: the messages that were found in the whole conversation; None before the look-up.
        options: the client's wishes for the answer; None if it has none.
        halt: ends the turn early, for a streaming engine; None where nothing does.
    """

    persona: Persona
    label: str
    memories: tuple[Memory, ...]
    window: Window
    message: str
    speaker: str = ""
    owner_id: str = ""
    speaker_id: str = ""
    archive: Archive | None = None
    older: Sequence[FoundUtterance] | None = None
    options: EngineOptions | None = None
    halt: Halt | None = None


Finish = Literal["stop", "length", "tool_calls", "content_filter"]
"""The reason for the end of an answer, as chat completions name it."""


class Reply(Struct, frozen=True, array_like=True):
    """An engine's answer, and the sources it is based on.

    `echoes` are the seqs of the agents' messages whose words the reply may repeat, `positions` the memories from
    tools' answers. Text that is censored in one of these is also censored in the reply.

    `usage` is None if the engine counts none; `calls` are of the client's functions. `halted`: the turn was ended
    before the answer was complete.
    """

    text: str
    sources: tuple[Source, ...] = ()
    echoes: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    usage: Usage | None = None
    calls: tuple[ClientToolCall, ...] = ()
    finish: Finish = "stop"
    halted: bool = False


class LookUp(Struct, frozen=True):
    """The result of an instant engine that first needs the older messages which answer a question.

    `found` are those that the window has.
    """

    question: Question
    found: Sequence[FoundUtterance]


class Echo(NamedTuple):
    """The reply may repeat words of the agent's message with this seq."""

    seq: int


class Recalled(NamedTuple):
    """The reply may contain words of the memory at this position, from a tool's answer."""

    position: int


class Finished(NamedTuple):
    """The last text of the answer has come; only what it is based on may follow."""

    reason: Finish = "stop"


Piece = str | Source | Echo | Recalled | Usage | ClientToolCall | Finished
"""An item that a streaming engine yields: a text, something that the reply is based on, or a report about it."""


class InstantEngine(Protocol):
    """An engine that answers from memory, with no I/O: within the caller's step, unless there is much to read."""

    @property
    def name(self) -> str:
        """The engine's name in the settings."""
        ...

    def replying(self, turn: Turn) -> Steps[Reply | LookUp]:
        """Answer the turn's message in steps, between which other work may run; adds nothing to the window.

        Returns a `LookUp` only if the turn has an `archive`; it then gets the turn again, with `older`.
        """
        ...


@runtime_checkable
class StreamingEngine(Protocol):
    """An engine that awaits the network and yields its answer in pieces."""

    @property
    def name(self) -> str:
        """The engine's name in the settings."""
        ...

    def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        """Yield the texts of the answer to the turn's message, in order; sources may come at any time.

        If the turn is halted while the engine waits, it is cancelled there. It may then yield what its texts are based
        on instead of raising the `CancelledError`, if `turn.halt.called`.
        """
        ...


Engine = InstantEngine | StreamingEngine


@runtime_checkable
class Closing(Protocol):
    """An engine with connections to close."""

    async def close(self) -> None:
        """Close the connections."""
        ...
