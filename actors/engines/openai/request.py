"""The request for one turn of the engine `openai`: the model, its functions, and the client's options."""

from collections.abc import Mapping
from typing import Any

from actors.engines.openai.prompt import AgentSettings, ChatMessage
from actors.engines.openai.tools import OfferedTool
from actors.engines.options import EngineOptions

READ_SKILL = "read_skill"


def client_functions(options: EngineOptions | None) -> frozenset[str]:
    """Return the names of the client's functions that the model may call."""
    if options is None or options.tool_choice == "none":
        return frozenset()
    return frozenset(tool["function"]["name"] for tool in options.tools)


def make_request(
    settings: AgentSettings,
    model: str,
    messages: list[ChatMessage],
    tools: Mapping[str, OfferedTool],
    has_skills: bool,
    options: EngineOptions | None,
) -> dict[str, Any]:
    """Make the body of a request; what the client asks for goes before the agent's settings."""
    request: dict[str, Any] = {"model": settings.model or model, "messages": messages}
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    functions = _functions(tools, has_skills)
    if options is not None:
        request |= _members(options)
        if options.tool_choice == "auto":
            functions += map(dict[str, Any], options.tools)
            if options.tools and not options.parallel_tool_calls:
                request["parallel_tool_calls"] = False
    if functions:
        request["tools"] = functions
    return request


def _members(options: EngineOptions) -> dict[str, Any]:
    members: dict[str, Any] = {
        "stop": list(options.stop) or None,
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "response_format": options.response_format,
    }
    return {name: value for name, value in members.items() if value is not None}


def _functions(tools: Mapping[str, OfferedTool], has_skills: bool) -> list[dict[str, Any]]:
    """Describe the functions that the model may call."""
    described: list[dict[str, Any]] = []
    if has_skills:
        described.append(_function(READ_SKILL, _READ_SKILL_SAYS, _READ_SKILL_TAKES))
    for name, tool in tools.items():
        takes = dict(tool.input_schema) if tool.input_schema.get("type") == "object" else _NOTHING
        described.append(_function(name, tool.description[:1_024], takes))
    return described


def _function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_READ_SKILL_SAYS = (
    "Read one of your skills before you do what it is for; with `file`, one of the files that it refers to."
)
_READ_SKILL_TAKES = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "file": {"type": "string", "description": "A path in the skill."}},
}
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
