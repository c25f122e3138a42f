"""The part of the agent's actor that its collaborators use instead of the actor's class."""

from __future__ import annotations

from typing import Protocol

from actors.conversations.host import ChatHost
from actors.engines.turn import Persona
from persistence.agents import AgentRow


class AgentHost(ChatHost, Protocol):
    """The agent's actor as its private chats see it."""

    messages: int
    """The number of messages in all private conversations."""

    @property
    def agent(self) -> AgentRow | None:
        """The agent; None once it is destroyed."""
        ...

    @property
    def persona(self) -> Persona:
        """The agent as engines see it."""
        ...

    def retire(self) -> None:
        """Take no more messages, so that the next ask loads the agent again."""
        ...
