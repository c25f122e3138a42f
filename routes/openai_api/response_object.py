"""Responses: the object, and the events by which it is streamed."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import orjson

from actors.agents.messages import NothingSaid
from actors.conversations.ids import reply_of
from actors.engines.options import ClientToolCall, Usage
from actors.errors import ServiceError
from actors.wire import json_event
from routes.openai_api.answers import MESSAGE, RESPONSE, Answered, Heading
from routes.openai_api.citations import citations
from routes.openai_api.completions import DONE

Status = Literal["in_progress", "completed", "incomplete", "failed", "cancelled"]
Json = dict[str, Any]

_DEFAULTS: Json = {
    "background": False,
    "completed_at": None,
    "error": None,
    "frequency_penalty": 0,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "temperature": 1,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1,
    "truncation": "disabled",
    "usage": None,
    "user": None,
}
"""The members that a client's request may set, and those that are always so."""


def response_object(heading: Heading, status: Status, echoed: Mapping[str, Any], output: Sequence[Json] = ()) -> Json:
    """Return a response; `echoed` are members of its request."""
    return {
        "id": RESPONSE + heading.number,
        "object": "response",
        "created_at": heading.at // 1000,
        "status": status,
        "model": heading.model,
        "output": list(output),
        "conversation": heading.conversation and {"id": heading.conversation},
        "store": heading.conversation is not None,
        **_DEFAULTS,
        **echoed,
    }


def completed_response(answered: Answered, echoed: Mapping[str, Any]) -> Json:
    """Return the response of a whole answer."""
    status, details = _end_of(answered)
    whole = response_object(answered.heading, status, echoed, output_items(answered, status))
    whole["incomplete_details"] = details
    whole["completed_at"] = answered.at // 1000 if status == "completed" else None
    whole["usage"] = usage_object(answered.usage)
    return whole


def failed_response(heading: Heading, echoed: Mapping[str, Any], message: str) -> Json:
    """Return the response of a run that failed."""
    return response_object(heading, "failed", echoed) | {"error": {"code": "server_error", "message": message}}


def output_items(answered: Answered, status: Status = "completed") -> list[Json]:
    """Return the items of an answer: its message, then calls of the client's tools."""
    state = "completed" if status == "completed" else "incomplete"
    calls = [
        function_call(answered.heading, at, call)
        for at, call in enumerate(answered.calls, start=_messages_of(answered))
    ]
    if not _messages_of(answered):
        return calls
    part = text_part(answered.text, citations(answered.text, answered.sources))
    return [message_item(answered.heading, state, [part]), *calls]


def message_item(heading: Heading, status: str, content: Sequence[Json]) -> Json:
    """Return the item of the agent's message."""
    return {
        "type": "message",
        "id": item_id(heading),
        "status": status,
        "role": "assistant",
        "content": list(content),
    }


def function_call(heading: Heading, at: int, call: ClientToolCall) -> Json:
    """Return the item of a call of the client's function; `at` is its index in the output."""
    return {
        "type": "function_call",
        "id": f"fc_{heading.number}_{at}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def text_part(text: str, annotations: Sequence[Json] = ()) -> Json:
    """Return the one part of the agent's message."""
    return {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": []}


def item_id(heading: Heading) -> str:
    """Return the id of the item of the agent's message, which is that of the reply."""
    return reply_of(MESSAGE + heading.number)


def usage_object(usage: Usage) -> Json:
    """Return the usage of a response."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def _messages_of(answered: Answered) -> int:
    return 0 if answered.calls and not answered.text else 1


def _end_of(answered: Answered) -> tuple[Status, Json | None]:
    if answered.cancelled:
        return "cancelled", None
    if answered.finish == "length":
        return "incomplete", {"reason": "max_output_tokens"}
    if answered.finish == "content_filter":
        return "incomplete", {"reason": "content_filter"}
    return "completed", None


class Events:
    """Writes the events of one streamed response (Open Responses, "Streaming")."""

    def __init__(self, heading: Heading, echoed: Mapping[str, Any]) -> None:
        self._heading = heading
        self._echoed = echoed
        self._number = 0
        self._in_message = False

    def first(self) -> bytes:
        """Write the events before the first text."""
        begun = response_object(self._heading, "in_progress", self._echoed)
        return self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)

    def text(self, piece: str) -> bytes:
        """Write a piece of the text."""
        return self._begin_message() + self._part_event("response.output_text.delta", delta=piece, logprobs=[])

    def last(self, answered: Answered) -> bytes:
        """Write what follows the text: annotations, the ends of the parts, calls of tools, the whole response."""
        whole = completed_response(answered, self._echoed)
        items: list[Json] = whole["output"]
        pieces: list[bytes] = []
        for at, item in enumerate(items):
            pieces.append(self._message_end(item) if item["type"] == "message" else self._call(at, item))
        kind = "completed" if whole["status"] == "completed" else "incomplete"
        pieces.append(self._event(f"response.{kind}", response=whole))
        return b"".join(pieces) + DONE

    def failed(self, error: ServiceError) -> bytes:
        """Write the end of a response that failed after its beginning, or was cancelled before a word was said."""
        if isinstance(error, NothingSaid):  # OpenAI has no event for a cancelled response
            kind, whole = "incomplete", response_object(self._heading, "cancelled", self._echoed)
        else:
            kind, whole = "failed", failed_response(self._heading, self._echoed, error.note)
        return self._event(f"response.{kind}", response=whole) + DONE

    def _begin_message(self) -> bytes:
        if self._in_message:
            return b""
        self._in_message = True
        added = message_item(self._heading, "in_progress", ())
        return self._event("response.output_item.added", output_index=0, item=added) + self._part_event(
            "response.content_part.added", part=text_part("")
        )

    def _message_end(self, item: Json) -> bytes:
        part = item["content"][0]
        pieces = [self._begin_message()]
        for at, annotation in enumerate(part["annotations"]):
            kind = "response.output_text.annotation.added"
            pieces.append(self._part_event(kind, annotation_index=at, annotation=annotation))
        pieces.append(self._part_event("response.output_text.done", text=part["text"], logprobs=[]))
        pieces.append(self._part_event("response.content_part.done", part=part))
        pieces.append(self._event("response.output_item.done", output_index=0, item=item))
        return b"".join(pieces)

    def _call(self, at: int, item: Json) -> bytes:
        place = {"item_id": item["id"], "output_index": at}
        begun = item | {"arguments": "", "status": "in_progress"}
        arguments = item["arguments"]
        return b"".join(
            [
                self._event("response.output_item.added", output_index=at, item=begun),
                self._event("response.function_call_arguments.delta", **place, delta=arguments),
                self._event("response.function_call_arguments.done", **place, name=item["name"], arguments=arguments),
                self._event("response.output_item.done", output_index=at, item=item),
            ]
        )

    def _part_event(self, kind: str, **members: Any) -> bytes:
        return self._event(kind, item_id=item_id(self._heading), output_index=0, content_index=0, **members)

    def _event(self, kind: str, **members: Any) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **members}
        self._number += 1
        return json_event(orjson.dumps(event), kind)
