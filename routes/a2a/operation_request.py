"""A request for an operation, whatever binding it came through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actors.calls.call import Call
from actors.commands.tasks import TaskView, task_of
from actors.errors import NotFound
from persistence.agents import AgentRow
from routes.a2a.errors import TaskNotFound
from routes.a2a.reading import Members
from routes.doors.answer_stream import AnswerStream
from routes.gateway.route import RouteCall

Wrap = Callable[[Any], bytes]
"""Writes a StreamResponse as an event of the binding."""

STREAMED = object()
"""The result of an operation whose answer was streamed."""


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """An operation to carry out for a caller, with an agent that the caller may see.

    `params` are its parameters as the client sent them; `wrap` writes an event of its stream.
    """

    request: RouteCall
    agent: AgentRow
    params: Members
    wrap: Wrap

    @property
    def call(self) -> Call:
        """The caller's request."""
        return self.request.call

    @property
    def stream(self) -> AnswerStream:
        """The stream of the answer. Only operations that stream use this."""
        assert self.request.stream is not None
        return self.request.stream

    def send(self, value: Any) -> None:
        """Send an event, after the head if it is the first one."""
        if not self.stream.begun:
            self.stream.begin()
        self.stream.send(self.wrap(value))

    async def task(self, id: str) -> TaskView:
        """Read one of the caller's tasks with the agent.

        Raises:
            TaskNotFound: there is none of this id.
        """
        try:
            return await task_of(self.call, self.agent.id, id)
        except NotFound:
            raise TaskNotFound("There is no such task of yours with this agent.") from None
