"""A client's options for an answer of the engine, and the engine's report about it."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct


class EngineOptions(Struct, frozen=True):
    """A client's wishes for one answer. The engine `openai` follows them; the engine `recall` ignores them.

    Attributes:
        instructions: texts that stand beside the agent's own instructions, after them.
        tools: functions of the client that the model may call, as chat completions write them: `{"type": "function",
            "function": {"name", "description", "parameters"}}`. A call of one ends the turn and goes to the client.
        tool_choice: "none" keeps the model from calling the client's functions.
        parallel_tool_calls: whether it may call several functions at once, where it may call any.
        stop: texts before which the answer ends.
        max_tokens: of each answer of the model, at least 1.
        temperature: 0 to 2; goes before the agent's own.
        top_p: 0 to 1.
        seed: for servers that repeat an answer by it.
        response_format: as chat completions write it, for example `{"type": "json_object"}`.
    """

    instructions: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    parallel_tool_calls: bool = True
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None


class Usage(Struct, frozen=True, array_like=True):
    """The number of tokens that an answer took, as the model counts them or estimated."""

    prompt_tokens: int
    completion_tokens: int

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of two."""
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


class ClientToolCall(Struct, frozen=True, array_like=True):
    """The model calls a function of the client; `arguments` as the model wrote them, perhaps not JSON."""

    id: str
    name: str
    arguments: str


PER_MESSAGE = 4
"""The estimated number of tokens that a message costs in addition to its text."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too high: one for four ASCII characters, or for one other character."""
    if text.isascii():
        return (len(text) + 3) // 4
    plain = len(text.encode("ascii", "ignore"))
    return (plain + 3) // 4 + len(text) - plain


def estimated_usage(prompt: Iterable[str], reply: str) -> Usage:
    """Estimate the usage of an answer by `estimate_tokens`, with PER_MESSAGE more for each text of the prompt."""
    return Usage(sum([estimate_tokens(text) + PER_MESSAGE for text in prompt]), estimate_tokens(reply))
