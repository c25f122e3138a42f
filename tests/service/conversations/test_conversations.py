"""Several conversations with an agent: begun, titled, listed, read (docs/contract.md, "Conversations")."""

from typing import Any

import pytest

from tests.support.conversations import begun, listed, record_of, say, texts_of
from tests.support.gateway import PASSWORD, Client

COMMANDS: dict[str, dict[str, Any]] = {
    "CV_Read": {},
    "CV_Update": {"vx": {"name": "Mine"}},
    "CV_Search": {"content": "lighthouse"},
    "CV_Fork": {},
    "CV_Destroy": {},
    "AP_History": {},
    "AP_Chat": {"content": "Hello"},
}
"""Commands that take a conversation, with what else they need."""


async def test_a_new_conversation_has_a_record_of_its_own(user: Client, name: str):
    await user.agent(name)
    first = await begun(user, "Travel plans")
    assert {key: first[key] for key in ("agent", "title", "default", "messages", "last_seq")} == {
        "agent": name,
        "title": "Travel plans",
        "default": False,
        "messages": 0,
        "last_seq": 0,
    }
    assert first["created_at"] == first["updated_at"]
    assert first["id"].startswith("cnv_")
    await say(user, "The lighthouse is red.", first["id"])
    read = await record_of(user, first["id"])
    assert (read["messages"], read["last_seq"], read["created_at"]) == (2, 2, first["created_at"])
    assert read["updated_at"] > first["updated_at"]


async def test_each_conversation_knows_only_what_was_said_in_it(user: Client, name: str):
    await user.agent(name)
    first, second = await begun(user), await begun(user)
    await say(user, "My cat is called Tom.", first["id"])
    assert "Tom" not in (await say(user, "What is my cat called?", second["id"]))[1]["content"]
    assert "Tom" not in (await say(user, "What is my cat called?"))[1]["content"]
    message, reply = await say(user, "What is my cat called?", first["id"])
    assert "Tom" in reply["content"]
    assert (message["conversation"], reply["conversation"], message["seq"]) == (first["id"], first["id"], 3)
    assert (await user.command("AP_Read")).ok().content[0]["messages"] == 8


async def test_the_first_chat_begins_the_default_conversation(user: Client, name: str):
    await user.agent(name)
    target = {"agent": name, "conversation": "default"}
    (await user.command("CV_Read", target=target)).refused(3000, 404)
    message, _ = (await user.command("AP_Chat", content="Hello")).ok().content
    record = (await user.command("CV_Read", target=target)).ok().profile[0]
    assert (record["id"], record["default"], record["title"]) == (message["conversation"], True, None)
    assert await texts_of(user, record["id"]) == await texts_of(user, "default")
    assert len(await say(user, "Hello again", record["id"])) == 2
    assert (await record_of(user, "default"))["messages"] == 4
    assert await listed(user) == [record["id"]]


async def test_a_title_is_set_and_replaced(user: Client, name: str):
    await user.agent(name)
    conversation = (await begun(user))["id"]
    target = {"conversation": conversation}
    for title in ("x", "Plans", "é" * 200):
        record = (await user.command("CV_Update", target=target, vx={"name": title})).ok().profile[0]
        assert record == await record_of(user, conversation)
        assert record["title"] == title
    for missing in ("", "  ", None):
        answer = (await user.command("CV_Update", target=target, vx={"name": missing})).refused(1002, 400)
        assert answer.note.startswith("missing name field")
    (await user.command("CV_Update", target=target, vx={"name": "x" * 201})).refused(1003, 400)
    assert (
        (await user.command("CV_Update", vx={"name": "x"}))
        .refused(1002, 400)
        .note.startswith("missing target.conversation field")
    )
    assert (await user.command("CV_Create", vx={"name": " "})).ok().profile[0]["title"] is None


@pytest.mark.parametrize("service", COMMANDS)
async def test_a_conversation_of_another_user_does_not_exist(user: Client, other: Client, name: str, service: str):
    await user.agent(name, access="public")
    conversation = await begun(user, "Mine alone", "The lighthouse is red.")
    await other.command("AP_Add", target={"agent": name})
    unknown = conversation["id"][:-4] + ("0000" if conversation["id"][-4:] != "0000" else "1111")
    for id in (conversation["id"], unknown, "cnv_1", "another"):
        answer = await other.command(service, target={"conversation": id}, **COMMANDS[service])
        answer.refused(3000, 404)
        assert "lighthouse" not in str(answer.body)
    (await user.command(service, target={"conversation": unknown}, **COMMANDS[service])).refused(3000, 404)
    assert await texts_of(user, conversation["id"]) != []
    assert (await record_of(user, conversation["id"]))["title"] == "Mine alone"


@pytest.mark.parametrize("service", COMMANDS)
async def test_an_id_decides_the_agent(user: Client, name: str, service: str):
    await user.agent(name)
    conversation = await begun(user, None, "The lighthouse is red.")
    await user.agent(f"{name}-2")
    wrong = {"conversation": conversation["id"], "agent": f"{name}-2"}
    assert "target.agent" in (await user.command(service, target=wrong, **COMMANDS[service])).refused(1003, 400).note
    right = {"conversation": conversation["id"], "agent": name.upper()}
    (await user.command(service, target=right, **COMMANDS[service])).ok()


async def test_a_conversation_is_private_so_no_place_is_named_beside_it(user: Client, name: str):
    await user.agent(name)
    conversation = (await begun(user))["id"]
    (await user.command("DM_Create", vx={"name": f"{name}-domain", "description": "d"})).ok()
    for place in ({"domain": f"{name}-domain"}, {"zone": "lobby"}):
        target = {"conversation": conversation} | place
        note = (await user.command("AP_Chat", target=target, content="Hello")).refused(1003, 400).note
        assert "target.conversation" in note
    (await user.command("DM_Select", target={"domain": f"{name}-domain"})).ok()
    assert len(await say(user, "Hello", conversation)) == 2
    assert (await user.command("ZN_Read")).ok().content == []


async def test_conversations_are_listed_by_their_last_use(user: Client, name: str):
    await user.agent(name)
    first, second, third = [(await begun(user, title))["id"] for title in ("one", "two", "three")]
    assert await listed(user) == [third, second, first]
    await say(user, "Hello", first)
    assert await listed(user) == [first, third, second]
    (await user.command("CV_Update", target={"conversation": second}, vx={"name": "2"})).ok()
    assert await listed(user) == [first, third, second]
    await user.agent(f"{name}-2")
    fourth = (await say(user, "Hello"))[0]["conversation"]
    assert await listed(user) == [fourth, first, third, second]
    assert await listed(user, target={"agent": name}) == [first, third, second]
    assert await listed(user, target={"agent": f"{name}-2"}) == [fourth]
    (await user.command("CV_List", target={"agent": f"{name}-3"})).refused(3000, 404)


async def test_pages_miss_nothing_and_repeat_nothing_while_conversations_are_used(user: Client, name: str):
    await user.agent(name)
    ids = [(await begun(user, f"{number}"))["id"] for number in range(9)][::-1]
    page = (await user.command("CV_List", page={"limit": 4})).ok()
    seen = [record["id"] for record in page.profile]
    while (cursor := page.body["header"]["next"]) is not None:
        await say(user, "Hello", ids[-1])
        await say(user, "Hello", ids[5])
        new = (await begun(user))["id"]
        page = (await user.command("CV_List", page={"limit": 4, "cursor": cursor})).ok()
        (await user.command("AP_History", page={"cursor": cursor})).refused(1003, 400)
        seen += [record["id"] for record in page.profile]
        assert new not in seen
    assert seen == ids
    assert (await listed(user))[0] == new
    (await user.command("CV_List", page={"cursor": "bm90IG91cnM="})).refused(1003, 400)


async def test_conversations_with_a_destroyed_agent_stay_the_user_s(user: Client, other: Client, name: str):
    await other.agent(name, access="public")
    await user.command("AP_Add", target={"agent": name})
    conversation = await begun(user, "Ours", "The lighthouse is red.", agent=name)
    default = (await user.command("AP_Chat", target={"agent": name}, content="Hello")).ok().content[0]["conversation"]
    (await other.command("AP_Destroy", target={"agent": name})).ok()
    target = {"conversation": conversation["id"]}
    assert sorted(await listed(user)) == sorted([conversation["id"], default])
    assert (await record_of(user, conversation["id"]))["agent"] == name
    assert (await texts_of(user, conversation["id"]))[0] == "The lighthouse is red."
    (found,) = (await user.command("CV_Search", content="lighthouse")).ok().content
    assert found["conversation"] == conversation["id"]
    (await user.command("AP_Chat", target=target, content="Hello")).refused(3000, 404)
    (await user.command("CV_Fork", target=target)).refused(3002, 409)
    (await user.command("CV_Create", target={"agent": name})).refused(3000, 404)
    assert (await user.command("CV_Update", target=target, vx={"name": "Past"})).ok().profile[0]["title"] == "Past"
    await other.agent(name, access="public")  # another one of that name
    assert sorted(await listed(user)) == sorted([conversation["id"], default])
    assert await listed(user, target={"agent": name}) == []
    for id in (conversation["id"], default):
        (await user.command("CV_Destroy", target={"conversation": id})).ok()
    assert await listed(user) == []
    (await user.command("CV_Read", target=target)).refused(3000, 404)


async def test_a_destroyed_user_takes_all_its_conversations_along(
    user: Client, other: Client, sanic_client: Client, name: str
):
    await user.agent(name, access="public")
    for title in ("one", "two"):
        await begun(other, title, "The lighthouse is red.", agent=name)
    (await other.command("AP_Chat", target={"agent": name}, content="Hello")).ok()
    mine = await begun(user, "mine", "My boat is blue.")
    (await other.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    again = await sanic_client.register(other.name)
    assert await listed(again) == []
    assert (await again.command("CV_Search", content="lighthouse")).ok().content == []
    assert await listed(user) == [mine["id"]]
    assert len(await say(user, "What is my boat?", mine["id"])) == 2


@pytest.mark.parametrize("service", ["CV_Create", "CV_List", "CV_Search"])
async def test_an_agent_out_of_sight_is_no_target(user: Client, other: Client, name: str, service: str):
    await other.agent(name, access="agent")
    (await user.command(service, target={"agent": name}, content="x")).refused(3000, 404)


async def test_without_an_agent_there_is_no_default(user: Client):
    (await user.command("CV_Create")).refused(3003, 409)
    (await user.command("CV_Read", target={"conversation": "default"})).refused(3003, 409)
    assert await listed(user) == []
    assert (await user.command("CV_Search", content="anything")).ok().content == []
