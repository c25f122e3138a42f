"""The conversation that a history belongs to: the habits of chat front ends, which send everything again each time."""

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError, PermissionDeniedError
from openai.types.chat import ChatCompletion

from tests.support.gateway import Client
from tests.support.memories import load
from tests.support.openai_client import count_of, messages_of, openai_client
from tests.support.operator import on_plan


class FrontEnd:
    """A chat of a front end that keeps the history itself and sends all of it each time, as Open WebUI does."""

    def __init__(self, client: AsyncOpenAI, model: str, **members: Any) -> None:
        self._client = client
        self._model = model
        self._members = members
        self.history: list[Any] = []

    async def say(self, text: str) -> str:
        """Say something, and return the conversation in which it is stored."""
        self.history.append({"role": "user", "content": text})
        return await self.ask_again()

    async def ask_again(self) -> str:
        """Send the history, which ends in the user's message; add the answer."""
        system: Any = {"role": "system", "content": f"It is message {len(self.history)}."}
        completion: ChatCompletion = await self._client.chat.completions.create(
            model=self._model, messages=[system, *self.history], **self._members
        )
        self.history.append({"role": "assistant", "content": completion.choices[0].message.content})
        assert completion.metadata is not None
        return completion.metadata["conversation_id"]

    def stored(self) -> list[tuple[str, str]]:
        """Return the history as the gateway should have it."""
        return [("user" if one["role"] == "user" else "agent", one["content"]) for one in self.history]


async def test_a_history_that_is_sent_again_goes_on_in_its_conversation(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    conversations = [await front_end.say(text) for text in ("Hello!", "I live in Kiel.", "Where do I live?")]
    assert len(set(conversations)) == 1
    assert "Kiel" in front_end.history[-1]["content"]
    assert await messages_of(user, conversations[0]) == front_end.stored()


async def test_a_new_chat_begins_a_conversation_even_with_the_same_words(openai: AsyncOpenAI, agent: str):
    assert await FrontEnd(openai, agent).say("Hello!") != await FrontEnd(openai, agent).say("Hello!")


async def test_an_edited_message_begins_a_branch_and_the_old_one_stays(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("I live in Kiel.")
    await front_end.say("Where do I live?")
    before = front_end.stored()
    del front_end.history[2:]
    new = await front_end.say("What do you know of me?")
    assert new != old
    assert await messages_of(user, old) == before
    assert await messages_of(user, new) == front_end.stored()
    assert await front_end.say("Thank you!") == new
    first = FrontEnd(openai, agent)
    first.history = [{"role": "user", "content": "I live in Rome."}]
    assert await first.ask_again() not in (old, new)


async def test_a_regenerated_answer_begins_a_branch(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("I live in Kiel.")
    await front_end.say("Where do I live?")
    before = front_end.stored()
    del front_end.history[3:]
    new = await front_end.ask_again()
    assert new != old
    assert await messages_of(user, old) == before
    assert await messages_of(user, new) == front_end.stored() == before


async def filled_bank(user: Client, unique: str) -> str:
    """Return a bank of a user's agent with the memories `locker` and `dog`."""
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank, "description": "Codes"})).ok()
    (await load(user, bank, "locker", "The locker code is quartz-7731.")).ok()
    (await load(user, bank, "dog", "The dog is called Bertram.")).ok()
    return bank


async def test_a_history_with_words_that_were_censored_goes_on_in_its_conversation(
    openai: AsyncOpenAI, agent: str, user: Client, unique: str
):
    bank, question = await filled_bank(user, unique), "What is the locker code?"
    front_end, other = FrontEnd(openai, agent), FrontEnd(openai, agent)
    first, second = await front_end.say(question), await other.say(question)
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "locker"})).ok()
    del other.history[1:]
    other.history.append({"role": "assistant", "content": "I have forgotten it."})
    assert await other.say("What a pity!") not in (first, second)
    assert "quartz" in front_end.history[1]["content"]
    assert await front_end.say("Thank you!") == second
    assert await front_end.say("Goodbye!") == second
    assert not (await user.command("CV_Search", content="quartz")).ok().content


async def test_a_message_edited_after_a_censoring_brings_no_censored_words_back(
    openai: AsyncOpenAI, agent: str, user: Client, unique: str
):
    bank = await filled_bank(user, unique)
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("What is the locker code?")
    for text in ("What is the dog called?", "Thank you!"):
        assert await front_end.say(text) == old
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "locker"})).ok()
    del front_end.history[4:]
    assert "quartz" in front_end.history[1]["content"]
    branch = await front_end.say("Goodbye!")
    assert branch != old
    said, before = await messages_of(user, branch), await messages_of(user, old)
    assert said[:4] == before[:4]
    assert said[1] == ("agent", f"From the bank {bank}: “[censored]”")
    assert "Bertram" in said[3][1]
    assert await front_end.say("Once more!") == branch
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "dog"})).ok()
    assert "Bertram" not in str(await messages_of(user, branch))


async def test_a_censoring_reaches_the_branches_that_repeat_a_quote(
    openai: AsyncOpenAI, agent: str, user: Client, unique: str
):
    bank = await filled_bank(user, unique)
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("What is the locker code?")
    assert "quartz" in front_end.history[1]["content"]
    front_end.history[1]["content"] += "\n"
    await front_end.say("What is the dog called?")
    branches: list[str] = []
    for _ in range(2):
        del front_end.history[3:]
        branches.append(await front_end.ask_again())
    branches.append(await front_end.say("Who is the cat?"))
    assert len({old, *branches}) == 3
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "locker"})).ok()
    for branch in branches:
        said = await messages_of(user, branch)
        assert said[1] == ("agent", "[censored]")
        assert "Bertram" in said[3][1]
    found = (await user.command("CV_Search", content="quartz")).ok()
    assert not found.content


async def test_a_changed_answer_begins_a_branch(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("Hello!")
    front_end.history[-1]["content"] = "Good day to you."
    new = await front_end.say("How are you?")
    assert new != old
    assert await messages_of(user, new) == front_end.stored()


async def test_outer_white_space_and_the_form_of_letters_make_no_other_conversation(openai: AsyncOpenAI, agent: str):
    front_end = FrontEnd(openai, agent)
    first = await front_end.say("The café is in Kiel.")
    front_end.history[0]["content"] = "  The cafe\u0301 is in Kiel.\n"
    assert await front_end.say("Where is it?") == first


async def test_titles_and_tags_leave_no_trace(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    conversation = await front_end.say("I live in Kiel.")
    whole = "\n".join(f"{one['role'].upper()}: {one['content']}" for one in front_end.history)
    for task in ("Generate a concise title", "Generate 1-3 broad tags"):
        task_text = f"### Task:\n{task}.\n### Chat History:\n<chat_history>\n{whole}\n</chat_history>"
        answer = await openai.chat.completions.create(
            model=f"{agent}:once", messages=[{"role": "user", "content": task_text}], stream=False
        )
        assert answer.choices[0].message.content
    assert await front_end.say("Where do I live?") == conversation
    assert await messages_of(user, conversation) == front_end.stored()
    assert await count_of(user, agent) == 4


async def test_end_users_of_one_credential_have_conversations_of_their_own(openai: AsyncOpenAI, agent: str):
    ada, grace, nobody = (FrontEnd(openai, agent, **more) for more in ({"user": "ada"}, {"user": "grace"}, {}))
    conversations = [await one.say("Hello!") for one in (ada, grace, nobody)]
    assert len(set(conversations)) == 3
    assert [await one.say("How are you?") for one in (ada, grace, nobody)] == conversations
    same = FrontEnd(openai, agent, safety_identifier="ada")
    same.history = list(ada.history)
    assert await same.say("Bye!") == conversations[0]


async def test_of_two_requests_with_one_history_at_once_the_second_begins_its_own(
    openai: AsyncOpenAI, agent: str, user: Client
):
    front_end = FrontEnd(openai, agent)
    old = await front_end.say("Hello!")
    others = [FrontEnd(openai, agent) for _ in range(4)]
    for other in others:
        other.history = list(front_end.history)
    found = await asyncio.gather(*[other.say(f"How are you, {at}?") for at, other in enumerate(others)])
    assert len(set(found)) == 4
    assert old in found
    for conversation, other in zip(found, others, strict=True):
        assert await messages_of(user, conversation) == other.stored()


async def test_a_long_history_is_imported_from_its_end_and_found_again(openai: AsyncOpenAI, agent: str, user: Client):
    front_end = FrontEnd(openai, agent)
    for at in range(150):
        front_end.history.append({"role": "user", "content": f"Number {at} is noted."})
        front_end.history.append({"role": "assistant", "content": f"So it is, {at}."})
    conversation = await front_end.say("Go on.")
    assert await count_of(user, agent) == 202
    newest = await messages_of(user, conversation)
    assert newest == front_end.stored()[-len(newest) :]
    assert await front_end.say("And on.") == conversation
    front_end.history[0]["content"] = "Something else."
    assert await front_end.say("And on.") != conversation


def reference(id: str | None) -> Any:
    return {"type": "item_reference", "id": id}


async def test_a_history_may_name_the_agents_messages_by_their_ids(openai: AsyncOpenAI, agent: str, user: Client):
    """As Vercel's AI SDK sends it: what a stored response said is an `item_reference`."""
    history: list[Any] = []
    conversations: set[str] = set()
    for text in ("Hello!", "I live in Kiel.", "Where do I live?"):
        history.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        response = await openai.responses.create(model=agent, input=history)
        assert response.conversation is not None
        conversations.add(response.conversation.id)
        history.append(reference(response.output[0].id))
    assert len(conversations) == 1
    assert "Kiel" in response.output_text
    assert len(await messages_of(user, conversations.pop())) == 6
    history.insert(2, reference("fc_1"))  # calls of functions are left out
    once = await openai.responses.create(model=f"{agent}:once", input=[*history, history[-2]])
    assert "Kiel" in once.output_text


async def test_a_history_can_name_only_stored_messages_of_ones_own(
    openai: AsyncOpenAI, agent: str, user: Client, sanic_client: Client, unique: str
):
    create = openai.responses.create
    unstored = await create(model=agent, input="Hello!", store=False)
    asked: Any = {"role": "user", "content": "And now?"}
    for id in (unstored.output[0].id, "msg_1", "rs_1"):
        with pytest.raises(NotFoundError) as unknown:
            await create(model=agent, input=[reference(id), asked])
        assert (unknown.value.param, unknown.value.code) == ("input[0].id", "not_found")
    await user.command("AP_Modify", target={"agent": agent}, vx={"access": "public"})
    stored = reference((await create(model=agent, input="Hello!")).output[0].id)
    other = await sanic_client.register(f"{unique}-other")
    async with openai_client(other, max_retries=0) as stranger:
        with pytest.raises(NotFoundError):
            await stranger.responses.create(model=agent, input=[stored, asked])
    await user.agent(f"{agent}-2")
    await on_plan(user, "builder")
    scoped = {"name": "scoped", "scopes": {"agents": [f"{agent}-2"]}}
    key = (await user.request("POST", "/api/api-keys", json=scoped)).body["key"]
    async with openai_client(user.as_user(key, user.name), max_retries=0) as narrow:
        with pytest.raises(PermissionDeniedError):
            await narrow.responses.create(model=f"{agent}-2", input=[stored, asked])


async def test_a_history_can_t_grow_beyond_what_a_body_holds_by_ids(scripted_user: Client, unique: str):
    agent, long = f"{unique}-agent", "x" * 31_000
    await scripted_user.agent(agent)
    async with openai_client(scripted_user, max_retries=0) as client:
        said = await client.responses.create(model=agent, input=f"say:{long}")
        once = reference(said.output[0].id)
        asked: Any = {"role": "user", "content": "And now?"}
        for history in ([once] * 33, [reference("msg_1")] * 1_001):
            with pytest.raises(BadRequestError) as refused:
                await client.responses.create(model=agent, input=[*history, asked])
            assert (refused.value.param, refused.value.code) == ("input", "string_above_max_length")
