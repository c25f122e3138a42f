"""Chat completions, through the official client."""

import pytest
from openai import APIError, APIStatusError, AsyncOpenAI, ConflictError, NotFoundError, PermissionDeniedError
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from tests.gateways.gate import Gate
from tests.support.gateway import Client
from tests.support.openai_client import count_of, messages_of, openai_client

ASKED: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How far is the Moon?"}]


def conversation_of(completion: ChatCompletion) -> str:
    assert completion.metadata is not None
    return completion.metadata["conversation_id"]


async def test_a_chat_is_answered_and_stored(openai: AsyncOpenAI, agent: str, user: Client):
    raw = await openai.chat.completions.with_raw_response.create(model=agent, messages=ASKED)
    completion = raw.parse()
    assert completion.object == "chat.completion"
    assert completion.model == agent
    (choice,) = completion.choices
    assert "384,400 km" in (choice.message.content or "")
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    conversation = conversation_of(completion)
    assert raw.headers["X-Conversation-Id"] == conversation
    assert raw.headers["X-Run-Id"] == "run_" + completion.id.removeprefix("chatcmpl-")
    assert await messages_of(user, conversation) == [
        ("user", "How far is the Moon?"),
        ("agent", choice.message.content),
    ]


async def test_sources_are_citations(openai: AsyncOpenAI, agent: str, user: Client, unique: str):
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    fact = "The telescope stands on Cerro Pachon."
    (await user.command("MB_Load", target={"bank": f"{unique}-bank"}, vx={"name": "site"}, content=fact)).ok()
    attach = {"bank": f"{unique}-bank", "agent": agent}
    (await user.command("MB_Permissions", target=attach, vx={"permission": "read"})).ok()
    said: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Where does the telescope stand?"}]
    completion = await openai.chat.completions.create(model=agent, messages=said)
    message = completion.choices[0].message
    (annotation,) = message.annotations or []
    citation = annotation.url_citation
    assert (citation.url, citation.title) == (f"parley://bank/{unique}-bank/site", "site")
    assert (message.content or "")[citation.start_index : citation.end_index] == fact
    chunks = [chunk async for chunk in await openai.chat.completions.create(model=agent, messages=said, stream=True)]
    last = chunks[-1].choices[0]
    assert last.finish_reason == "stop"
    assert (last.delta.model_extra or {})["annotations"] == [annotation.model_dump()]


async def test_a_stream_has_the_chunks_of_a_completion(openai: AsyncOpenAI, agent: str, user: Client):
    create = openai.chat.completions.with_streaming_response.create
    async with create(model=agent, messages=ASKED, stream=True) as response:
        lines = [line async for line in response.iter_lines() if line]
        conversation = response.headers["X-Conversation-Id"]
        assert response.headers["Content-Type"].startswith("text/event-stream")
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: {") for line in lines[:-1])
    stored = await messages_of(user, conversation)
    chunks = [chunk async for chunk in await openai.chat.completions.create(model=agent, messages=ASKED, stream=True)]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == stored[1][1]
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == "stop"
    assert all(chunk.usage is None for chunk in chunks)


async def test_the_usage_of_a_stream_is_its_last_chunk_if_it_is_asked_for(openai: AsyncOpenAI, agent: str):
    stream = await openai.chat.completions.create(
        model=agent, messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]
    assert all(chunk.usage is None for chunk in chunks)
    assert last.choices == []
    assert last.usage is not None
    whole = await openai.chat.completions.create(model=agent, messages=ASKED)
    assert last.usage == whole.usage


async def test_pieces_come_while_the_engine_writes(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user) as client:
        stream = await client.chat.completions.create(
            model=f"{unique}-agent",
            messages=[{"role": "user", "content": f"say:Hello wait:{gate} say:World"}],
            stream=True,
        )
        texts: list[str] = []
        async for chunk in stream:
            texts += [choice.delta.content for choice in chunk.choices if choice.delta.content]
            if texts == ["Hello"]:
                await gate.reached()
                gate.open()
        assert texts == ["Hello", "World"]


async def test_an_engine_that_fails_is_an_error_also_in_a_stream(scripted_user: Client, unique: str):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user, max_retries=0) as client:
        fails: list[ChatCompletionMessageParam] = [{"role": "user", "content": "fail"}]
        with pytest.raises(APIStatusError) as failed:
            await client.chat.completions.create(model=f"{unique}-agent", messages=fails)
        assert (failed.value.status_code, failed.value.code) == (502, "engine_failed")
        later: list[ChatCompletionMessageParam] = [{"role": "user", "content": "say:Hello fail"}]
        stream = await client.chat.completions.create(model=f"{unique}-agent", messages=later, stream=True)
        with pytest.raises(APIError) as cut:
            async for _ in stream:
                pass
        assert cut.value.code == "engine_failed"


async def test_what_is_not_stored_has_no_conversation(openai: AsyncOpenAI, agent: str, user: Client):
    history: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "My parrot is called Archibald."},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "What is my parrot called?"},
    ]
    for model, store in ((f"{agent}:once", None), (agent, False)):
        raw = await openai.chat.completions.with_raw_response.create(model=model, messages=history, store=store)
        completion = raw.parse()
        assert "Archibald" in (completion.choices[0].message.content or "")
        assert (completion.model, completion.metadata) == (model, None)
        assert "X-Conversation-Id" not in raw.headers
    assert await count_of(user, agent) == 0


async def test_a_named_conversation_goes_on(openai: AsyncOpenAI, agent: str, user: Client):
    first = await openai.chat.completions.create(
        model=agent, messages=ASKED, metadata={"conversation_id": "my-own-id", "other": "x"}
    )
    assert first.metadata is not None
    assert first.metadata["other"] == "x"
    conversation = conversation_of(first)
    again = await openai.chat.completions.create(
        model=agent, messages=ASKED, extra_headers={"X-Conversation-Id": "my-own-id"}
    )
    assert conversation_of(again) == conversation
    third = await openai.chat.completions.create(
        model=agent, messages=ASKED, metadata={"conversation_id": conversation}
    )
    assert conversation_of(third) == conversation
    assert len(await messages_of(user, conversation)) == 6
    other = await openai.chat.completions.create(model=agent, messages=ASKED)
    assert conversation_of(other) != conversation


async def test_the_id_of_an_erased_conversation_names_a_new_one_of_the_same_user(
    openai: AsyncOpenAI, sanic_client: Client, user: Client, unique: str
):
    agent, other = f"{unique}-shared", await sanic_client.register(f"{unique}-other")
    await user.agent(agent, access="public")

    async def named(client: AsyncOpenAI) -> str:
        metadata = {"conversation_id": "my-own-id"}
        return conversation_of(await client.chat.completions.create(model=agent, messages=ASKED, metadata=metadata))

    async with openai_client(other) as theirs:
        first, of_other = await named(openai), await named(theirs)
        assert first != of_other
        (await user.command("CV_Destroy", target={"conversation": first})).ok()
        second = await named(openai)
        assert second not in (first, of_other)
        assert (await named(openai), await named(theirs)) == (second, of_other)
    assert len(await messages_of(user, second)) == 4


async def test_an_unknown_conversation_is_404(openai: AsyncOpenAI, agent: str, sanic_client: Client, unique: str):
    theirs = await sanic_client.register(f"{unique}-other")
    await theirs.agent(f"{unique}-theirs", access="public")
    async with openai_client(theirs) as client:
        other = conversation_of(await client.chat.completions.create(model=f"{unique}-theirs", messages=ASKED))
    own = conversation_of(await openai.chat.completions.create(model=f"{unique}-theirs", messages=ASKED))
    for wrong in ("cnv_" + "0" * 18, "cnv_x", other, own):  # the last is one with another agent
        with pytest.raises(NotFoundError) as refused:
            await openai.chat.completions.create(model=agent, messages=ASKED, metadata={"conversation_id": wrong})
        assert (refused.value.code, refused.value.param) == ("not_found", "metadata.conversation_id")
        assert ("is with another agent" in refused.value.message) == (wrong == own)
    with pytest.raises(NotFoundError) as by_header:
        await openai.chat.completions.create(model=agent, messages=ASKED, extra_headers={"X-Conversation-Id": "cnv_x"})
    assert by_header.value.param == "X-Conversation-Id"


async def test_an_agent_that_is_offline_or_hidden_is_refused(
    openai: AsyncOpenAI, agent: str, user: Client, sanic_client: Client, unique: str
):
    with pytest.raises(NotFoundError) as unknown:
        await openai.chat.completions.create(model="nobody", messages=ASKED)
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    theirs = await sanic_client.register(f"{unique}-other")
    await theirs.agent(f"{unique}-hidden")
    with pytest.raises(NotFoundError) as hidden:
        await openai.chat.completions.create(model=f"{unique}-hidden", messages=ASKED)
    assert hidden.value.code == "model_not_found"
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    with pytest.raises((ConflictError, PermissionDeniedError)) as offline:
        await openai.chat.completions.create(model=agent, messages=ASKED)
    assert (offline.value.status_code, offline.value.code) == (409, "conflict")
    assert offline.value.response.headers["x-should-retry"] == "false"
