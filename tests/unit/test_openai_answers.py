"""Answers in the shapes of OpenAI's API, checked with the types of the official client."""

from typing import Any

import orjson
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from actors import errors
from actors.engines.message import Source
from actors.engines.options import ClientToolCall, Usage
from routes.openai_api.answers import Answered, Heading, message_of_response
from routes.openai_api.completions import Chunks, completion
from routes.openai_api.refusals import (
    CODES,
    BadRequest,
    error_object,
    mended_by_repeat,
    no_such_model,
    no_such_response,
    unsupported,
)
from routes.openai_api.response_object import Events, completed_response, failed_response

NUMBER = "0123456789abcdef0123456789abcdef"
HEADING = Heading(NUMBER, "scout", 1_790_000_000_123, "cnv_000000000000000100")
TEXT = "The bank says: It is far. 🌙 And you said: Hello."
SOURCES = (
    Source("bank", "moon-facts", "far/1", "It is far."),
    Source("conversation", "scout", "msg_1", "Hello."),
    Source("profile", "scout", "agt_1", "not in the text"),
)
ANSWERED = Answered(HEADING, TEXT, 1_790_000_001_999, Usage(20, 10), SOURCES)
CALL = ClientToolCall("call_1", "look", '{"at": "Moon"}')


def events_of(written: bytes) -> list[Any]:
    lines = [line for line in written.decode().splitlines() if line.startswith("data: ")]
    return [orjson.loads(line[6:]) for line in lines if line != "data: [DONE]"]


def test_a_completion_is_of_the_clients_type() -> None:
    whole = ChatCompletion.model_validate(completion(ANSWERED, {"a": "b"}), strict=True)
    assert whole.id == f"chatcmpl-{NUMBER}"
    assert (whole.created, whole.model) == (1_790_000_000, "scout")
    assert whole.metadata == {"a": "b", "conversation_id": "cnv_000000000000000100"}
    choice = whole.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", TEXT, "stop")
    assert choice.message.tool_calls is None
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (20, 10, 30)


def test_sources_are_citations_with_their_place_in_the_text() -> None:
    whole = ChatCompletion.model_validate(completion(ANSWERED, {}), strict=True)
    citations = [annotation.url_citation for annotation in whole.choices[0].message.annotations or ()]
    assert [(one.url, one.title, TEXT[one.start_index : one.end_index]) for one in citations] == [
        ("parley://bank/moon-facts/far%2F1", "far/1", "It is far."),
        ("parley://conversation/msg_1", "scout", "Hello."),
        ("parley://profile/agt_1", "scout", TEXT),
    ]
    flat = completed_response(ANSWERED, {})["output"][0]["content"][0]["annotations"]
    assert [{"type": one.pop("type"), "url_citation": one} for one in flat] == [
        annotation.model_dump() for annotation in whole.choices[0].message.annotations or ()
    ]


def test_calls_of_the_clients_tools_are_in_a_completion() -> None:
    answered = Answered(HEADING, "", 0, Usage(1, 1), calls=(CALL,), finish="tool_calls")
    choice = ChatCompletion.model_validate(completion(answered, {}), strict=True).choices[0]
    assert (choice.message.content, choice.finish_reason) == (None, "tool_calls")
    assert [call.model_dump() for call in choice.message.tool_calls or ()] == [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "Moon"}'}}
    ]


@pytest.mark.parametrize("include_usage", [False, True])
def test_chunks_are_of_the_clients_type_and_make_up_the_completion(include_usage: bool) -> None:
    chunks = Chunks(HEADING, include_usage)
    written = chunks.first() + chunks.text(TEXT[:10]) + chunks.text(TEXT[10:]) + chunks.last(ANSWERED)
    assert written.endswith(b"\n\ndata: [DONE]\n\n")
    read = [ChatCompletionChunk.model_validate(event, strict=True) for event in events_of(written)]
    assert {(chunk.id, chunk.created, chunk.model) for chunk in read} == {
        (f"chatcmpl-{NUMBER}", 1_790_000_000, "scout")
    }
    deltas = [choice.delta for chunk in read for choice in chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    reasons = [choice.finish_reason for chunk in read for choice in chunk.choices]
    assert reasons == [None] * (len(reasons) - 1) + ["stop"]
    assert (deltas[-1].model_extra or {})["annotations"] == completion(ANSWERED, {})["choices"][0]["message"][
        "annotations"
    ]
    usages = [chunk.usage for chunk in read]
    assert [usage.total_tokens for usage in usages if usage] == ([30] if include_usage else [])
    assert all(("usage" in event) is include_usage for event in events_of(written))
    if include_usage:
        assert (read[-1].choices, usages[-1] is None) == ([], False)


def test_a_chunk_has_the_calls_of_tools() -> None:
    answered = Answered(HEADING, "", 0, Usage(1, 1), calls=(CALL, CALL), finish="tool_calls")
    read = [ChatCompletionChunk.model_validate(event) for event in events_of(Chunks(HEADING, False).last(answered))]
    calls = read[0].choices[0].delta.tool_calls or []
    assert [(call.index, call.id, call.function and call.function.name) for call in calls] == [
        (0, "call_1", "look"),
        (1, "call_1", "look"),
    ]
    assert read[1].choices[0].finish_reason == "tool_calls"


def test_a_response_is_of_the_clients_type() -> None:
    whole = Response.model_validate(completed_response(ANSWERED, {"temperature": 0.5, "metadata": {"a": "b"}}))
    assert (whole.id, whole.status, whole.model) == (f"resp_{NUMBER}", "completed", "scout")
    assert (whole.created_at, whole.completed_at) == (1_790_000_000, 1_790_000_001)
    assert whole.output_text == TEXT
    assert whole.conversation is not None
    assert whole.conversation.id == "cnv_000000000000000100"
    assert (whole.temperature, whole.metadata) == (0.5, {"a": "b"})
    assert whole.usage is not None
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.usage.total_tokens) == (20, 10, 30)


def test_the_end_of_an_answer_is_the_status_of_its_response() -> None:
    def ended(**members: Any) -> tuple[str, Any]:
        whole = completed_response(Answered(HEADING, "Far", 0, Usage(1, 1), **members), {})
        Response.model_validate(whole)
        return whole["status"], whole["incomplete_details"]

    assert ended() == ("completed", None)
    assert ended(finish="length") == ("incomplete", {"reason": "max_output_tokens"})
    assert ended(finish="content_filter") == ("incomplete", {"reason": "content_filter"})
    assert ended(cancelled=True) == ("cancelled", None)
    failed = Response.model_validate(failed_response(HEADING, {}, "The engine failed."))
    assert (failed.status, failed.error and failed.error.message) == ("failed", "The engine failed.")


EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def test_the_events_of_a_response_come_in_order() -> None:
    events = Events(HEADING, {})
    written = events.first() + events.text(TEXT[:10]) + events.text(TEXT[10:]) + events.last(ANSWERED)
    read = [EVENT.validate_python(event) for event in events_of(written)]
    assert [event.sequence_number for event in read] == list(range(len(read)))
    assert [event.type for event in read] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        *["response.output_text.annotation.added"] * 3,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    names = [line[7:] for line in written.decode().splitlines() if line.startswith("event: ")]
    assert names == [event.type for event in read]
    assert read[-1].response == Response.model_validate(completed_response(ANSWERED, {}))
    item = read[-1].response.output[0]
    assert {event.item_id for event in read if hasattr(event, "item_id")} == {item.id}


def test_an_empty_answer_and_calls_of_tools_have_their_events() -> None:
    def types(answered: Answered) -> list[str]:
        events = Events(HEADING, {})
        return [EVENT.validate_python(event).type for event in events_of(events.first() + events.last(answered))][2:-1]

    assert types(Answered(HEADING, "", 0, Usage(1, 0))) == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    assert types(Answered(HEADING, "", 0, Usage(1, 0), calls=(CALL,))) == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]


def test_a_response_may_fail_after_its_beginning() -> None:
    events = Events(HEADING, {})
    read = events_of(events.first() + events.text("Fa") + events.failed(errors.EngineFailed("The model failed.")))
    end = EVENT.validate_python(read[-1])
    assert (end.type, end.response.status, end.response.error.message) == (
        "response.failed",
        "failed",
        "The model failed.",
    )


def test_an_id_of_a_response_tells_its_message() -> None:
    assert message_of_response(f"resp_{NUMBER}") == f"msg_{NUMBER}"
    for wrong in ("", "resp_", f"run_{NUMBER}", f"resp_{NUMBER}0", f"resp_{NUMBER.upper()}", f"resp_{NUMBER}\n"):
        assert message_of_response(wrong) is None


@pytest.mark.parametrize(
    ("error", "status", "kind", "param", "code", "repeats"),
    [
        (BadRequest("x", "n"), 400, "invalid_request_error", "n", "invalid_value", False),
        (unsupported("n", "x"), 400, "invalid_request_error", "n", "unsupported_parameter", False),
        (errors.MalformedBody("x"), 400, "invalid_request_error", None, "invalid_json", False),
        (errors.NoCredential("x"), 401, "invalid_request_error", None, "invalid_api_key", False),
        (errors.InvalidCredential("x"), 401, "invalid_request_error", None, "invalid_api_key", False),
        (errors.NotPermitted("x"), 403, "invalid_request_error", None, "permission_denied", False),
        (no_such_model("m"), 404, "invalid_request_error", "model", "model_not_found", False),
        (no_such_response("r"), 404, "invalid_request_error", "response_id", "not_found", False),
        (errors.NotFound("x"), 404, "invalid_request_error", None, "not_found", False),
        (errors.NoSuchRoute("x"), 404, "invalid_request_error", None, "unknown_url", False),
        (errors.WrongMethod("x"), 405, "invalid_request_error", None, "method_not_allowed", False),
        (errors.RequestTimeout("x"), 408, "invalid_request_error", None, "request_timeout", True),
        (errors.StateConflict("x"), 409, "invalid_request_error", None, "conflict", False),
        (errors.BodyTooLarge("x"), 413, "invalid_request_error", None, "request_too_large", False),
        (errors.WrongMediaType("x"), 415, "invalid_request_error", None, "unsupported_media_type", False),
        (errors.QuotaExceeded("x", retry_after=7_000), 429, "insufficient_quota", None, "insufficient_quota", False),
        (errors.QuotaExceeded("x", retry_after=7), 429, "insufficient_quota", None, "insufficient_quota", True),
        (errors.TooManyAttempts("x", retry_after=7), 429, "requests", None, "rate_limit_exceeded", True),
        (errors.InternalError("x"), 500, "server_error", None, "internal_error", True),
        (errors.EngineFailed("x"), 502, "server_error", None, "engine_failed", True),
        (errors.StorageUnavailable("x"), 503, "server_error", None, "storage_unavailable", True),
        (errors.Overloaded("x"), 503, "server_error", None, "overloaded", True),
    ],
)
def test_errors_are_in_openais_shape(
    error: errors.ServiceError, status: int, kind: str, param: str | None, code: str, repeats: bool
) -> None:
    assert error.http_code == status
    assert error_object(error) == {"message": error.note, "type": kind, "param": param, "code": code}
    assert mended_by_repeat(error) is repeats


def test_every_error_of_the_gateway_has_a_code_of_this_api() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ServiceError)]
    unnamed = {kind for kind in kinds if kind.internal_code not in CODES}
    assert unnamed == set()
