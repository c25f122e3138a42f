"""The engine `openai`: asks a model on an OpenAI-compatible server (docs/engines.md).

Importing this costs most of a second; only a gateway that is set to this engine does so.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import orjson

from actors.engines.openai.attribution import attributions, tool_attributions
from actors.engines.openai.chunks import ToolCall
from actors.engines.openai.completion import KEPT, Completions, Limits
from actors.engines.openai.prompt import AgentSettings, ChatMessage, build, named_in, read_profile
from actors.engines.openai.tools import NoSkills, NoTools, OfferedTool, Skillbook, ToolAnswer, Toolbox, function_names
from actors.engines.turn import Piece, Turn
from actors.errors import EngineFailed, ServiceError
from actors.slices import sliced

READ_SKILL = "read_skill"
MAX_TOOLS = 120
"""The largest number of tools that a model is offered."""

MAX_TOOL_TEXT = 32_000
"""The number of characters of a tool's answer that the model sees."""

MAX_NAMED_SKILLS = 3
"""The number of skills whose bodies go into the prompt because the message names them."""

log = logging.getLogger("parley.openai")


class OpenAIEngine:
    """A streaming engine over an OpenAI-compatible server.

    `toolbox` and `skillbook` are used only when an agent's owner speaks; they may be set until the first chat.
    """

    name = "openai"

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        model: str,
        *,
        limits: Limits | None = None,
        toolbox: Toolbox | None = None,
        skillbook: Skillbook | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._model = model
        self._completions = Completions(base_url, api_key, self._limits)
        self.toolbox: Toolbox = toolbox or NoTools()
        self.skillbook: Skillbook = skillbook or NoSkills()

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._completions.close()

    async def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        """Yield the model's texts as they come; at the end, the attributions of the reply.

        Raises:
            EngineFailed: the server has no answer, or not all of it.
            Overloaded: too many other answers are streaming.
        """
        deadline = asyncio.get_running_loop().time() + self._limits.total_s
        settings = read_profile(turn.persona)
        skills = await self._skills(turn)
        tools = await self._tools(turn)
        prompt = build(turn, settings, skills, await self._bodies(turn, skills), self._limits.prompt_tokens)
        said: list[str] = []
        answers: list[ToolAnswer] = []
        async for piece in self._rounds(turn, settings, prompt.messages, tools, bool(skills), deadline, answers):
            said.append(piece)
            yield piece
        reply = "".join(said)
        if not reply.strip():
            raise EngineFailed(f"The model server answered nothing. {KEPT}")
        for source in await sliced(attributions(reply, turn.message, prompt.memories, prompt.utterances)):
            yield source
        if any(answer.quoted for answer in answers):
            for memory in await sliced(tool_attributions(reply, turn.message, answers)):
                yield memory

    async def _rounds(
        self,
        turn: Turn,
        settings: AgentSettings,
        messages: list[ChatMessage],
        tools: dict[str, OfferedTool],
        has_skills: bool,
        deadline: float,
        answers: list[ToolAnswer],
    ) -> AsyncIterator[str]:
        """Ask the model, and again with the answers of the tools that it calls, until it calls no more.

        `answers` receives the tools' answers, cut off as the model sees them.
        """
        request: dict[str, Any] = {"model": settings.model or self._model, "messages": messages}
        if settings.temperature is not None:
            request["temperature"] = settings.temperature
        if tools or has_skills:
            request["tools"] = _functions(tools, has_skills)
        left, joint = self._limits.reply_chars, ""
        speaker = turn.speaker_id or turn.speaker
        for round in range(self._limits.tool_rounds + 1):
            if "tools" in request and round == self._limits.tool_rounds:
                request["tool_choice"] = "none"
            calls: list[ToolCall] = []
            said: list[str] = []
            async with aclosing(self._completions.run(request, speaker, deadline)) as answer:
                async for piece in answer:
                    if isinstance(piece, ToolCall):
                        calls.append(piece)
                        continue
                    text = (joint + piece)[:left]
                    joint = ""
                    left -= len(text)
                    said.append(piece)
                    yield text
                    if not left:
                        return
            if not calls:
                return
            for number, call in enumerate(calls):
                call.id = call.id or f"call_{round}_{number}"
            messages.append(
                {
                    "role": "assistant",
                    "content": "".join(said) or None,
                    "tool_calls": [call.message() for call in calls],
                }
            )
            for call in calls:
                whole = await self._use(turn, call, tools, has_skills, deadline)
                result = whole._replace(text=_bounded(whole.text))
                answers.append(result)
                content = ("Error: " if result.is_error else "") + result.text
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            joint = "\n\n" if said else joint
        raise EngineFailed(f"The model wanted tools {self._limits.tool_rounds} times and more. {KEPT}")

    # the owner's skills and tools

    async def _skills(self, turn: Turn) -> list[tuple[str, str]]:
        return await self.skillbook.skills(turn.owner_id) if turn.owner_id else []

    async def _bodies(self, turn: Turn, skills: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Read the skills that the message names."""
        bodies: list[tuple[str, str]] = []
        for name in named_in(turn.message, [name for name, _ in skills])[:MAX_NAMED_SKILLS]:
            body = await self.skillbook.read(turn.owner_id, name)
            if body:
                bodies.append((name, body))
        return bodies

    async def _tools(self, turn: Turn) -> dict[str, OfferedTool]:
        """Return the tools by function name. If the toolbox fails, the chat continues without tools."""
        if not turn.owner_id:
            return {}
        try:
            tools = await self.toolbox.tools(turn.owner_id)
        except ServiceError as error:
            log.warning("a user's tools can't be listed: %s", error.note)
            return {}
        return function_names(tools[:MAX_TOOLS], (READ_SKILL,))

    async def _use(
        self, turn: Turn, call: ToolCall, tools: dict[str, OfferedTool], has_skills: bool, deadline: float
    ) -> ToolAnswer:
        """Carry out a tool call of the model; an error is an answer to the model."""
        try:
            arguments: Any = orjson.loads(call.arguments or "{}")
        except orjson.JSONDecodeError:
            arguments = None
        if not isinstance(arguments, dict):
            return ToolAnswer("the arguments are not a JSON object.", is_error=True)
        given = cast(dict[str, Any], arguments)
        if call.name == READ_SKILL and has_skills:
            return await self._read_skill(turn.owner_id, given)
        tool = tools.get(call.name)
        if tool is None:
            return ToolAnswer(f"there is no tool {call.name[:80]}.", is_error=True)
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self.toolbox.invoke(turn.owner_id, tool.name, given)
            return answer if isinstance(answer, ToolAnswer) else ToolAnswer(*answer)
        except ServiceError as error:
            return ToolAnswer(error.note, is_error=True)
        except TimeoutError:
            raise EngineFailed(f"The tool {tool.name} did not answer in time. {KEPT}") from None

    async def _read_skill(self, user_id: str, arguments: dict[str, Any]) -> ToolAnswer:
        name, path = arguments.get("name"), arguments.get("file")
        if not isinstance(name, str) or not isinstance(path, str | None):
            takes = "read_skill takes a name, and a file where one of the skill's files is wanted."
            return ToolAnswer(takes, is_error=True)
        text = await self.skillbook.read(user_id, name, path or None)
        return ToolAnswer("there is no such skill or file.", is_error=True) if text is None else ToolAnswer(text)


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_TOOL_TEXT else f"{text[:MAX_TOOL_TEXT]} [cut off]"


def _functions(tools: dict[str, OfferedTool], has_skills: bool) -> list[dict[str, Any]]:
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
