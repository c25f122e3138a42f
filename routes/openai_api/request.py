"""Requests for chat completions and responses, checked; members that are not used are ignored."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from actors.conversations.place import Earlier
from actors.engines.options import EngineOptions
from actors.slices import Steps
from routes.openai_api.dialogue import Reference, chat_dialogue, input_dialogue
from routes.openai_api.members import Members, missing, wrong_type
from routes.openai_api.options import (
    conversation_named,
    end_user,
    engine_options,
    metadata_of,
    offered_tools,
    require_format,
    require_plain_answer,
    stream_of,
    token_limit,
)
from routes.openai_api.refusals import BadRequest, unsupported

ONCE = ":once"
"""The end of a model's id that answers without a conversation."""


_FEW = frozenset(("model", "messages", "metadata", "store"))
"""The members of a chat completion's request that has no options."""


class CheckedRequest(Struct, frozen=True):
    """A checked request.

    Args:
        model: the model's id, as the client wrote it.
        agent: the name of the agent in it.
        once: whether it is answered without a conversation.
        said: the user's message.
        earlier: the messages of user and assistant before it.
        options: what the client asks of the engine.
        scope: the client's name for its own user.
        conversation: a `cnv_` id, or the client's own.
        conversation_param: the member or header that names it.
        previous: the id of the response that this one follows.
        stream: whether it is answered with events.
        include_usage: whether the last chunk of a stream tells the usage.
        echoed: members of the request that the answer repeats.
        references: items of earlier responses among `earlier`, sent as their ids.
    """

    model: str
    agent: str
    once: bool
    said: str
    earlier: tuple[Earlier, ...]
    options: EngineOptions
    scope: str = ""
    conversation: str | None = None
    conversation_param: str = ""
    previous: str | None = None
    stream: bool = False
    include_usage: bool = False
    echoed: Mapping[str, Any] = {}
    references: tuple[Reference, ...] = ()
    silent: int = 0


def read_chat(sent: Mapping[str, Any], header: str | None) -> Steps[CheckedRequest]:
    """Check the body of a chat completion.

    Args:
        sent: the body.
        header: the value of X-Conversation-Id.

    Raises:
        BadRequest: a member is missing, wrong or unsupported.
    """
    body = Members(sent)
    model = body.required_text("model")
    dialogue = yield from chat_dialogue(body)
    metadata, once = metadata_of(body), _is_once(body, model)
    named, param = _by_metadata_or_header(model, metadata, header)
    _require_stored(once, named, param)
    asked = CheckedRequest(
        model,
        agent_of(model),
        once,
        dialogue.said,
        dialogue.earlier,
        EngineOptions(dialogue.instructions),
        conversation=named,
        conversation_param=param,
        echoed={"metadata": metadata},
        silent=dialogue.silent,
    )
    return asked if _FEW.issuperset(sent) else _with_options(asked, body)


def _with_options(asked: CheckedRequest, body: Members) -> CheckedRequest:
    """Add the options of a chat completion.

    Raises:
        BadRequest: one is wrong or unsupported.
    """
    require_plain_answer(body)
    for member in ("conversation", "previous_response_id"):
        if body.any(member) is not None:
            raise unsupported(member, "chat completions name a conversation by metadata.conversation_id.")
    stream, include_usage = stream_of(body)
    limit = token_limit(body, "max_completion_tokens", "max_tokens")
    return structs.replace(
        asked,
        options=engine_options(body, asked.options.instructions, limit, _chat_format(body), nested=True),
        scope=end_user(body),
        stream=stream,
        include_usage=include_usage,
    )


def read_response(sent: Mapping[str, Any], header: str | None) -> Steps[CheckedRequest]:
    """Check the body of a response; see `read_chat`.

    Raises:
        BadRequest: a member is missing, wrong or unsupported.
    """
    body = Members(sent)
    model = body.required_text("model")
    dialogue = yield from input_dialogue(body)
    require_plain_answer(body)
    if body.any("prompt") is not None:
        raise unsupported("prompt", "this gateway has no stored prompts; send instructions.")
    if body.any("response_format") is not None:
        raise unsupported("response_format", "responses take it as text.format.")
    stream, _ = stream_of(body)
    metadata, previous, once = metadata_of(body), body.text("previous_response_id", 200), _is_once(body, model)
    named, param = _conversation(body), "conversation"
    if previous is not None and named is not None:
        raise BadRequest("Send conversation or previous_response_id, not both.", "previous_response_id")
    _require_stored(once, previous, "previous_response_id")
    if previous is not None and previous.startswith("cnv_"):
        named, param, previous = previous, "previous_response_id", None
    if previous is not None and (dialogue.earlier or dialogue.references):
        note = "The conversation of previous_response_id has its messages: send only the user's next message in input."
        raise BadRequest(note, "input")
    if named is None:
        named, param = _by_metadata_or_header(model, metadata, header)
    _require_stored(once, named, param)
    limit, text_format = token_limit(body, "max_output_tokens"), _response_format(body)
    return CheckedRequest(
        model,
        agent_of(model),
        once,
        dialogue.said,
        dialogue.earlier,
        engine_options(body, dialogue.instructions, limit, text_format, nested=False),
        end_user(body),
        named,
        param,
        previous,
        stream=stream,
        echoed=_echoed(body, metadata),
        references=dialogue.references,
        silent=dialogue.silent,
    )


def agent_of(model: str) -> str:
    """Return the name of the agent in a model's id."""
    return model.removesuffix(ONCE)


def _is_once(body: Members, model: str) -> bool:
    return model.endswith(ONCE) or not body.flag("store", True)


def _require_stored(once: bool, named: str | None, param: str) -> None:
    """Refuse to answer without a conversation where the request goes on with one.

    Raises:
        BadRequest: `param` names it.
    """
    if once and named is not None:
        raise unsupported(param, "an answer that is not stored continues no conversation; send the messages.")


def _by_metadata_or_header(model: str, metadata: Mapping[str, Any], header: str | None) -> tuple[str | None, str]:
    """Return the id of the conversation, and the member or header that it is from.

    Beside `<agent>:once` the header is ignored, because front ends send it with the requests of all their models.
    """
    named, param = metadata.get("conversation_id"), "metadata.conversation_id"
    if named is None and not model.endswith(ONCE):
        named, param = header or None, "X-Conversation-Id"
    return conversation_named(named, param), param


def _conversation(body: Members) -> str | None:
    sent = body.any("conversation")
    if isinstance(sent, dict):
        inner = body.mapping("conversation")
        assert inner is not None
        if inner.any("id") is None:
            raise missing("conversation.id")
        return conversation_named(inner.any("id"), "conversation.id")
    if sent is not None and not isinstance(sent, str):
        raise wrong_type("conversation", "a string or an object with an id")
    return conversation_named(sent, "conversation")


def _chat_format(body: Members) -> Mapping[str, Any] | None:
    """Return the wanted format as chat completions write it; None for text."""
    sent = body.mapping("response_format")
    if sent is None:
        return None
    kind = sent.required_text("type")
    require_format(kind, "response_format")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": kind}
    schema = sent.mapping("json_schema")
    if schema is None:
        raise missing("response_format.json_schema")
    return {"type": kind, "json_schema": _schema(schema)}


def _response_format(body: Members) -> Mapping[str, Any] | None:
    text = body.mapping("text")
    sent = text and text.mapping("format")
    if sent is None:
        return None
    kind = sent.required_text("type")
    require_format(kind, "text.format")
    if kind == "text":
        return None
    return {"type": kind} | ({"json_schema": _schema(sent)} if kind == "json_schema" else {})


def _schema(sent: Members) -> dict[str, Any]:
    described: dict[str, Any] = {"name": sent.required_text("name")}
    for member in ("description", "schema", "strict"):
        if sent.any(member) is not None:
            described[member] = sent.any(member)
    return described


def _echoed(body: Members, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that a response repeats; those that are absent have OpenAI's defaults."""
    echoed: dict[str, Any] = {
        "instructions": body.text("instructions"),
        "max_output_tokens": body.any("max_output_tokens"),
        "max_tool_calls": body.whole("max_tool_calls", 0, 2**31),
        "metadata": dict(metadata),
        "parallel_tool_calls": body.flag("parallel_tool_calls", True),
        "previous_response_id": body.any("previous_response_id"),
        "prompt_cache_key": body.text("prompt_cache_key"),
        "safety_identifier": body.text("safety_identifier"),
        "temperature": body.any("temperature"),
        "text": _text_member(body),
        "tool_choice": body.any("tool_choice"),
        "tools": [_repeated(tool) for tool in offered_tools(body, nested=False)],
        "top_p": body.any("top_p"),
        "truncation": _truncation(body),
        "user": body.text("user"),
    }
    return {name: value for name, value in echoed.items() if value is not None}


def _truncation(body: Members) -> str | None:
    kind = body.text("truncation")
    if kind not in (None, "auto", "disabled"):
        raise BadRequest("Invalid value of truncation: send auto or disabled.", "truncation")
    return kind


def _text_member(body: Members) -> dict[str, Any] | None:
    sent = body.any("text")
    return None if sent is None else {"format": {"type": "text"}, **sent}


def _repeated(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    members = ("name", "description", "parameters", "strict")
    return {"type": "function"} | {member: function.get(member) for member in members}
