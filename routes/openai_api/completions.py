"""Chat completions, whole and in chunks."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from actors.engines.options import ClientToolCall, Usage
from actors.errors import ServiceError
from actors.wire import json_event
from routes.openai_api.answers import COMPLETION, Answered, Heading
from routes.openai_api.citations import nested_citations
from routes.openai_api.refusals import error_object

DONE = b"data: [DONE]\n\n"


def completion(answered: Answered, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion; `metadata` is the request's."""
    text, calls = answered.text, answered.calls
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text if text or not calls else None,
        "refusal": None,
        "annotations": nested_citations(text, answered.sources),
    }
    if calls:
        message["tool_calls"] = _calls(calls)
    whole = _members(answered.heading, "chat.completion")
    whole["choices"] = [{"index": 0, "message": message, "logprobs": None, "finish_reason": answered.finish}]
    whole["usage"] = usage_object(answered.usage)
    if answered.heading.conversation is not None:
        whole["metadata"] = {**metadata, "conversation_id": answered.heading.conversation}
    return whole


class Chunks:
    """Writes the chunks of one streamed completion, as server-sent events."""

    def __init__(self, heading: Heading, include_usage: bool) -> None:
        self._members = _members(heading, "chat.completion.chunk")
        self._include_usage = include_usage

    def first(self) -> bytes:
        """Write the chunk that comes before the first text."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def text(self, piece: str) -> bytes:
        """Write a piece of the text."""
        return self._chunk({"content": piece})

    def last(self, answered: Answered) -> bytes:
        """Write what follows the text: calls of tools, the last piece with the annotations, the usage, the end."""
        calls = [{"index": at} | call for at, call in enumerate(_calls(answered.calls))]
        pieces = [self._chunk({"tool_calls": calls})] if calls else []
        annotations = nested_citations(answered.text, answered.sources)
        pieces.append(self._chunk({"annotations": annotations} if annotations else {}, answered.finish))
        if self._include_usage:
            pieces.append(_event(self._members | {"choices": [], "usage": usage_object(answered.usage)}))
        return b"".join(pieces) + DONE

    def failed(self, error: ServiceError) -> bytes:
        """Write an error as the end."""
        return _event({"error": error_object(error)})

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        chunk = self._members | {
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }
        if self._include_usage:
            chunk["usage"] = None
        return _event(chunk)


def usage_object(usage: Usage) -> dict[str, Any]:
    """Return the usage of a completion."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _members(heading: Heading, kind: str) -> dict[str, Any]:
    return {
        "id": COMPLETION + heading.number,
        "object": kind,
        "created": heading.at // 1000,
        "model": heading.model,
        "system_fingerprint": None,
    }


def _calls(calls: Sequence[ClientToolCall]) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]


def _event(value: dict[str, Any]) -> bytes:
    return json_event(orjson.dumps(value))
