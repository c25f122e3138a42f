"""The engine `openai`: asks a model on an OpenAI-compatible server (docs/engines.md).

Importing this costs most of a second; only a gateway that is set to this engine does so.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from actors.engines.openai.attribution import attributions, tool_attributions
from actors.engines.openai.chunks import ToolCall
from actors.engines.openai.completion import Completed, Completions, Limits
from actors.engines.openai.prompt import Prompt, build, named_in, read_profile
from actors.engines.openai.request import READ_SKILL, client_functions, make_request
from actors.engines.openai.tools import NoSkills, NoTools, OfferedTool, Skillbook, ToolAnswer, Toolbox, function_names
from actors.engines.options import ClientToolCall, Usage, estimated_usage
from actors.engines.turn import Finish, Finished, Piece, Recalled, Turn
from actors.errors import MessageKept, ServiceError
from actors.slices import sliced

MAX_TOOLS = 120
"""The largest number of tools that a model is offered."""

MAX_TOOL_TEXT = 32_000
"""The number of characters of a tool's answer that the model sees."""

MAX_NAMED_SKILLS = 3
"""The number of skills whose bodies go into the prompt because the message names them."""

log = logging.getLogger("parley.openai")


_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "content_filter"}


@dataclass(slots=True)
class _Talk:
    """A turn under way: what the model gets, and what it has said so far.

    `answers` are those of the tools, cut off as the model sees them; `client` are the names of the client's functions.
    """

    turn: Turn
    deadline: float
    prompt: Prompt
    request: dict[str, Any]
    tools: dict[str, OfferedTool]
    has_skills: bool
    client: frozenset[str]
    said: list[str] = field(default_factory=list[str])
    answers: list[ToolAnswer] = field(default_factory=list[ToolAnswer])
    calls: list[ClientToolCall] = field(default_factory=list[ClientToolCall])
    usage: Usage | None = None
    finish: Finish = "stop"

    def count(self, reported: Usage | None, said: list[str]) -> None:
        """Add the usage of one answer of the model: the one reported, else an estimate."""
        if reported is None:
            texts = [message["content"] or "" for message in self.request["messages"]]
            reported = estimated_usage(texts, "".join(said))
        self.usage = reported if self.usage is None else self.usage.plus(reported)


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
            MessageKept: the server has no answer, or not all of it.
            Overloaded: too many other answers are streaming.
        """
        talk = await self._begin(turn)
        halted = False
        try:
            async for text in self._rounds(talk):
                talk.said.append(text)
                yield text
        except asyncio.CancelledError:
            halted = turn.halt is not None and turn.halt.called
            if not halted:  # the gateway stops
                raise
        except Exception:
            for position in dict.fromkeys(position for answer in talk.answers for position in answer.quoted):
                yield Recalled(position)  # what it said may be shown until its run is forgotten
            raise
        reply = "".join(talk.said)
        if not (reply.strip() or talk.calls or halted):
            raise MessageKept("The model server answered nothing.")
        for call in talk.calls:
            yield call
        yield Finished(talk.finish)
        if talk.usage is not None:
            yield talk.usage
        for source in await sliced(attributions(reply, turn.message, talk.prompt.memories, talk.prompt.utterances)):
            yield source
        if any(answer.quoted for answer in talk.answers):
            for memory in await sliced(tool_attributions(reply, turn.message, talk.answers)):
                yield memory

    async def _begin(self, turn: Turn) -> _Talk:
        """Gather the skills, tools and texts of a turn."""
        deadline = asyncio.get_running_loop().time() + self._limits.total_s
        settings = read_profile(turn.persona)
        client = client_functions(turn.options)
        skills = [] if READ_SKILL in client else await self._skills(turn)
        tools = await self._tools(turn, client)
        prompt = build(turn, settings, skills, await self._bodies(turn, skills), self._limits.prompt_tokens)
        request = make_request(settings, self._model, prompt.messages, tools, bool(skills), turn.options)
        return _Talk(turn, deadline, prompt, request, tools, bool(skills), client)

    async def _rounds(self, talk: _Talk) -> AsyncIterator[str]:
        """Ask the model, and again with the answers of the tools that it calls, until it calls no more.

        A call of a function of the client ends the turn; the owner's tools that are called beside it are not used.
        """
        request, messages = talk.request, talk.prompt.messages
        left, joint = self._limits.reply_chars, ""
        speaker = talk.turn.speaker_id or talk.turn.speaker
        for round in range(self._limits.tool_rounds + 1):
            if "tools" in request and round == self._limits.tool_rounds:
                request["tool_choice"] = "none"
            calls: list[ToolCall] = []
            said: list[str] = []
            ended = Completed("length", None)
            try:
                async with aclosing(self._completions.run(request, speaker, talk.deadline)) as answer:
                    async for piece in answer:
                        if isinstance(piece, ToolCall):
                            calls.append(piece)
                            continue
                        if isinstance(piece, Completed):
                            ended = piece
                            continue
                        text = (joint + piece)[:left]
                        joint = ""
                        left -= len(text)
                        said.append(piece)
                        yield text
                        if not left:
                            break
            finally:
                talk.count(ended.usage, said)
            talk.finish = _FINISHES.get(ended.reason, "stop")
            if not calls or not left:
                return
            for number, call in enumerate(calls):
                call.id = call.id or f"call_{round}_{number}"
                call.arguments = call.arguments or "{}"
            wanted = [call for call in calls if call.name in talk.client]
            talk.calls += [ClientToolCall(call.id, call.name, call.arguments) for call in wanted]
            if talk.calls:
                talk.finish = "tool_calls"
                return
            messages.append(
                {
                    "role": "assistant",
                    "content": "".join(said) or None,
                    "tool_calls": [call.message() for call in calls],
                }
            )
            for call in calls:
                whole = await self._use(talk, call)
                result = whole._replace(text=_bounded(whole.text))
                talk.answers.append(result)
                content = ("Error: " if result.is_error else "") + result.text
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            joint = "\n\n" if said else joint
        raise MessageKept(f"The model wanted tools {self._limits.tool_rounds} times and more.")

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

    async def _tools(self, turn: Turn, client: frozenset[str]) -> dict[str, OfferedTool]:
        """Return the owner's tools by function name, which is no client's. If the toolbox fails, there are none."""
        if not turn.owner_id:
            return {}
        try:
            tools = await self.toolbox.tools(turn.owner_id)
        except ServiceError as error:
            log.warning("a user's tools can't be listed: %s", error.note)
            return {}
        return function_names(tools[:MAX_TOOLS], (READ_SKILL, *client))

    async def _use(self, talk: _Talk, call: ToolCall) -> ToolAnswer:
        """Carry out a tool call of the model; an error is an answer to the model."""
        try:
            arguments: Any = orjson.loads(call.arguments)
        except orjson.JSONDecodeError:
            arguments = None
        if not isinstance(arguments, dict):
            return ToolAnswer("the arguments are not a JSON object.", is_error=True)
        given = cast(dict[str, Any], arguments)
        if call.name == READ_SKILL and talk.has_skills:
            return await self._read_skill(talk.turn.owner_id, given)
        tool = talk.tools.get(call.name)
        if tool is None:
            return ToolAnswer(f"there is no tool {call.name[:80]}.", is_error=True)
        try:
            async with asyncio.timeout_at(talk.deadline):
                answer = await self.toolbox.invoke(talk.turn.owner_id, tool.name, given)
            return answer if isinstance(answer, ToolAnswer) else ToolAnswer(*answer)
        except ServiceError as error:
            return ToolAnswer(error.note, is_error=True)
        except TimeoutError:
            raise MessageKept(f"The tool {tool.name} did not answer in time.") from None

    async def _read_skill(self, user_id: str, arguments: dict[str, Any]) -> ToolAnswer:
        name, path = arguments.get("name"), arguments.get("file")
        if not isinstance(name, str) or not isinstance(path, str | None):
            takes = "read_skill takes a name, and a file where one of the skill's files is wanted."
            return ToolAnswer(takes, is_error=True)
        text = await self.skillbook.read(user_id, name, path or None)
        return ToolAnswer("there is no such skill or file.", is_error=True) if text is None else ToolAnswer(text)


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_TOOL_TEXT else f"{text[:MAX_TOOL_TEXT]} [cut off]"
