"""The replies in zones that engines work on in tasks: none is kept of an agent that is silenced meanwhile."""

from collections.abc import Iterable

from msgspec import structs

from actors.agents.messages import AgentsSilenced
from actors.agents.silence import silence_of
from actors.domains.messages import Said, SayInZone
from actors.domains.zone import Zone
from actors.engines.answering import EngineRunner, Outcome
from actors.engines.halting import Halt
from actors.engines.message import Utterance
from actors.engines.turn import Memory, Persona, Turn
from actors.idempotency.records import Receipt
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell, Progress
from persistence.store import Store


class Replied(OwnTell, frozen=True):
    """A streaming engine has finished for one agent."""

    zone: Zone
    persona: Persona
    memories: tuple[Memory, ...]
    outcome: Outcome
    said: Utterance
    answer: AsyncFuture[Said] | None
    receipt: Receipt | None


class RepliesFound(OwnTell, frozen=True):
    """An instant engine that worked in a task has finished its replies to a message that is not stored yet."""

    message: SayInZone
    outcomes: list[Outcome]
    answer: AsyncFuture[Said]
    receipt: Receipt | None


class RepliesUnderWay:
    """The replies under way in this process; `Core` tells it of agents that are silenced."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._streamed: dict[Halt, tuple[str, str]] = {}  # with the agent and its owner

    async def stream(self, engine: EngineRunner, turn: Turn, owner_id: str, progress: Progress | None) -> Outcome:
        """Let a streaming engine reply for an owner's agent; if the agent is silenced, it ends at once."""
        agent_id, halt = turn.persona.id, Halt()
        self._streamed[halt] = agent_id, owner_id  # before the look at the store, so that no silence is missed
        try:
            silence = await silence_of(self._store, agent_id)
            if silence is not None:
                return silence
            outcome = await engine.stream(structs.replace(turn, halt=halt), progress)
        finally:
            del self._streamed[halt]
        return await silence_of(self._store, agent_id) or outcome

    async def spoken(self, answering: Iterable[Persona], outcomes: Iterable[Outcome]) -> list[Outcome]:
        """Return the outcomes of an instant engine that worked in a task, without those of silenced agents."""
        replies = zip(answering, outcomes, strict=True)
        return [await silence_of(self._store, persona.id) or outcome for persona, outcome in replies]

    def agents_silenced(self, silenced: AgentsSilenced) -> None:
        """End the replies of an agent, or of a user's agents, at once."""
        for halt, agent in list(self._streamed.items()):
            if silenced.id in agent:
                halt.call()
