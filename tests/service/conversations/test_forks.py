"""CV_Fork: a conversation with a copy of another one's messages (docs/contract.md, "Forks")."""

from typing import Any

from tests.support.conversations import begun, found, record_of, say, texts_of
from tests.support.gateway import Client, GatewayProcess
from tests.support.memories import load
from tests.support.stored import erased

COPIED = ("role", "name", "content", "at", "zone", "seq", "mark")


async def forked(user: Client, conversation: str, **body: Any) -> dict[str, Any]:
    return (await user.command("CV_Fork", target={"conversation": conversation}, **body)).ok().profile[0]


async def messages_of(user: Client, conversation: str) -> list[dict[str, Any]]:
    return (await user.command("AP_History", target={"conversation": conversation})).ok().content


async def test_a_fork_has_the_messages_under_new_ids(user: Client, name: str):
    await user.agent(name)
    source = await begun(user, "Pets", "My cat is called Tom.", "What is my cat called?")
    fork = await forked(user, source["id"])
    assert (fork["agent"], fork["title"], fork["default"], fork["messages"]) == (name, "Pets (fork)", False, 4)
    assert fork == await record_of(user, fork["id"])
    originals, copies = await messages_of(user, source["id"]), await messages_of(user, fork["id"])
    assert [[one[field] for field in COPIED] for one in copies] == [
        [one[field] for field in COPIED] for one in originals
    ]
    assert {one["conversation"] for one in copies} == {fork["id"]}
    ids = [one["id"] for one in originals + copies]
    assert len(set(ids)) == 8
    assert [one["id"] for one in copies] == sorted(one["id"] for one in copies)
    (original,), (quoted,) = originals[3]["sources"], copies[3]["sources"]
    assert (original["id"], quoted["id"]) == (originals[0]["id"], copies[0]["id"])
    assert quoted == original | {"id": copies[0]["id"]}


async def test_a_fork_and_its_source_go_on_apart(user: Client, name: str):
    await user.agent(name)
    source = await begun(user, None, "My cat is called Tom.", "My dog is called Rex.")
    fork = await forked(user, source["id"], vx={"seq": 2})
    assert await texts_of(user, fork["id"]) == (await texts_of(user, source["id"]))[:2]
    assert fork["title"] is None
    assert "Tom" in (await say(user, "What is my cat called?", fork["id"]))[1]["content"]
    assert "Rex" not in (await say(user, "What is my dog called?", fork["id"]))[1]["content"]
    assert "Rex" in (await say(user, "What is my dog called?", source["id"]))[1]["content"]
    assert [one["seq"] for one in await messages_of(user, fork["id"])] == [1, 2, 3, 4, 5, 6]
    assert await found(user, "dog", target={"conversation": fork["id"]}) == ["What is my dog called?"]
    odd = await forked(user, source["id"], vx={"seq": 3})
    assert [one["role"] for one in await messages_of(user, odd["id"])] == ["user", "agent", "user"]
    assert "Rex" in (await say(user, "What is my dog called?", odd["id"]))[1]["content"]


async def test_a_fork_ends_where_its_source_does(user: Client, name: str):
    await user.agent(name)
    source = await begun(user, "x" * 200, "Hello")
    assert "vx.seq" in (
        (await user.command("CV_Fork", target={"conversation": source["id"]}, vx={"seq": 3})).refused(1003, 400).note
    )
    for seq in (0, -1, "1", 1.5, True):
        (await user.command("CV_Fork", target={"conversation": source["id"]}, vx={"seq": seq})).refused(1003, 400)
    fork = await forked(user, source["id"], vx={"seq": 2})
    assert len(fork["title"]) == 200
    again = await forked(user, fork["id"])
    assert (again["title"], again["messages"]) == (fork["title"], 2)
    empty = await begun(user)
    assert (await forked(user, empty["id"]))["messages"] == 0
    (await user.command("CV_Fork", target={"conversation": empty["id"]}, vx={"seq": 1})).refused(1003, 400)


async def test_the_default_conversation_is_forked_too(user: Client, name: str):
    await user.agent(name)
    await say(user, "My cat is called Tom.")
    fork = await forked(user, "default")
    assert (fork["default"], fork["messages"]) == (False, 2)
    assert (await record_of(user, "default"))["id"] != fork["id"]


async def test_censoring_reaches_forks(user: Client, name: str, unique: str, sanic_server: GatewayProcess):
    word = f"xylo{unique}phone"
    await user.agent(name)
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank, "description": "Notes"})).ok()
    (await load(user, bank, "secret", f"The secret is {word}.")).ok()
    source = await begun(user, None, "What is the secret?")
    fork = await forked(user, source["id"])
    second = await forked(user, fork["id"])
    for conversation in (source, fork, second):
        assert word in (await texts_of(user, conversation["id"]))[1]
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "secret"})).ok()
    late = await forked(user, source["id"])
    for conversation in (source, fork, second, late):
        (said, reply) = await messages_of(user, conversation["id"])
        assert "[censored]" in reply["content"]
        assert reply["sources"][0]["quote"] == "[censored]"
        assert said["content"] == "What is the secret?"
        assert word not in (await say(user, "What is the secret?", conversation["id"]))[1]["content"]
    assert await found(user, word) == []
    await erased(sanic_server.data, word, within_s=60)
