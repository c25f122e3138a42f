"""Responses, through the official client."""

import asyncio
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.responses import Response

from tests.gateways.gate import Gate
from tests.support.gateway import Client
from tests.support.openai_client import count_of, messages_of, openai_client

ASKED = "How far is the Moon?"


def conversation_of(response: Response) -> str:
    assert response.conversation is not None
    return response.conversation.id


def said(*texts: str) -> list[Any]:
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


async def test_a_response_is_stored_and_read_again(openai: AsyncOpenAI, agent: str, user: Client):
    response = await openai.responses.create(model=agent, input=ASKED, metadata={"a": "b"}, instructions="Be brief.")
    assert (response.status, response.model, response.error) == ("completed", agent, None)
    assert "384,400 km" in response.output_text
    assert (response.metadata, response.instructions) == ({"a": "b"}, "Be brief.")
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
    record = (await user.command("AP_History", target={"conversation": conversation_of(response)})).ok().content
    assert [message["content"] for message in record] == [ASKED, response.output_text]
    assert response.output[0].id == record[1]["id"]
    again = await openai.responses.retrieve(response.id)
    assert again.output == response.output
    assert (again.id, again.status, again.model, again.conversation, again.created_at, again.completed_at) == (
        response.id,
        "completed",
        agent,
        response.conversation,
        response.created_at,
        response.completed_at,
    )


async def test_a_stream_has_the_events_of_a_response(openai: AsyncOpenAI, agent: str):
    events = [event async for event in await openai.responses.create(model=agent, input=ASKED, stream=True)]
    types = [event.type for event in events]
    assert types[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert types[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == last.response.output_text
    assert (await openai.responses.retrieve(last.response.id)).output == last.response.output


async def test_the_clients_own_helper_follows_a_stream(openai: AsyncOpenAI, agent: str):
    async with openai.responses.stream(model=agent, input=ASKED) as stream:
        texts = [event.snapshot async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert texts[-1] == final.output_text
    assert "384,400 km" in final.output_text


async def test_sources_are_flat_citations(openai: AsyncOpenAI, agent: str):
    conversation = f"{agent}-pets"
    named: Any = {"conversation_id": conversation}
    await openai.responses.create(model=agent, input="My parrot is called Archibald.", metadata=named)
    response = await openai.responses.create(model=agent, input="What is my parrot called?", metadata=named)
    part: Any = response.output[0]
    (annotation,) = part.content[0].annotations
    assert annotation.type == "url_citation"
    assert annotation.url.startswith("parley://conversation/msg_")
    quote = response.output_text[annotation.start_index : annotation.end_index]
    assert quote == "My parrot is called Archibald."
    stream = await openai.responses.create(model=agent, input="What is my parrot called?", metadata=named, stream=True)
    added = [event async for event in stream if event.type == "response.output_text.annotation.added"]
    assert [event.annotation_index for event in added] == [0]


async def test_a_response_follows_the_previous_one(openai: AsyncOpenAI, agent: str, user: Client):
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    second = await openai.responses.create(model=agent, input="Where do I live?", previous_response_id=first.id)
    assert "Kiel" in second.output_text
    assert second.previous_response_id == first.id
    assert conversation_of(second) == conversation_of(first)
    assert len(await messages_of(user, conversation_of(first))) == 4


async def test_messages_before_the_next_one_are_refused_after_a_previous_response(
    openai: AsyncOpenAI, agent: str, user: Client
):
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    history: Any = [
        {"role": "user", "content": "My number is 7."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "What is my number?"},
    ]
    with pytest.raises(BadRequestError) as refused:
        await openai.responses.create(model=agent, input=history, previous_response_id=first.id)
    assert refused.value.param == "input"
    assert await count_of(user, agent) == 2


async def test_the_previous_response_may_be_named_by_its_conversation(openai: AsyncOpenAI, agent: str, user: Client):
    """As Microsoft's Agent Framework does with a conversation whose id is not one of OpenAI's."""
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    id = conversation_of(first)
    second = await openai.responses.create(model=agent, input="Where do I live?", previous_response_id=id)
    assert "Kiel" in second.output_text
    assert conversation_of(second) == id
    assert len(await messages_of(user, id)) == 4
    with pytest.raises(NotFoundError) as unknown:
        await openai.responses.create(model=agent, input=ASKED, previous_response_id=f"cnv_{'0' * 32}")
    assert (unknown.value.code, unknown.value.param) == ("not_found", "previous_response_id")


async def test_a_response_after_one_that_is_not_the_last_forks(openai: AsyncOpenAI, agent: str, user: Client):
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    await openai.responses.create(model=agent, input="And in Rome.", previous_response_id=first.id)
    forked = await openai.responses.create(model=agent, input="Where do I live?", previous_response_id=first.id)
    assert conversation_of(forked) != conversation_of(first)
    assert [text for _, text in await messages_of(user, conversation_of(forked))] == [
        "I live in Kiel.",
        first.output_text,
        "Where do I live?",
        forked.output_text,
    ]
    assert "Rome" not in forked.output_text
    assert len(await messages_of(user, conversation_of(first))) == 4
    goes_on = await openai.responses.create(model=agent, input="Thank you.", previous_response_id=forked.id)
    assert conversation_of(goes_on) == conversation_of(forked)


async def test_of_two_responses_after_the_same_one_at_once_the_second_forks(
    openai: AsyncOpenAI, agent: str, user: Client
):
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    create = openai.responses.create
    both = await asyncio.gather(
        *[create(model=agent, input=f"Number {at}.", previous_response_id=first.id) for at in range(2)]
    )
    conversations = {conversation_of(response) for response in both}
    assert len(conversations) == 2
    assert conversation_of(first) in conversations
    for response in both:
        assert len(await messages_of(user, conversation_of(response))) == 4


async def test_a_conversation_is_named_by_its_id_or_the_clients_own(openai: AsyncOpenAI, agent: str):
    first = await openai.responses.create(model=agent, input=ASKED, conversation=f"{agent}-own")
    by_id = await openai.responses.create(model=agent, input=ASKED, conversation=conversation_of(first))
    by_object = await openai.responses.create(model=agent, input=ASKED, conversation={"id": f"{agent}-own"})
    assert conversation_of(first) == conversation_of(by_id) == conversation_of(by_object)
    with pytest.raises(NotFoundError) as unknown:
        await openai.responses.create(model=agent, input=ASKED, conversation="cnv_" + "0" * 18)
    assert (unknown.value.code, unknown.value.param) == ("not_found", "conversation")
    with pytest.raises(BadRequestError):
        await openai.responses.create(
            model=agent, input=ASKED, conversation=f"{agent}-own", previous_response_id=first.id
        )


async def test_a_history_is_found_and_shared_with_chat_completions(openai: AsyncOpenAI, agent: str, user: Client):
    first = await openai.responses.create(model=agent, input=said("I live in Kiel."))
    history = said("I live in Kiel.", first.output_text, "Where do I live?")
    second = await openai.responses.create(model=agent, input=history)
    assert conversation_of(second) == conversation_of(first)
    completion = await openai.chat.completions.create(
        model=agent, messages=[*history, *said("", second.output_text, "Thank you.")[1:]]
    )
    assert completion.metadata == {"conversation_id": conversation_of(first)}


async def test_a_deleted_response_is_unknown_and_its_messages_stay(openai: AsyncOpenAI, agent: str, user: Client):
    response = await openai.responses.create(model=agent, input=ASKED)
    await openai.responses.delete(response.id)
    for asking in (
        lambda: openai.responses.retrieve(response.id),
        lambda: openai.responses.delete(response.id),
        lambda: openai.responses.create(model=agent, input=ASKED, previous_response_id=response.id),
    ):
        with pytest.raises(NotFoundError) as unknown:
            await asking()
    assert (unknown.value.code, unknown.value.param) == ("previous_response_not_found", "previous_response_id")
    assert len(await messages_of(user, conversation_of(response))) == 2


async def test_a_response_of_another_model_is_told_from_an_unknown_one(
    openai: AsyncOpenAI, agent: str, user: Client, unique: str
):
    await user.agent(f"{unique}-other", select=False)
    response = await openai.responses.create(model=agent, input=ASKED)
    with pytest.raises(NotFoundError) as other:
        await openai.responses.create(model=f"{unique}-other", input=ASKED, previous_response_id=response.id)
    assert (other.value.code, other.value.param) == ("previous_response_not_found", "previous_response_id")
    assert "is another model's" in other.value.message


async def test_a_repeat_after_a_deletion_is_answered_anew(openai: AsyncOpenAI, agent: str, user: Client):
    async def said(count: int) -> str:
        headers = {"x-stainless-retry-count": str(count)}
        return (await openai.responses.create(model=agent, input=ASKED, extra_headers=headers)).id

    first = await said(0)
    assert await said(1) == first
    await openai.responses.delete(first)
    second = await said(1)
    assert second != first
    assert await said(2) == second == (await openai.responses.retrieve(second)).id
    with pytest.raises(NotFoundError):
        await openai.responses.retrieve(first)
    assert await count_of(user, agent) == 4


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"stream": "true"}, "stream", "unsupported_parameter"),
        ({"stream": "true", "starting_after": "3"}, "stream", "unsupported_parameter"),
        ({"starting_after": "3"}, "starting_after", "unsupported_parameter"),
        ({"stream": "1"}, "stream", "invalid_value"),
    ],
)
async def test_a_stored_response_is_not_streamed(
    openai: AsyncOpenAI, agent: str, query: dict[str, str], param: str, code: str
):
    response = await openai.responses.create(model=agent, input=ASKED)
    assert (await openai.responses.retrieve(response.id, stream=False)).output == response.output
    with pytest.raises(BadRequestError) as refused:
        await openai.responses.retrieve(response.id, extra_query=query)
    assert (refused.value.param, refused.value.code) == (param, code)


async def test_the_message_that_a_response_answers_is_its_input(openai: AsyncOpenAI, agent: str, user: Client):
    earlier = await openai.responses.create(model=agent, input="Hello.")
    parts: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}]
    response = await openai.responses.create(model=agent, input=parts, previous_response_id=earlier.id)
    items = openai.responses.input_items
    page = await items.list(response.id, limit=100, order="asc", include=["message.input_image.image_url"])
    (item,) = [item async for item in page]
    assert item.model_dump(exclude_none=True) == {
        "id": response.id.replace("resp_", "msg_"),
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [{"type": "input_text", "text": ASKED}],
    }
    assert (page.has_more, (page.model_extra or {})["first_id"]) == (False, item.id)
    assert (await items.list(response.id, after=item.id or "")).data == []
    for wrong in ({"limit": "0"}, {"limit": "101"}, {"order": "up"}):
        with pytest.raises(BadRequestError, match=next(iter(wrong))):
            await items.list(response.id, extra_query=wrong)
    (await user.command("CV_Destroy", target={"conversation": conversation_of(response)})).ok()
    with pytest.raises(NotFoundError):
        await items.list(response.id)


async def test_an_unknown_response_is_404(openai: AsyncOpenAI, agent: str, user: Client, sanic_client: Client):
    response = await openai.responses.create(model=agent, input=ASKED)
    other = await sanic_client.register(f"{agent}-other")
    async with openai_client(other) as stranger:
        for client, wrong in ((stranger, response.id), (openai, "resp_" + "0" * 32), (openai, "resp_x")):
            with pytest.raises(NotFoundError):
                await client.responses.retrieve(wrong)
            with pytest.raises(NotFoundError):
                await client.responses.input_items.list(wrong)
    await user.agent(f"{agent}-2", select=False)
    with pytest.raises(NotFoundError):
        await openai.responses.create(model=f"{agent}-2", input=ASKED, previous_response_id=response.id)


async def test_an_erased_conversation_takes_its_responses_along(openai: AsyncOpenAI, agent: str, user: Client):
    response = await openai.responses.create(model=agent, input=ASKED)
    (await user.command("CV_Destroy", target={"conversation": conversation_of(response)})).ok()
    with pytest.raises(NotFoundError):
        await openai.responses.retrieve(response.id)


async def test_a_response_that_is_not_stored_is_not_found_again(openai: AsyncOpenAI, agent: str, user: Client):
    for model, store in ((agent, False), (f"{agent}:once", None)):
        response = await openai.responses.create(model=model, input=ASKED, store=store)
        assert "384,400 km" in response.output_text
        assert response.conversation is None
        assert (response.model_extra or {})["store"] is False
        with pytest.raises(NotFoundError):
            await openai.responses.retrieve(response.id)
    assert await count_of(user, agent) == 0


async def test_a_run_under_way_and_a_failed_one_are_responses_too(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user, max_retries=0) as client:
        stream = await client.responses.create(
            model=f"{unique}-agent", input=f"say:Hello wait:{gate} fail", stream=True
        )
        events: list[Any] = []
        async for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                await gate.reached()
                begun = await client.responses.retrieve(events[0].response.id)
                assert (begun.status, begun.output) == ("in_progress", [])
                gate.open()
        assert events[-1].type == "response.failed"
        assert events[-1].response.error.code == "server_error"
        failed = await client.responses.retrieve(events[0].response.id)
        assert failed.status == "failed"
        assert failed.error is not None
        with pytest.raises(BadRequestError):
            await client.responses.create(
                model=f"{unique}-agent", input="say:Hi", previous_response_id=events[0].response.id
            )


async def test_a_cancelled_run_is_a_cancelled_response(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user) as client:
        stream = await client.responses.create(model=f"{unique}-agent", input=f"say:Hello wait:{gate}", stream=True)
        events: list[Any] = []
        async for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                run = events[0].response.id.replace("resp_", "run_")
                cancelled = await scripted_user.request("POST", f"/api/runs/{run}/cancel")
                assert cancelled.http == 200
        assert (events[-1].type, events[-1].response.status) == ("response.incomplete", "cancelled")
        again = await client.responses.retrieve(events[0].response.id)
        assert (again.status, again.output_text) == ("cancelled", "Hello")


async def test_a_stream_that_is_cancelled_before_a_word_ends_as_its_response_is_read(
    scripted_user: Client, unique: str, gate: Gate
):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user) as client:
        async with client.responses.stream(model=f"{unique}-agent", input=f"wait:{gate}") as stream:
            events: list[Any] = []
            async for event in stream:
                events.append(event)
                if event.type == "response.created":
                    await gate.reached()
                    run = event.response.id.replace("resp_", "run_")
                    assert (await scripted_user.request("POST", f"/api/runs/{run}/cancel")).http == 200
        last, again = events[-1], await client.responses.retrieve(events[0].response.id)
        assert (last.type, last.response.status, last.response.error) == ("response.incomplete", "cancelled", None)
        assert (again.status, again.error, again.output) == ("cancelled", None, last.response.output)


async def test_a_repeat_of_a_forking_response_forks_once(user: Client, openai: AsyncOpenAI, agent: str):
    first = await openai.responses.create(model=agent, input="I live in Kiel.")
    await openai.responses.create(model=agent, input="And in Rome.", previous_response_id=first.id)
    ids: list[str] = []
    for count in ("0", "1"):
        forked = await openai.responses.create(
            model=agent,
            input="Where do I live?",
            previous_response_id=first.id,
            extra_headers={"x-stainless-retry-count": count},
        )
        ids.append(forked.id)
    assert ids[0] == ids[1]
    assert len((await user.command("CV_List", target={"agent": agent})).ok().profile) == 2


@pytest.mark.parametrize(
    ("sent", "param", "code"),
    [
        ({"background": True}, "background", "unsupported_parameter"),
        ({"extra_body": {"n": 2}}, "n", "unsupported_parameter"),
        ({"extra_body": {"modalities": ["audio"]}}, "modalities", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"input": "x" * 32_001}, "input", "string_above_max_length"),
        ({"input": [{"role": "assistant", "content": "Hello"}]}, "input", "invalid_value"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format", "unsupported_parameter"),
    ],
)
async def test_what_would_change_the_answer_is_refused(
    openai: AsyncOpenAI, agent: str, sent: dict[str, Any], param: str, code: str
):
    create: Any = openai.responses.create
    with pytest.raises(APIStatusError) as refused:
        await create(**({"model": agent, "input": ASKED} | sent))
    assert (refused.value.status_code, refused.value.param, refused.value.code) == (400, param, code)
