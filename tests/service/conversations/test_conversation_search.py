"""CV_Search: messages of a user's own conversations, indexed or not (docs/contract.md, "Search in conversations")."""

import asyncio

from tests.support.conversations import begun, found, say
from tests.support.gateway import Client, GatewayProcess
from tests.support.long_talk import talk
from tests.support.operator import on_plan
from tests.support.stored import read


async def test_what_was_said_is_found_at_once_the_statement_first(user: Client, name: str):
    await user.agent(name)
    conversation = await begun(user, None, "What is my dog called?", "My dog is called Rex.", "When do trains leave?")
    reply = (await say(user, "What is my dog called?", conversation["id"]))[1]["content"]
    texts = await found(user, "dogs")
    assert texts[0] == "My dog is called Rex."
    assert sorted(texts[1:]) == sorted(["What is my dog called?", "What is my dog called?", reply])
    assert await found(user, "train") == ["When do trains leave?"]
    assert await found(user, "the dog Rex", page={"limit": 1}) == ["My dog is called Rex."]
    assert await found(user, "submarine") == []
    assert await found(user, "?!") == []


async def test_a_message_is_found_by_what_was_said_just_before_it(user: Client, name: str):
    await user.agent(name)
    told = ["Edie wants a hamster for her birthday.", "I've said no because of the cat.", "The depot has a new roof."]
    await begun(user, None, *told)
    statements = [text for text in await found(user, "Why can't Edie have a hamster?") if text in told]
    assert statements[:2] == told[:2]
    assert await found(user, "hamster") == told[:1]  # no question


async def test_each_message_is_whole_and_names_its_conversation(user: Client, name: str):
    await user.agent(name)
    first, second = await begun(user), await begun(user)
    red = (await say(user, "The lamp is red.", first["id"]))[0]
    blue = (await say(user, "The lamp is blue.", second["id"]))[0]
    messages = (await user.command("CV_Search", content="lamp")).ok().content
    assert [message for message in messages if message["role"] == "user"] == [blue, red]
    assert (red["conversation"], blue["conversation"]) == (first["id"], second["id"])


async def test_the_search_may_be_narrowed_to_an_agent_or_a_conversation(user: Client, name: str):
    await user.agent(name)
    first = await begun(user, None, "The lamp is red.")
    await say(user, "The lamp is blue.")
    await user.agent(f"{name}-2")
    await say(user, "The lamp is green.")
    assert set(await found(user, "lamp")) == {"The lamp is red.", "The lamp is blue.", "The lamp is green."}
    assert set(await found(user, "lamp", target={"agent": name})) == {"The lamp is red.", "The lamp is blue."}
    assert await found(user, "lamp", target={"conversation": first["id"]}) == ["The lamp is red."]
    assert await found(user, "lamp", target={"conversation": "default"}) == ["The lamp is green."]
    default = {"conversation": "default", "agent": name}
    assert await found(user, "lamp", target=default) == ["The lamp is blue."]


async def test_another_user_s_messages_are_never_found(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    await begun(user, None, "The lamp is red.")
    (await user.command("AP_Chat", content="The lamp is blue.")).ok()
    assert await found(other, "lamp") == []
    assert await found(other, "lamp", target={"agent": name}) == []
    await say(other, "The lamp is green.", (await begun(other, agent=name))["id"])
    assert await found(other, "lamp") == ["The lamp is green."]


async def test_indexed_messages_and_new_ones_are_ranked_alike(
    user: Client, name: str, unique: str, sanic_server: GatewayProcess
):
    """The old ones are in the index; enough messages lie between, so that they are not all read."""
    await on_plan(user, "enterprise")
    await user.agent(name)
    long = (await begun(user, None, f"The zither{unique} is old.", f"Does the zither{unique} sound?"))["id"]
    await talk(user, 1_150, target={"conversation": long})
    short = await begun(user, None, f"The zither{unique} is new and stands in the hall beside the window.")
    await say(user, f"The zither{unique} is newest.", long)
    async with asyncio.timeout(60):
        while not await read(
            sanic_server,
            "SELECT 1 FROM collections JOIN indexed_texts ON collection = number"
            " JOIN conversations ON conversations.id = conversation_id JOIN users ON users.id = user_id"
            " WHERE users.name = ? AND document = 1 AND reached > 1900",
            user.name,
        ):
            await asyncio.sleep(0.1)
    statements = [text for text in await found(user, f"zither{unique}") if not text.startswith(("Noted", "You said"))]
    assert statements == [
        f"The zither{unique} is newest.",
        f"The zither{unique} is old.",
        f"The zither{unique} is new and stands in the hall beside the window.",
    ]
    assert await found(user, f"zither{unique} hall", page={"limit": 1}) == [
        f"The zither{unique} is new and stands in the hall beside the window."
    ]
    assert short["id"] != long
    assert (await found(user, "Parcel p7"))[0] == "Parcel p7 went to town t7."
