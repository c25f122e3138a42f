"""The conversation that a history belongs to: the habits of chat front ends, which send everything again each time."""

import asyncio
from typing import Any

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion

from tests.support.gateway import Client
from tests.support.openai_client import count_of, messages_of


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
