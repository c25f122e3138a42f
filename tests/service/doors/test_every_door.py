"""What holds in every door to an agent: one conversation, quota, audit, credentials, visibility, the agent's states."""

import asyncio

import pytest

from tests.support.doors import DOORS, Door, Saying
from tests.support.gateway import Client
from tests.support.operator import on_plan, set_plan


def name_of(door: Door) -> str:
    """Return the name of a parametrized door."""
    return door.name


every_door = pytest.mark.parametrize("door", DOORS, ids=name_of)

CODE_OF = {200: 0, 401: 2001, 404: 3000, 409: 3002, 429: 4000}


@pytest.fixture
async def agent(user: Client, unique: str) -> str:
    """An online agent of the user's."""
    await user.agent(f"{unique}-agent", profile="The Moon is 384,400 km away.")
    return f"{unique}-agent"


async def refused(door: Door, client: Client, agent: str, http: int) -> None:
    """Insist that a door refuses a message with an HTTP status, and that it tells the same in its own way."""
    heard = await door.say(client, agent, Saying("How far is the Moon?"))
    assert heard.http == http or (heard.http == 200 and heard.code), heard
    if door.name in ("bus", "alias"):
        assert heard.code == CODE_OF[http]


async def used(user: Client) -> int:
    """Return the number of requests counted today, this one included."""
    return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]


async def test_one_conversation_through_all_doors_shows_each_message_once_and_in_order(user: Client, agent: str):
    first = (await user.command("AP_Chat", content="Message 0")).ok()
    conversation, said = first.content[0]["conversation"], ["Message 0", first.content[1]["content"]]
    for number, door in enumerate((*DOORS, *reversed(DOORS)), 1):
        heard = await door.say(user, agent, Saying(f"Message {number}", conversation))
        assert (heard.http, heard.conversation) == (200, conversation), door.name
        said += [f"Message {number}", heard.reply]
    history = (await user.command("AP_History", target={"conversation": conversation})).ok().content
    assert [message["content"] for message in history] == said
    assert [message["seq"] for message in history] == list(range(1, len(said) + 1))
    assert {message["conversation"] for message in history} == {conversation}


@pytest.mark.parametrize("door", [door for door in DOORS if door.repeatable], ids=name_of)
async def test_a_repeat_stores_one_chat_whether_the_first_is_under_way_or_answered(
    user: Client, agent: str, unique: str, door: Door
):
    saying = Saying(f"I live in {unique}.", id=f"{unique}-id")
    repeat = Saying(saying.text, id=saying.id, again=1)
    first, second = await asyncio.gather(door.say(user, agent, saying), door.say(user, agent, repeat))
    third = await door.say(user, agent, repeat)
    assert first.http == second.http == third.http == 200
    assert first.reply == third.reply
    assert first.conversation == third.conversation
    history = (await user.command("AP_History", target={"conversation": first.conversation})).ok().content
    assert [message["role"] for message in history] == ["user", "agent"]


@every_door
async def test_each_message_counts_one_and_the_limit_holds(user: Client, agent: str, door: Door):
    before = await used(user)
    assert (await door.say(user, agent, Saying("Hello"))).http == 200
    assert await used(user) == before + 2
    assert (await set_plan(user, user.name, "enterprise", limit=before + 2)).http == 200
    await refused(door, user, agent, 429)


@every_door
async def test_each_message_leaves_one_audit_row_without_its_text(user: Client, agent: str, unique: str, door: Door):
    await on_plan(user, "scale")

    async def entries() -> list[str]:
        answer = await user.request("GET", "/api/audit?limit=200")
        assert f"secret-{unique}" not in str(answer.body)
        return [entry["service"] for entry in answer.body["entries"]]

    before = await entries()
    assert (await door.say(user, agent, Saying(f"secret-{unique}"))).http == 200
    after = await entries()
    assert len(after) == len(before) + 1
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    await refused(door, user, agent, 409)
    assert len(await entries()) == len(after) + 2


@every_door
async def test_a_revoked_session_an_unknown_one_and_none_are_refused(
    user: Client, agent: str, sanic_client: Client, door: Door
):
    other = await user.log_on(user.name)
    assert (await door.say(other, agent, Saying("Hello"))).http == 200
    (await user.command("US_Revoke", vx={"name": "all"})).ok()
    await refused(door, other, agent, 401)
    for token in (None, "pls_unknown"):
        heard = await door.say(sanic_client.as_user(token), agent, Saying("Hello"))
        assert heard.http == 401 or heard.code in (2000, 2001)


@every_door
async def test_agents_out_of_sight_offline_or_destroyed_answer_nobody(
    user: Client, agent: str, sanic_client: Client, unique: str, door: Door
):
    stranger = await sanic_client.register(f"{unique}-stranger")
    await refused(door, stranger, agent, 404)
    await refused(door, user, f"{unique}-nobody", 404)
    (await user.command("AP_Modify", target={"agent": agent}, vx={"access": "public"})).ok()
    assert (await door.say(stranger, agent, Saying("Hello"))).http == 200
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    await refused(door, stranger, agent, 409)
    (await user.command("AP_Destroy", target={"agent": agent})).ok()
    await refused(door, stranger, agent, 404)


@every_door
async def test_a_conversation_of_another_user_does_not_exist(
    user: Client, agent: str, sanic_client: Client, unique: str, door: Door
):
    (await user.command("AP_Modify", target={"agent": agent}, vx={"access": "public"})).ok()
    mine = (await user.command("AP_Chat", content="My dog is called Rex.")).ok().content[0]["conversation"]
    stranger = await sanic_client.register(f"{unique}-stranger")
    heard = await door.say(stranger, agent, Saying("What is my dog called?", mine))
    assert heard.http != 200 or heard.code
    assert len((await user.command("AP_History", target={"conversation": mine})).ok().content) == 2
