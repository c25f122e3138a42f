"""Reads a request's options for the engine, and its conversation."""

from collections.abc import Mapping
from typing import Any, cast

from actors.engines.options import EngineOptions
from routes.openai_api.members import Members, checked_text, members, missing, wrong_type
from routes.openai_api.refusals import BadRequest, unsupported

MAX_ID = 200
"""The longest id that a client may give to a conversation, in characters."""

MAX_PAIRS = 16
MAX_PAIR_NAME = 64
MAX_PAIR_VALUE = 512
"""The limits of `metadata`: members, characters of a name and of a value."""

MAX_STOPS = 4
MAX_TOOLS = 128
_ALLOWED = "allowed_tools"
_MAX_SEED = 2**63 - 1
_MAX_TOKENS = 2**31 - 1


def engine_options(
    body: Members,
    instructions: tuple[str, ...],
    max_tokens: int | None,
    response_format: Mapping[str, Any] | None,
    *,
    nested: bool,
) -> EngineOptions:
    """Return what a request of either API asks of the engine; `nested` as for `offered_tools`.

    Raises:
        BadRequest: a member is wrong, or a tool is required.
    """
    return EngineOptions(
        instructions=instructions,
        tools=_allowed_tools(body, nested),
        tool_choice="none" if _no_tools(body) else "auto",
        parallel_tool_calls=body.flag("parallel_tool_calls", True),
        stop=_stops(body),
        max_tokens=max_tokens,
        temperature=body.number("temperature", 0, 2),
        top_p=body.number("top_p", 0, 1),
        seed=body.whole("seed", -_MAX_SEED - 1, _MAX_SEED),
        response_format=response_format,
    )


def require_plain_answer(body: Members) -> None:
    """Refuse another answer than one text, given while the client waits.

    Raises:
        BadRequest: several answers, sound or pictures are asked for, or an answer in the background.
    """
    if (body.whole("n", 1, 2**31) or 1) > 1:
        raise unsupported("n", "an agent gives one answer; send 1.")
    if (kinds := body.items("modalities")) and any(kind != "text" for kind in kinds):
        raise unsupported("modalities", "agents answer in text.")
    if body.flag("background"):
        raise unsupported("background", "this gateway answers while the client waits.")


def stream_of(body: Members) -> tuple[bool, bool]:
    """Return whether the answer is streamed, and whether its last chunk tells the usage.

    Raises:
        BadRequest: a member is wrong, or there are options of a stream without a stream.
    """
    stream, options = body.flag("stream"), body.mapping("stream_options")
    if options is None:
        return stream, False
    if not stream:
        raise BadRequest(
            "Invalid value of stream_options: only a stream has them; send stream: true.", "stream_options"
        )
    return stream, options.flag("include_usage")


def token_limit(body: Members, *names: str) -> int | None:
    """Return the first of these limits that is there.

    Raises:
        BadRequest: one of them is wrong.
    """
    first = None
    for name in names:
        limit = body.whole(name, 1, _MAX_TOKENS)
        if first is None:
            first = limit
    return first


def require_format(kind: str, path: str) -> None:
    """Refuse an unknown format.

    Raises:
        BadRequest: it is neither text nor JSON.
    """
    if kind not in ("text", "json_object", "json_schema"):
        raise BadRequest(f"Invalid value of {path}.type: send text, json_object or json_schema.", f"{path}.type")


def offered_tools(body: Members, nested: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the functions that a client offers to the model, as chat completions write them; other tools are left out.

    `nested`: whether a function's members stand in a member `function`, as in chat completions.

    Raises:
        BadRequest: a tool is malformed, or there are too many.
    """
    sent = body.items("tools") or []
    if len(sent) > MAX_TOOLS:
        raise BadRequest(f"Invalid value of tools: send up to {MAX_TOOLS}.", "tools")
    tools: list[Mapping[str, Any]] = []
    for at, value in enumerate(sent):
        tool = members(value, f"tools[{at}]")
        if tool.required_text("type") != "function":
            continue
        tools.append({"type": "function", "function": _described(_function_of(tool, nested))})
    return tuple(tools)


def _described(function: Members) -> dict[str, Any]:
    described: dict[str, Any] = {"name": function.required_text("name"), "description": function.text("description")}
    function.mapping("parameters")
    function.flag("strict")
    described |= {member: function.any(member) for member in ("parameters", "strict")}
    return {member: value for member, value in described.items() if value is not None}


def end_user(body: Members) -> str:
    """Return the client's name for its own user; conversations are found by their text only for the same one.

    Raises:
        BadRequest: it is no string, or too long.
    """
    return body.text("safety_identifier", 512) or body.text("user", 512) or ""


def conversation_named(value: object, param: str) -> str | None:
    """Return the id of a conversation: a `cnv_` id, or the client's own.

    Raises:
        BadRequest: it has other than 1 to 200 visible characters.
    """
    if value is None:
        return None
    named = checked_text(value, param)
    if not 1 <= len(named) <= MAX_ID or not named.isprintable() or any(map(str.isspace, named)):
        raise BadRequest(f"Invalid value of {param}: send 1 to {MAX_ID} visible characters.", param)
    return named


def metadata_of(body: Members) -> dict[str, Any]:
    """Return a request's metadata: up to 16 texts by name.

    Raises:
        BadRequest: it is no object, has too many members, or one that is too long or no text.
    """
    if (sent := body.any("metadata")) is None:
        return {}
    if not isinstance(sent, dict):
        raise wrong_type("metadata", "an object")
    pairs = cast(dict[str, Any], sent)
    if len(pairs) > MAX_PAIRS:
        raise BadRequest(f"Invalid value of metadata: send up to {MAX_PAIRS} members.", "metadata")
    if any(len(name) > MAX_PAIR_NAME for name in pairs):
        raise BadRequest(f"Invalid value of metadata: a name has up to {MAX_PAIR_NAME} characters.", "metadata")
    return {
        name: checked_text(value, f"metadata.{name}", MAX_PAIR_VALUE)
        for name, value in pairs.items()
        if value is not None
    }


def _allowed_tools(body: Members, nested: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the offered functions that the model may call: all of them, unless `tool_choice` lists some.

    Raises:
        BadRequest: a member is wrong, a function that is not offered is listed, or one of the listed must be called.
    """
    tools, choice = offered_tools(body, nested), body.any("tool_choice")
    if not isinstance(choice, dict):
        return tools
    sent = members(choice, "tool_choice")
    if sent.any("type") != _ALLOWED:
        return tools
    allowed = sent.mapping(_ALLOWED) if nested else sent
    if allowed is None:
        raise missing(sent.path(_ALLOWED))
    mode, listed = allowed.required_text("mode"), allowed.items("tools")
    if mode == "required":
        raise _no_requirement("tool_choice")
    if mode != "auto":
        raise BadRequest(f"Invalid value of {allowed.path('mode')}: send auto.", allowed.path("mode"))
    if listed is None:
        raise missing(allowed.path("tools"))
    offered, wanted = {tool["function"]["name"] for tool in tools}, set[str]()
    for at, value in enumerate(listed):
        tool = members(value, f"{allowed.path('tools')}[{at}]")
        if tool.required_text("type") != "function":
            continue
        function = _function_of(tool, nested)
        name = function.required_text("name")
        if name not in offered:
            path = function.path("name")
            raise BadRequest(f"Invalid value of {path}: list only functions that stand in tools.", path)
        wanted.add(name)
    return tuple([tool for tool in tools if tool["function"]["name"] in wanted])


def _function_of(tool: Members, nested: bool) -> Members:
    function = tool.mapping("function") if nested else tool
    if function is None:
        raise wrong_type(tool.path("function"), "an object")
    return function


def _no_requirement(param: str) -> BadRequest:
    return unsupported(param, "agents can't be made to call a tool; send auto or none.")


def _no_tools(body: Members) -> bool:
    """Return whether the model may call none of the client's functions.

    Raises:
        BadRequest: it must call one.
    """
    choices = body.any("tool_choice"), body.any("function_call")
    if choices == (None, None):
        return False
    for name, choice in zip(("tool_choice", "function_call"), choices, strict=True):
        if name == "tool_choice" and isinstance(choice, dict) and members(choice, name).any("type") == _ALLOWED:
            continue
        if choice not in (None, "auto", "none"):
            raise _no_requirement(name)
    return "none" in choices


def _stops(body: Members) -> tuple[str, ...]:
    sent = body.any("stop")
    if sent is None:
        return ()
    if isinstance(sent, str):
        sent = [sent]
    if not isinstance(sent, list):
        raise wrong_type("stop", "a string or an array of strings")
    stops = cast(list[Any], sent)
    if len(stops) > MAX_STOPS:
        raise BadRequest(f"Invalid value of stop: send up to {MAX_STOPS}.", "stop")
    texts = [checked_text(stop, f"stop[{at}]", 500) for at, stop in enumerate(stops)]
    return tuple([text for text in texts if text])
