"""What a chat engine is given, what it answers, and the two kinds of engine."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from actors.engines.message import Source
from actors.slices import Steps

if TYPE_CHECKING:
    from actors.engines.window import Window


@dataclass(frozen=True, slots=True)
class Persona:
    """The agent that answers; texts are "" when absent."""

    id: str
    name: str
    description: str
    profile: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a bank that the agent is attached to; the score only orders memories of one turn.

    `position` is the number of its row in the store; messages that quote it are noted by that number.
    """

    bank: str
    name: str
    text: str
    score: float
    position: int = 0


class Turn(NamedTuple):
    """One message to answer.

    `label` is what the conversation is called in sources, `memories` come best first, `window` holds what was
    said before the message. `speaker` is who says the message; "" in a conversation that has only one user.
    `owner_id` is the agent's owner where it is who says the message, else "": only then may an engine use the tools and
    skills of that user. `speaker_id` tells an engine whose turn it is where `speaker` doesn't.
    """

    persona: Persona
    label: str
    memories: tuple[Memory, ...]
    window: "Window"
    message: str
    speaker: str = ""
    owner_id: str = ""
    speaker_id: str = ""


class Reply(NamedTuple):
    """What an engine answers, and what it based that on.

    `echoes` are the seqs of the agents' messages whose words a streamed reply may repeat: what is censored there is
    censored in the reply, too; so are the memories at the `positions`, which a tool brought in.
    """

    text: str
    sources: tuple[Source, ...] = ()
    echoes: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()


class Echo(NamedTuple):
    """A reply may repeat words of the agent's message of this seq."""

    seq: int


class Recalled(NamedTuple):
    """A reply may hold words of the memory at this position, which a tool brought in."""

    position: int


Piece = str | Source | Echo | Recalled
"""What a streaming engine yields: texts, and what they are based on."""


class InstantEngine(Protocol):
    """An engine that answers from memory, with no I/O: within the caller's step, unless there is much to read."""

    @property
    def name(self) -> str:
        """The engine's name in the settings."""
        ...

    def replying(self, turn: Turn) -> Steps[Reply]:
        """Answer the turn's message, in steps between which others may have their turn; adds nothing to its window."""
        ...


@runtime_checkable
class StreamingEngine(Protocol):
    """An engine that awaits the network and yields its answer in pieces."""

    @property
    def name(self) -> str:
        """The engine's name in the settings."""
        ...

    def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        """The pieces of text of the answer to the turn's message, in order; its sources whenever they are known."""
        ...


@runtime_checkable
class Closing(Protocol):
    """An engine that holds something open."""

    async def close(self) -> None:
        """Let go of it."""
        ...


async def collect(pieces: AsyncIterator[Piece], passed_on: Callable[[str], None] | None) -> Reply:
    """Put a streamed reply together, passing its texts on as they come."""
    texts: list[str] = []
    sources: list[Source] = []
    echoes: list[int] = []
    positions: list[int] = []
    async for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            if passed_on is not None:
                passed_on(piece)
        elif isinstance(piece, Echo):
            echoes.append(piece.seq)
        elif isinstance(piece, Recalled):
            positions.append(piece.position)
        else:
            sources.append(piece)
    return Reply("".join(texts), tuple(sources), tuple(echoes), tuple(dict.fromkeys(positions)))
