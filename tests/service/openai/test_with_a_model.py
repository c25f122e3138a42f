"""OpenAI's API in front of the engine `openai`: what the client asks goes to the model, and its answers come back."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.gateways.gate import ENGINES
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.openai_client import messages_of
from tests.support.provider import DONE, Provider, calls, chunk, providing, says, sends

TOOL: Any = {
    "type": "function",
    "function": {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {}}},
}
FLAT: Any = {"type": "function", **TOOL["function"], "strict": None}


@pytest.fixture(scope="module")
async def provider() -> AsyncIterator[Provider]:
    async with providing() as provider:
        yield provider


@pytest.fixture(scope="module")
async def gateway(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    settings = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": provider.base_url,
        "PARLEY_OPENAI_API_KEY": "sk-key",
        "PARLEY_OPENAI_MODEL": "llama",
    }
    async with running(tmp_path_factory.mktemp("model") / "data", script=ENGINES / "model.py", **settings) as gateway:
        yield gateway


@pytest.fixture
async def user(gateway: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield await client.register(f"{unique}-user")


def said(text: str) -> Any:
    return [{"role": "user", "content": text}]


async def test_instructions_and_options_reach_the_model(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str
):
    text = f"{unique} options"
    provider.on(text, says("Aye."))
    await openai.chat.completions.create(
        model=agent,
        messages=[{"role": "system", "content": "Speak like a pirate."}, *said(text)],
        temperature=0.25,
        top_p=0.5,
        seed=7,
        stop=["END"],
        max_completion_tokens=50,
        response_format={"type": "json_object"},
    )
    (request,) = provider.asked(text)
    assert "Speak like a pirate." in str(request.body["messages"])
    sent = {name: request.body[name] for name in ("temperature", "top_p", "seed", "stop", "max_tokens")}
    assert sent == {"temperature": 0.25, "top_p": 0.5, "seed": 7, "stop": ["END"], "max_tokens": 50}
    assert request.body["response_format"] == {"type": "json_object"}


async def test_a_response_asks_for_json_in_its_own_way(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str
):
    text = f"{unique} schema"
    provider.on(text, says('{"far": true}'))
    schema: Any = {"type": "object", "properties": {"far": {"type": "boolean"}}}
    response = await openai.responses.create(
        model=agent,
        input=text,
        instructions="Answer in JSON.",
        text={"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}},
    )
    assert response.output_text == '{"far": true}'
    (request,) = provider.asked(text)
    assert "Answer in JSON." in str(request.body["messages"])
    assert request.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True},
    }


async def test_the_usage_is_the_models(openai: AsyncOpenAI, agent: str, provider: Provider, unique: str):
    text = f"{unique} usage"
    provider.on(text, *[says("Noon.", usage=(31, 7)) for _ in range(3)])
    completion = await openai.chat.completions.create(model=agent, messages=said(text))
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (31, 7)
    stream = await openai.chat.completions.create(
        model=agent, messages=said(text), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 38
    response = await openai.responses.create(model=agent, input=text)
    assert response.usage is not None
    assert response.usage.total_tokens == 38


async def test_the_history_is_what_the_model_sees(openai: AsyncOpenAI, agent: str, provider: Provider, unique: str):
    text = f"{unique} history"
    provider.on(text, says("Kiel."))
    history: Any = [{"role": "user", "content": "I live in Kiel."}, {"role": "assistant", "content": "Noted."}]
    await openai.chat.completions.create(model=f"{agent}:once", messages=[*history, *said(text)])
    (request,) = provider.asked(text)
    assert request.said[-3:] == [("user", "I live in Kiel."), ("assistant", "Noted."), ("user", text)]


async def test_a_call_of_the_clients_function_comes_back(
    openai: AsyncOpenAI, agent: str, provider: Provider, user: Client, unique: str
):
    text = f"{unique} tool"
    provider.on(text, *[calls(("look_up", '{"at": "Moon"}'), text="Wait.") for _ in range(4)])
    completion = await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL])
    choice = completion.choices[0]
    (call,) = choice.message.tool_calls or []
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("look_up", '{"at": "Moon"}')
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Wait.")
    assert completion.metadata is not None
    assert await messages_of(user, completion.metadata["conversation_id"]) == [("user", text), ("agent", "Wait.")]
    stream = await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL], stream=True)
    chunks = [chunk async for chunk in stream]
    streamed = [one for chunk in chunks for choice in chunk.choices for one in choice.delta.tool_calls or []]
    assert [(one.function and one.function.name, one.function and one.function.arguments) for one in streamed] == [
        ("look_up", '{"at": "Moon"}')
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    response = await openai.responses.create(model=agent, input=text, tools=[FLAT])
    assert [item.type for item in response.output] == ["message", "function_call"]
    async with openai.responses.stream(model=agent, input=text, tools=[FLAT]) as events:
        final = await events.get_final_response()
    assert [item.type for item in final.output] == ["message", "function_call"]


async def test_one_call_at_a_time_is_asked_of_the_model(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str
):
    text = f"{unique} one at a time"
    provider.on(text, *[calls(("look_up", "{}")) for _ in range(2)])
    await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL], parallel_tool_calls=False)
    response = await openai.responses.create(model=agent, input=text, tools=[FLAT], parallel_tool_calls=False)
    assert response.parallel_tool_calls is False
    assert [request.body["parallel_tool_calls"] for request in provider.asked(text)] == [False, False]


async def test_only_the_allowed_functions_are_offered(openai: AsyncOpenAI, agent: str, provider: Provider, unique: str):
    text, other = f"{unique} allowed", {"name": "other", "parameters": {"type": "object", "properties": {}}}
    provider.on(text, *[calls(("look_up", "{}")) for _ in range(2)])
    nested: Any = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}}
    tools: Any = [{"type": "function", "function": other}, TOOL]
    await openai.chat.completions.create(model=agent, messages=said(text), tools=tools, tool_choice=nested)
    choice: Any = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look_up"}]}
    flat: Any = [{"type": "function", **other}, FLAT]
    response = await openai.responses.create(model=agent, input=text, tools=flat, tool_choice=choice)
    assert response.tool_choice.model_dump() == choice  # pyright: ignore[reportAttributeAccessIssue]
    for request in provider.asked(text):  # the owner's own tools stand before the client's
        assert [tool["function"]["name"] for tool in request.body["tools"]][-1:] == ["look_up"]
        assert "other" not in str(request.body["tools"])


def one_call(id: str | None, arguments: str, *, name: str | None = "look_up", **index: int) -> bytes:
    """Write a chunk with a call, or with a piece of one."""
    return chunk(tool_calls=[{"id": id, "function": {"name": name, "arguments": arguments}, **index}])


@pytest.mark.parametrize(
    "pieces",
    [
        [one_call("a", '{"at": 1}', index=0), one_call("b", '{"at": 2}', index=0)],
        [one_call("a", '{"at": 1}'), one_call("b", '{"at": 2}')],
        [
            one_call("a", "", index=0),
            one_call("b", "", index=1),
            one_call("c", '{"at": 1}', name=None, index=0),
            one_call("d", '{"at": 2}', name=None, index=1),
        ],
    ],
    ids=["of one number", "without numbers", "in pieces with ids of their own"],
)
async def test_calls_come_back_apart_however_the_server_numbers_them(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str, pieces: list[bytes]
):
    text = f"{unique} apart"
    provider.on(text, sends(*pieces, chunk("tool_calls"), DONE))
    completion = await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL])
    made = [call for call in completion.choices[0].message.tool_calls or [] if call.type == "function"]
    assert [(call.id, call.function.arguments) for call in made] == [("a", '{"at": 1}'), ("b", '{"at": 2}')]


async def test_a_call_without_arguments_has_an_empty_object(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str
):
    text = f"{unique} bare"
    provider.on(text, calls(("look_up", "")))
    response = await openai.responses.create(model=agent, input=text, tools=[FLAT])
    assert [item.arguments for item in response.output if item.type == "function_call"] == ["{}"]


async def test_a_call_without_a_text_is_an_answer_without_one(
    openai: AsyncOpenAI, agent: str, provider: Provider, user: Client, unique: str
):
    text = f"{unique} silent"
    provider.on(text, *[calls(("look_up", "{}")) for _ in range(2)])
    completion = await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL])
    message = completion.choices[0].message
    assert (message.content, len(message.tool_calls or [])) == (None, 1)
    assert completion.metadata is not None
    stored = await messages_of(user, completion.metadata["conversation_id"])
    assert [role for role, _ in stored] == ["user", "agent"]
    response = await openai.responses.create(model=agent, input=text, tools=[FLAT])
    assert [item.type for item in response.output] == ["function_call"]
    result = f"{unique} It is far."
    provider.on(result, says("I see."))
    await openai.responses.create(model=agent, input=result, previous_response_id=response.id)
    (request,) = provider.asked(result)
    assert request.said == [("user", text), ("user", result)]  # many model servers refuse an empty message


async def test_a_history_with_a_call_without_a_text_goes_on_in_its_conversation(
    openai: AsyncOpenAI, agent: str, provider: Provider, user: Client, unique: str
):
    text, result, end = f"{unique} silent", f"{unique} It is far.", f"{unique} Thanks."
    provider.on(text, *[calls(("look_up", "{}"), ("look_up", "{}")) for _ in range(2)])
    provider.on(result, says("I see."), says("I see."))
    provider.on(end, says("Bye."), says("Bye."))
    called = await openai.chat.completions.create(model=agent, messages=said(text), tools=[TOOL])
    message: Any = called.choices[0].message
    made = [{"role": "tool", "tool_call_id": call.id, "content": "Far."} for call in message.tool_calls]
    history: Any = [*said(text), message, *made, *said(result)]
    answered = await openai.chat.completions.create(model=agent, messages=history, tools=[TOOL])
    history = [*history, answered.choices[0].message, *said(end)]
    ended = await openai.chat.completions.create(model=agent, messages=history, tools=[TOOL])
    assert called.metadata == answered.metadata == ended.metadata
    response = await openai.responses.create(model=agent, input=text, tools=[FLAT])
    items: Any = [*said(text), *[item.model_dump(exclude_none=True) for item in response.output]]
    items += [{"type": "function_call_output", "call_id": item.call_id, "output": "Far."} for item in response.output]  # pyright: ignore[reportAttributeAccessIssue]
    following = await openai.responses.create(model=agent, input=[*items, *said(result)])
    assert following.conversation == response.conversation
    named: Any = [{"type": "item_reference", "id": item.id} for item in (*response.output, *following.output)]
    items = [*said(text), *named[:-1], *said(result), named[-1], *said(end)]
    last = await openai.responses.create(model=agent, input=items)
    assert last.conversation == response.conversation
    assert response.conversation is not None
    assert len(await messages_of(user, response.conversation.id)) == 6


@pytest.mark.parametrize("text", ["Wait.", ""])
async def test_a_response_that_is_read_again_has_its_calls_and_its_usage(
    openai: AsyncOpenAI, agent: str, provider: Provider, unique: str, text: str
):
    said_first, said_next = f"{unique} tool", f"{unique} tokens"
    provider.on(said_first, calls(("look_up", '{"at": "Moon"}'), text=text))
    provider.on(said_next, says("Noon, and", finish="length", usage=(321, 45)))
    for response in (
        await openai.responses.create(model=agent, input=said_first, tools=[FLAT]),
        await openai.responses.create(model=agent, input=said_next, max_output_tokens=45),
    ):
        again = await openai.responses.retrieve(response.id)
        assert (again.output, again.usage) == (response.output, response.usage)
        assert (again.status, again.incomplete_details) == (response.status, response.incomplete_details)


def try_of(number: int, keyed: bool) -> dict[str, str]:
    return {"Idempotency-Key": "one"} if keyed else {"x-stainless-retry-count": str(number)}


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
@pytest.mark.parametrize("keyed", [False, True])
async def test_a_repeat_has_calls_of_the_clients_functions_too(
    user: Client, agent: str, provider: Provider, unique: str, path: str, keyed: bool
):
    text, tool = f"{unique} lost", FLAT if path == "responses" else TOOL
    provider.on(text, calls(("look_up", '{"at": "Moon"}')))
    body = {"model": agent, "messages": said(text), "input": text, "tools": [tool]}
    first, again = [
        await user.request("POST", f"/v1/{path}", json=body, headers=try_of(number, keyed)) for number in range(2)
    ]
    assert "look_up" in str(first.body)
    assert (again.http, again.body) == (200, first.body)


@pytest.mark.parametrize("keyed", [False, True])
async def test_a_repeat_ends_as_the_first_try_with_the_same_usage(
    user: Client, agent: str, provider: Provider, unique: str, keyed: bool
):
    text = f"{unique} short"
    provider.on(text, says("It is", finish="length", usage=(31, 7)))
    body = {"model": agent, "input": text, "max_output_tokens": 2}
    first, again = [
        await user.request("POST", "/v1/responses", json=body, headers=try_of(number, keyed)) for number in range(2)
    ]
    assert (first.body["status"], first.body["usage"]["total_tokens"]) == ("incomplete", 38)
    assert (again.http, again.body) == (200, first.body)


async def test_an_answer_cut_by_its_limit_says_so(openai: AsyncOpenAI, agent: str, provider: Provider, unique: str):
    text = f"{unique} length"
    provider.on(text, says("It is", finish="length"), says("It is", finish="length"))
    completion = await openai.chat.completions.create(model=agent, messages=said(text), max_tokens=2)
    assert completion.choices[0].finish_reason == "length"
    response = await openai.responses.create(model=agent, input=text, max_output_tokens=2)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
