"""Requests in the shape of OpenAI's API: what is read, what is ignored, what is refused, with which param and code."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversations.place import Earlier
from actors.engines.options import EngineOptions
from actors.slices import whole
from routes.openai_api.refusals import BadRequest, error_object
from routes.openai_api.request import CheckedRequest, read_chat, read_response

USER = {"role": "user", "content": "How far is the Moon?"}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
FLAT = {"type": "function", "name": "look", "parameters": {"type": "object"}}

NEXT = {"role": "user", "content": "What is my number?"}
HISTORY = [{"role": "user", "content": "My number is 7."}, {"role": "assistant", "content": "Noted."}]
REFERENCED = {"type": "item_reference", "id": "msg_1"}


def chat(header: str | None = None, **members: Any) -> CheckedRequest:
    return whole(read_chat({"model": "scout", "messages": [USER], **members}, header))


def response(header: str | None = None, **members: Any) -> CheckedRequest:
    return whole(read_response({"model": "scout", "input": "How far is the Moon?", **members}, header))


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


def test_the_last_message_is_said_and_the_others_are_its_history() -> None:
    asked = chat(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": parts("Hello", " there.")},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "anything"}]},
            {"role": "assistant", "content": None, "refusal": "No."},
            {"role": "developer", "content": "Answer in English."},
            {"role": "user", "content": parts("How far is", " the Moon?")},
        ]
    )
    assert (asked.model, asked.once, asked.said) == ("scout", False, "How far is the Moon?")
    assert asked.earlier == (Earlier("user", "Hello"), Earlier("agent", "Hello there."), Earlier("agent", "No."))
    assert asked.options.instructions == ("Be brief.", "Answer in English.")


ROLES = ["user", "assistant", "system", "developer", "tool", "somebody", "", None, 7, ["user"]]
TEXTS = ["How far?", " ", "", "a\0b", "x" * 32_000, "x" * 32_001, None, 7, parts("How", " far?")]
MESSAGES = st.fixed_dictionaries({"role": st.sampled_from(ROLES[:4]), "content": st.just("How far?")}) | (
    st.fixed_dictionaries({}, optional={"role": st.sampled_from(ROLES), "content": st.sampled_from(TEXTS)})
)


def read_or_refused(messages: list[dict[str, Any]]) -> CheckedRequest | dict[str, Any]:
    try:
        return chat(messages=messages)
    except BadRequest as error:
        return error_object(error)


@given(st.lists(MESSAGES, max_size=4), st.booleans())
def test_a_name_beside_role_and_text_changes_nothing(messages: list[dict[str, Any]], asks: bool) -> None:
    messages += [USER] if asks else []
    assert read_or_refused(messages) == read_or_refused([message | {"name": "ada"} for message in messages])


def test_a_response_takes_a_text_or_items() -> None:
    assert response(instructions="Be brief.").options.instructions == ("Be brief.",)
    asked = response(
        instructions="Be brief.",
        input=[
            {"type": "message", "role": "developer", "content": "In English."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "far"},
            {"type": "reasoning", "summary": []},
            {"role": "user", "content": "How far?"},
        ],
    )
    assert asked.said == "How far?"
    assert asked.earlier == (Earlier("user", "Hello"), Earlier("agent", "Hi."))
    assert asked.options.instructions == ("Be brief.", "In English.")


def test_members_that_are_not_used_are_ignored() -> None:
    asked = chat(logit_bias={"1": 2}, presence_penalty=1, service_tier="auto", frobnicate=[1], logprobs=True, n=1)
    assert asked == chat()


def test_null_members_count_as_absent() -> None:
    names = ("n", "stop", "tools", "tool_choice", "response_format", "metadata", "store", "stream_options", "seed")
    names += ("modalities", "background", "conversation", "previous_response_id", "truncation")
    assert chat(**dict.fromkeys(names)) == chat()
    assert response(**dict.fromkeys(names)) == response()
    assert chat(metadata={"conversation_id": None, "other": None}).echoed == chat().echoed


def test_options_go_to_the_engine() -> None:
    schema = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    asked = chat(
        tools=[FUNCTION, {"type": "custom", "custom": {"name": "left out"}}],
        tool_choice="none",
        stop="END",
        max_tokens=9,
        max_completion_tokens=10,
        temperature=1,
        top_p=0.5,
        seed=7,
        response_format={"type": "json_schema", "json_schema": schema},
    )
    assert asked.options == EngineOptions(
        tools=(FUNCTION,),
        tool_choice="none",
        stop=("END",),
        max_tokens=10,
        temperature=1,
        top_p=0.5,
        seed=7,
        response_format={"type": "json_schema", "json_schema": schema},
    )
    same = response(
        tools=[FLAT, {"type": "web_search"}],
        tool_choice="none",
        max_output_tokens=10,
        temperature=1,
        top_p=0.5,
        text={"format": {"type": "json_schema", **schema}, "verbosity": "low"},
    )
    assert same.options == EngineOptions(
        tools=(FUNCTION,),
        tool_choice="none",
        max_tokens=10,
        temperature=1,
        top_p=0.5,
        response_format={"type": "json_schema", "json_schema": schema},
    )


def test_calls_one_at_a_time_are_an_option() -> None:
    assert chat(parallel_tool_calls=False).options == EngineOptions(parallel_tool_calls=False)
    assert response(parallel_tool_calls=False).options == EngineOptions(parallel_tool_calls=False)
    assert chat(parallel_tool_calls=True) == chat(parallel_tool_calls=None) == chat()
    with pytest.raises(BadRequest) as refused:
        chat(parallel_tool_calls="no")
    assert (refused.value.param, refused.value.code) == ("parallel_tool_calls", "invalid_type")


def test_only_the_allowed_tools_are_offered() -> None:
    hide: Any = {"type": "function", "function": {"name": "hide"}}
    for listed, offered in (([FUNCTION], (FUNCTION,)), ([{"type": "web_search"}], ()), ([hide, FUNCTION], ...)):
        allowed = {"mode": "auto", "tools": listed}
        asked = chat(tools=[FUNCTION, hide], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
        assert asked.options.tools == ((FUNCTION, hide) if offered is ... else offered)
        assert asked.options.tool_choice == "auto"
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}
    same = response(tools=[FLAT, {"type": "function", "name": "hide"}], tool_choice=choice)
    assert same.options.tools == (FUNCTION,)
    assert same.echoed["tool_choice"] == choice
    assert [tool["name"] for tool in same.echoed["tools"]] == ["look", "hide"]


@pytest.mark.parametrize(
    ("allowed", "param", "code"),
    [
        ({"mode": "required", "tools": [FUNCTION]}, "", "unsupported_parameter"),
        ({"tools": [FUNCTION]}, ".mode", "missing_required_parameter"),
        ({"mode": "any", "tools": [FUNCTION]}, ".mode", "invalid_value"),
        ({"mode": 1, "tools": [FUNCTION]}, ".mode", "invalid_type"),
        ({"mode": "auto"}, ".tools", "missing_required_parameter"),
        ({"mode": "auto", "tools": {}}, ".tools", "invalid_type"),
        ({"mode": "auto", "tools": [{}]}, ".tools[0].type", "missing_required_parameter"),
        ({"mode": "auto", "tools": [{"type": "function"}]}, ".tools[0].function", "invalid_type"),
        (
            {"mode": "auto", "tools": [FUNCTION, {"type": "function", "function": {"name": "hide"}}]},
            ".tools[1].function.name",
            "invalid_value",
        ),
    ],
)
def test_wrong_allowed_tools_are_refused(allowed: Any, param: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        chat(tools=[FUNCTION], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    path = f"tool_choice.allowed_tools{param}" if param else "tool_choice"
    assert (refused.value.param, refused.value.code) == (path, code)


def test_allowed_tools_stand_where_the_api_has_them() -> None:
    flat = {"type": "allowed_tools", "mode": "auto", "tools": [FUNCTION]}
    nested = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FLAT]}}
    unknown = {"type": "allowed_tools", "mode": "auto", "tools": [FLAT, {"type": "function", "name": "hide"}]}
    for read, choice, param in (
        (chat, flat, "tool_choice.allowed_tools"),
        (response, nested, "tool_choice.mode"),
        (response, unknown, "tool_choice.tools[1].name"),
        (response, {"type": "allowed_tools", "mode": "required", "tools": [FLAT]}, "tool_choice"),
    ):
        with pytest.raises(BadRequest) as refused:
            read(tools=[FUNCTION if read is chat else FLAT], tool_choice=choice)
        assert refused.value.param == param


def test_once_is_the_end_of_a_model_or_store_false() -> None:
    assert chat(model="scout:once").once
    assert (chat(model="scout:once").agent, chat(model="scout:once").model) == ("scout", "scout:once")
    assert chat(store=False).once
    assert not chat(store=True).once
    assert response(store=False).once


def test_a_conversation_is_named_by_metadata_or_header() -> None:
    assert chat("chat-1").conversation == "chat-1"
    assert chat("chat-1", metadata={"conversation_id": "chat-2"}).conversation == "chat-2"
    assert chat("", metadata={"other": "1"}).conversation is None
    assert response("chat-1", conversation="cnv_1").conversation == "cnv_1"
    assert response(conversation={"id": "cnv_1"}).conversation == "cnv_1"
    assert response("chat-1", previous_response_id="resp_1").previous == "resp_1"
    beside = [{"role": "developer", "content": "Be brief."}, {"type": "function_call_output", "call_id": "c"}, NEXT]
    assert response(input=beside, previous_response_id="resp_1").said == NEXT["content"]
    assert response(input=[*HISTORY, NEXT], previous_response_id="cnv_1").conversation == "cnv_1"
    assert chat("chat-1").conversation_param == "X-Conversation-Id"
    assert chat("chat-1", metadata={"conversation_id": "chat-2"}).conversation_param == "metadata.conversation_id"
    assert response("chat-1", conversation="cnv_1").conversation_param == "conversation"


def test_the_end_user_is_the_safety_identifier_or_the_user() -> None:
    assert chat(user="ada").scope == "ada"
    assert chat(user="ada", safety_identifier="grace").scope == "grace"
    assert chat().scope == ""


def test_a_stream_is_asked_for_with_or_without_usage() -> None:
    asked = chat(stream=True, stream_options={"include_usage": True})
    assert (asked.stream, asked.include_usage) == (True, True)
    assert not chat(stream=True, stream_options={}).include_usage


def test_a_blank_stop_counts_as_missing() -> None:
    assert chat(stop=["", "END"]) == chat(stop="END")
    assert chat(stop="") == chat()


def test_a_response_repeats_members_of_its_request() -> None:
    asked = response(metadata={"a": "b"}, text={"verbosity": "low"}, temperature=0.5, tools=[FLAT], truncation="auto")
    tool = {"type": "function", "name": "look", "description": None, "parameters": {"type": "object"}, "strict": None}
    assert dict(asked.echoed) == {
        "metadata": {"a": "b"},
        "parallel_tool_calls": True,
        "temperature": 0.5,
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "tools": [tool],
        "truncation": "auto",
    }


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}


def said(content: object, *before: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [*before, {"role": "user", "content": content}]}


@pytest.mark.parametrize(
    ("sent", "param", "code"),
    [
        ({"model": None}, "model", "missing_required_parameter"),
        ({"model": ""}, "model", "missing_required_parameter"),
        ({"model": 1}, "model", "invalid_type"),
        ({"messages": None}, "messages", "missing_required_parameter"),
        ({"messages": []}, "messages", "missing_required_parameter"),
        ({"messages": "hello"}, "messages", "invalid_type"),
        ({"messages": ["hello"]}, "messages[0]", "invalid_type"),
        ({"messages": [USER, {"role": "assistant", "content": "Far."}]}, "messages", "invalid_value"),
        ({"messages": [USER, {"role": "system", "content": "Be brief."}]}, "messages", "invalid_value"),
        ({"messages": [USER, {"role": "tool", "content": "1", "tool_call_id": "1"}]}, "messages", "invalid_value"),
        (said("x", {"role": "king", "content": "Hello"}), "messages[0].role", "invalid_value"),
        (said("x", {"content": "Hello"}), "messages[0].role", "missing_required_parameter"),
        (said(None), "messages[0].content", "missing_required_parameter"),
        (said("  "), "messages[0].content", "missing_required_parameter"),
        (said([]), "messages[0].content", "missing_required_parameter"),
        (said({"text": "Hello"}), "messages[0].content", "invalid_type"),
        (said(["Hello"]), "messages[0].content[0]", "invalid_type"),
        (said([{"text": "Hello"}]), "messages[0].content[0].type", "missing_required_parameter"),
        (said([{"type": "text", "text": 1}]), "messages[0].content[0].text", "invalid_type"),
        (said("a\0b"), "messages[0].content", "invalid_value"),
        (said("x" * 32_001), "messages[0].content", "string_above_max_length"),
        (said(parts("x" * 20_000, "y" * 20_000)), "messages[0].content", "string_above_max_length"),
        (said("x", {"role": "user", "content": "x" * 32_001}), "messages[0].content", "string_above_max_length"),
        (said([*parts("What is it?"), IMAGE]), "messages[0].content[1]", "unsupported_parameter"),
        (said([AUDIO]), "messages[0].content[0]", "unsupported_parameter"),
        (said("x", {"role": "user", "content": [FILE]}), "messages[0].content[0]", "unsupported_parameter"),
        ({"n": 2}, "n", "unsupported_parameter"),
        ({"n": 0}, "n", "invalid_value"),
        ({"n": "1"}, "n", "invalid_type"),
        ({"n": True}, "n", "invalid_type"),
        ({"modalities": ["text", "audio"]}, "modalities", "unsupported_parameter"),
        ({"modalities": ["image"]}, "modalities", "unsupported_parameter"),
        ({"modalities": "text"}, "modalities", "invalid_type"),
        ({"background": True}, "background", "unsupported_parameter"),
        ({"conversation": "cnv_1"}, "conversation", "unsupported_parameter"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "unsupported_parameter"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"stream": False, "stream_options": {}}, "stream_options", "invalid_value"),
        (
            {"store": False, "metadata": {"conversation_id": "a"}},
            "metadata.conversation_id",
            "unsupported_parameter",
        ),
        (
            {"model": "scout:once", "metadata": {"conversation_id": "a"}},
            "metadata.conversation_id",
            "unsupported_parameter",
        ),
        (said([{"type": "text"}]), "messages[0].content[0].text", "missing_required_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"tool_choice": {"type": "function", "function": {"name": "look"}}}, "tool_choice", "unsupported_parameter"),
        ({"function_call": {"name": "look"}}, "function_call", "unsupported_parameter"),
        ({"tools": {}}, "tools", "invalid_type"),
        ({"tools": [{"type": "function"}]}, "tools[0].function", "invalid_type"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name", "missing_required_parameter"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": "x"}}]},
            "tools[0].function.parameters",
            "invalid_type",
        ),
        ({"tools": [FUNCTION] * 129}, "tools", "invalid_value"),
        ({"stop": 1}, "stop", "invalid_type"),
        ({"stop": ["a"] * 5}, "stop", "invalid_value"),
        ({"stop": ["a", 1]}, "stop[1]", "invalid_type"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens", "invalid_type"),
        ({"temperature": 2.5}, "temperature", "invalid_value"),
        ({"temperature": "hot"}, "temperature", "invalid_type"),
        ({"top_p": -1}, "top_p", "invalid_value"),
        ({"seed": 1.5}, "seed", "invalid_type"),
        ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing_required_parameter"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage", "invalid_type"),
        ({"stream_options": 1}, "stream_options", "invalid_type"),
        ({"store": "no"}, "store", "invalid_type"),
        ({"user": 7}, "user", "invalid_type"),
        ({"metadata": []}, "metadata", "invalid_type"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        ({"metadata": {"a": "x" * 513}}, "metadata.a", "string_above_max_length"),
        ({"metadata": {"a" * 65: "x"}}, "metadata", "invalid_value"),
        ({"metadata": {str(at): "x" for at in range(17)}}, "metadata", "invalid_value"),
        ({"metadata": {"conversation_id": 7}}, "metadata.conversation_id", "invalid_type"),
        ({"metadata": {"conversation_id": ""}}, "metadata.conversation_id", "invalid_value"),
        ({"metadata": {"conversation_id": "a b"}}, "metadata.conversation_id", "invalid_value"),
        ({"metadata": {"conversation_id": "a\x1fb"}}, "metadata.conversation_id", "invalid_value"),
        ({"metadata": {"conversation_id": "x" * 201}}, "metadata.conversation_id", "invalid_value"),
    ],
)
def test_a_chat_completion_is_refused(sent: dict[str, Any], param: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        chat(**sent)
    error = error_object(refused.value)
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert error["message"]
    assert refused.value.http_code == 400


@pytest.mark.parametrize(
    ("sent", "param", "code"),
    [
        ({"input": None}, "input", "missing_required_parameter"),
        ({"input": ""}, "input", "missing_required_parameter"),
        ({"input": []}, "input", "missing_required_parameter"),
        ({"input": 1}, "input", "invalid_type"),
        ({"input": "x" * 32_001}, "input", "string_above_max_length"),
        ({"input": [USER, {"role": "assistant", "content": "Far."}]}, "input", "invalid_value"),
        ({"input": [USER, {"type": "function_call_output", "output": "1"}]}, "input", "invalid_value"),
        ({"input": [USER, {"type": "item_reference", "id": "msg_1"}]}, "input", "invalid_value"),
        ({"input": [{"type": "item_reference"}, USER]}, "input[0].id", "missing_required_parameter"),
        ({"input": [{"type": "compaction"}, USER]}, "input[0].type", "unsupported_parameter"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content[0]",
            "unsupported_parameter",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            "input[0].content[0]",
            "unsupported_parameter",
        ),
        ({"instructions": 1}, "instructions", "invalid_type"),
        ({"background": True}, "background", "unsupported_parameter"),
        ({"n": 2}, "n", "unsupported_parameter"),
        ({"modalities": ["audio"]}, "modalities", "unsupported_parameter"),
        ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
        ({"stream_options": {"include_obfuscation": False}}, "stream_options", "invalid_value"),
        ({"truncation": "some"}, "truncation", "invalid_value"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        (
            {"store": False, "metadata": {"conversation_id": "a"}},
            "metadata.conversation_id",
            "unsupported_parameter",
        ),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"tool_choice": {"type": "function", "name": "look"}}, "tool_choice", "unsupported_parameter"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice", "unsupported_parameter"),
        ({"tools": [{"type": "function"}]}, "tools[0].name", "missing_required_parameter"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.name", "missing_required_parameter"),
        ({"text": 1}, "text", "invalid_type"),
        ({"conversation": 1}, "conversation", "invalid_type"),
        ({"conversation": {}}, "conversation.id", "missing_required_parameter"),
        ({"conversation": "cnv_1", "previous_response_id": "resp_1"}, "previous_response_id", "invalid_value"),
        ({"input": [*HISTORY, NEXT], "previous_response_id": "resp_1"}, "input", "invalid_value"),
        ({"input": [REFERENCED, NEXT], "previous_response_id": "resp_1"}, "input", "invalid_value"),
        ({"store": False, "previous_response_id": "resp_1"}, "previous_response_id", "unsupported_parameter"),
        ({"store": False, "conversation": "cnv_1"}, "conversation", "unsupported_parameter"),
        ({"model": "scout:once", "conversation": "cnv_1"}, "conversation", "unsupported_parameter"),
    ],
)
def test_a_response_is_refused(sent: dict[str, Any], param: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        response(**sent)
    error = error_object(refused.value)
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")


def test_a_text_of_exactly_the_limit_is_taken() -> None:
    assert len(chat(messages=[{"role": "user", "content": "x" * 32_000}]).said) == 32_000
    assert len(response(input="x" * 32_000).said) == 32_000


def test_an_answer_that_is_not_stored_has_no_conversation_by_a_header() -> None:
    for asked in (lambda: chat("chat-1", store=False), lambda: response("chat-1", store=False)):
        with pytest.raises(BadRequest) as refused:
            asked()
        assert (refused.value.param, refused.value.code) == ("X-Conversation-Id", "unsupported_parameter")


def test_a_header_that_a_front_end_sends_with_all_models_is_ignored_beside_once() -> None:
    for asked in (chat("chat-1", model="scout:once"), response("chat-1", model="scout:once")):
        assert (asked.once, asked.conversation) == (True, None)


@pytest.mark.parametrize("wrong", [1, True, {"id": "1"}])
def test_a_wrong_type_of_input_is_told_all_that_is_allowed(wrong: object) -> None:
    with pytest.raises(BadRequest) as refused:
        response(input=wrong)
    assert refused.value.note == "Invalid type of input: send a string or an array of items."


@pytest.mark.parametrize("wrong", [1, True, ["cnv_1"]])
def test_a_wrong_type_of_conversation_is_told_all_that_is_allowed(wrong: object) -> None:
    with pytest.raises(BadRequest) as refused:
        response(conversation=wrong)
    assert refused.value.note == "Invalid type of conversation: send a string or an object with an id."


def test_metadata_has_up_to_16_texts() -> None:
    most = {f"{at:064}": "x" * 512 for at in range(15)} | {"conversation_id": "x" * 200}
    assert chat(metadata=most).echoed["metadata"] == response(metadata=most).echoed["metadata"] == most


def test_who_sends_the_result_of_a_function_learns_how_to_say_it() -> None:
    for refuse in (
        lambda: chat(messages=[USER, {"role": "tool", "content": "1", "tool_call_id": "1"}]),
        lambda: response(input=[USER, {"type": "function_call_output", "output": "1"}]),
    ):
        with pytest.raises(BadRequest, match="Say the result of a function in the user's next message"):
            refuse()
