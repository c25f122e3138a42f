"""A client's options for the engine `openai`, the usage that it reports, and the end of a turn that is halted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs

from actors.engines.answering import EngineRunner
from actors.engines.halting import Halt
from actors.engines.message import Source
from actors.engines.openai.engine import OpenAIEngine
from actors.engines.openai.tools import ToolAnswer
from actors.engines.options import ClientToolCall, EngineOptions, Usage, estimated_usage
from actors.engines.recall import RecallEngine
from actors.engines.turn import Memory, Persona, Reply, Turn
from actors.engines.window import Window
from actors.errors import ServiceError
from tests.gateways.model import LIMITS, Offer
from tests.support.provider import DONE, Provider, Request, calls, chunk, counts, providing, says, sends, stalls

WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}},
}
TELESCOPE = Memory("notes", "telescope", "The telescope is called Argos.", 1.0)


class Clock:
    """A toolbox with one tool, which some client may offer under the same name."""

    def __init__(self) -> None:
        self.used = 0

    async def tools(self, user_id: str) -> list[Offer]:
        return [Offer("clock.time", "Tells the time.", {"type": "object"})]

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        self.used += 1
        return ToolAnswer("noon")


@asynccontextmanager
async def engine(provider: Provider, toolbox: Clock | None = None) -> AsyncIterator[OpenAIEngine]:
    made = OpenAIEngine(provider.base_url, "key", "llama", limits=LIMITS, toolbox=toolbox)
    try:
        yield made
    finally:
        await made.close()


def turn(message: str = "Hello?", options: EngineOptions | None = None, **more: Any) -> Turn:
    persona = Persona("agt_1", "scout", "", '{"instructions": "Be brief.", "temperature": 1}')
    return Turn(persona, "scout", (), Window(()), message, owner_id="usr_1", options=options, **more)


async def answer(
    *answers: Any, options: EngineOptions | None = None, toolbox: Clock | None = None
) -> tuple[Reply, list[Request]]:
    """Ask an engine whose server has these answers."""
    async with providing() as provider, engine(provider, toolbox) as asked:
        provider.on("Hello?", *answers)
        reply = await EngineRunner(asked, "agent").stream(turn(options=options), None)
        assert isinstance(reply, Reply), reply
        return reply, provider.requests


async def test_without_options_the_server_is_asked_as_before():
    _, (request,) = await answer(says("Aye."))
    assert request.body.keys() == {"model", "messages", "temperature", "stream", "stream_options"}
    assert request.body["temperature"] == 1


async def test_options_go_into_the_request_and_before_the_agent_s_own():
    options = EngineOptions(
        instructions=("Speak like a pirate.", "Say it in verse."),
        stop=("END", "\n\n"),
        max_tokens=9,
        temperature=0.0,
        top_p=0.5,
        seed=0,
        response_format={"type": "json_object"},
    )
    _, (request,) = await answer(says("Aye."), options=options)
    sent = {name: request.body[name] for name in request.body.keys() - {"model", "messages", "stream"}}
    assert sent == {
        "stop": ["END", "\n\n"],
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 0,
        "response_format": {"type": "json_object"},
        "stream_options": {"include_usage": True},
    }
    assert request.system.endswith("Be brief.\n\nSpeak like a pirate.\n\nSay it in verse.")


async def test_a_call_of_the_client_s_function_ends_the_turn():
    toolbox = Clock()
    wanted = calls(("clock__time", "{}"), ("weather", '{"city": "Ulm"}'), text="Let me see.")
    reply, (request,) = await answer(wanted, options=EngineOptions(tools=(WEATHER,)), toolbox=toolbox)
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["clock__time", "weather"]
    assert request.body["tools"][1] == WEATHER
    assert (reply.text, reply.finish) == ("Let me see.", "tool_calls")
    assert reply.calls == (ClientToolCall("id1", "weather", '{"city": "Ulm"}'),)
    assert toolbox.used == 0, "the owner's tool is of no use in a turn that ends"


async def test_a_call_alone_is_an_answer_too():
    reply, _ = await answer(calls(("weather", "{}")), options=EngineOptions(tools=(WEATHER,)))
    assert (reply.text, [call.name for call in reply.calls]) == ("", ["weather"])


async def test_the_owner_s_tools_give_way_to_the_client_s_names():
    toolbox = Clock()
    own = {"type": "function", "function": {"name": "clock__time"}}
    options = EngineOptions(tools=(own,))
    reply, (first, _) = await answer(calls(("clock__time_2", "{}")), says("Noon."), options=options, toolbox=toolbox)
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["clock__time_2", "clock__time"]
    assert (reply.text, toolbox.used) == ("Noon.", 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (EngineOptions(tools=(WEATHER,), parallel_tool_calls=False), False),
        (EngineOptions(tools=(WEATHER,)), None),
        (EngineOptions(parallel_tool_calls=False), None),
        (EngineOptions(tools=(WEATHER,), tool_choice="none", parallel_tool_calls=False), None),
    ],
)
async def test_calls_one_at_a_time_are_asked_for_where_functions_of_the_client_are_offered(
    options: EngineOptions, told: bool | None
):
    _, (request,) = await answer(says("Fine."), options=options, toolbox=Clock())
    assert request.body.get("parallel_tool_calls") is told


async def test_a_client_that_wants_no_calls_gets_none():
    options = EngineOptions(tools=(WEATHER,), tool_choice="none")
    reply, requests = await answer(calls(("weather", "{}")), says("Fine."), options=options)
    assert "tools" not in requests[0].body
    assert (reply.text, reply.calls) == ("Fine.", ())


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
async def test_the_reason_for_the_end_is_told(finish: str):
    reply, _ = await answer(says("Aye.", finish=finish))
    assert reply.finish == finish


async def test_a_reply_that_is_cut_off_ends_for_its_length():
    reply, _ = await answer(says("x" * 40_000))
    assert (len(reply.text), reply.finish) == (32_000, "length")


# usage


async def test_the_usage_of_all_rounds_is_added_up():
    first = sends(
        chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "clock__time", "arguments": "{}"}}]),
        chunk("tool_calls"),
        counts(20, 5),
        DONE,
    )
    reply, _ = await answer(first, says("Noon.", usage=(31, 7)), toolbox=Clock())
    assert reply.usage == Usage(51, 12)


@pytest.mark.parametrize("reported", [None, ("many", 3), (-1, 3), (True, 3), (4, None)])
async def test_without_a_readable_report_the_usage_is_estimated(reported: tuple[Any, Any] | None):
    reply, (request,) = await answer(says("Aye, aye.", usage=reported))
    assert reply.usage == estimated_usage([message["content"] for message in request.body["messages"]], "Aye, aye.")


async def test_a_server_without_stream_options_is_asked_again_without_them():
    async def refused(request: Request) -> web.StreamResponse:
        assert "stream_options" in request.body
        return web.json_response({"error": {"message": "Extra inputs: stream_options"}}, status=422)

    async with providing() as provider, engine(provider) as asked:
        runner = EngineRunner(asked, "agent")
        provider.on("Hello?", refused, says("Aye."), says("Aye, again."))
        replies = [await runner.stream(turn(), None) for _ in range(2)]
        assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["Aye.", "Aye, again."]
        assert ["stream_options" in request.body for request in provider.requests] == [True, False, False]


def test_an_estimate_counts_texts_and_messages():
    assert estimated_usage(["abcd" * 3, "日本"], "abcde") == Usage(3 + 4 + 2 + 4, 2)
    assert estimated_usage([], "") == Usage(0, 0)


def test_the_recall_engine_ignores_options():
    said = turn("What is new?")
    options = EngineOptions(instructions=("Speak like a pirate.",), max_tokens=1, response_format={"type": "json"})
    recall = RecallEngine()
    assert recall.reply(said) == recall.reply(structs.replace(said, options=options))


# halting


async def halted(*answers: Any, memories: tuple[Memory, ...] = ()) -> Reply | ServiceError:
    """Ask an engine whose server has these answers, and halt it once it waits."""
    async with providing() as provider, engine(provider) as asked:
        provider.on("Hello?", *answers)
        halt, came = Halt(), asyncio.Event()
        work = EngineRunner(asked, "agent").stream(
            structs.replace(turn(halt=halt), memories=memories), lambda _: came.set() or None
        )
        running = asyncio.create_task(work)
        while not provider.requests:
            await asyncio.sleep(0.01)
        if memories:
            await came.wait()
        else:
            await asyncio.sleep(0.05)
        halt.call()
        return await asyncio.wait_for(running, 30)


async def test_a_halted_reply_is_what_was_said_with_its_sources():
    reply = await halted(stalls(chunk(content="It is called Argos")), memories=(TELESCOPE,))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.halted) == ("It is called Argos", True)
    assert reply.sources == (Source("bank", "notes", "telescope", "The telescope is called Argos."),)
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 5


async def test_a_halted_engine_may_have_said_nothing():
    reply = await halted(stalls())
    assert isinstance(reply, Reply)
    assert (reply.text, reply.halted) == ("", True)


async def test_a_halt_before_the_first_step_asks_no_server():
    async with providing() as provider, engine(provider) as asked:
        halt = Halt()
        halt.call()
        reply = await EngineRunner(asked, "agent").stream(turn(halt=halt), None)
        assert isinstance(reply, Reply)
        assert (reply.text, reply.halted) == ("", True)
        assert not provider.requests


class Fast:
    """An engine that never waits, and one that attributes what it said after a halt."""

    name = "fast"

    def __init__(self, *, attributes: bool) -> None:
        self.attributes = attributes

    async def stream(self, turn: Turn) -> AsyncIterator[Any]:
        try:
            for _ in range(3):
                yield "word "
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not self.attributes:
                raise
            await asyncio.sleep(0)
            yield Source("bank", "notes", "telescope", "Argos")


@pytest.mark.parametrize("attributes", [False, True])
async def test_a_halt_between_two_pieces_holds(attributes: bool):
    halt, texts = Halt(), list[str]()

    def progress(text: str) -> None:
        texts.append(text)
        halt.call()

    reply = await EngineRunner(Fast(attributes=attributes), "agent").stream(turn(halt=halt), progress)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.halted, len(reply.sources)) == ("word " * 3, True, int(attributes))
    assert asyncio.current_task().cancelling() == 0  # pyright: ignore[reportOptionalMemberAccess]


async def test_a_halt_after_the_last_text_changes_nothing():
    async with providing() as provider, engine(provider) as asked:
        provider.on("Hello?", says("Aye."))
        halt = Halt()
        running = EngineRunner(asked, "agent").stream(turn(halt=halt), None)
        reply = await running
        halt.call()
        assert isinstance(reply, Reply)
        assert not reply.halted
        assert not halt.called


async def test_a_gateway_that_stops_cancels_the_engine():
    async with providing() as provider, engine(provider) as asked:
        provider.on("Hello?", stalls(chunk(content="Half")))
        runner, ended = EngineRunner(asked, "agent"), list[object]()

        async def work() -> None:
            ended.append(await runner.stream(turn(halt=Halt()), None))

        task = runner.in_background(work())
        while not provider.requests:
            await asyncio.sleep(0.01)
        runner.stop()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not ended
