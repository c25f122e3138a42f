"""CV_Destroy: what was said is gone for good (docs/contract.md, "The end of a conversation")."""

import asyncio
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.conversations import begun, found, listed, say, texts_of
from tests.support.doors import DOORS, Door, Saying
from tests.support.gateway import Client, GatewayProcess
from tests.support.long_talk import talk
from tests.support.operator import on_plan
from tests.support.stored import erased, read, traces


async def destroy(user: Client, conversation: str) -> None:
    (await user.command("CV_Destroy", target={"conversation": conversation})).ok()


async def answers_of(user: Client, conversation: str) -> list[Any]:
    """Return the answers of every command that could show something of a conversation."""
    target = {"conversation": conversation}
    bodies: tuple[tuple[str, dict[str, Any]], ...] = (
        ("CV_Read", {"target": target}),
        ("AP_History", {"target": target}),
        ("AP_History", {}),
        ("CV_List", {}),
        ("CV_Search", {"content": "What is the secret?"}),
        ("CV_Search", {"content": "secret", "target": target}),
        ("AP_Chat", {"content": "What is the secret?", "target": target}),
        ("AP_Chat", {"content": "What is the secret?"}),
        ("CV_Fork", {"target": target}),
    )
    return [(await user.command(service, **body)).body for service, body in bodies]


@pytest.mark.parametrize("is_default", [False, True], ids=["another", "default"])
async def test_erased_words_are_in_no_answer_and_in_no_file(
    user: Client, name: str, unique: str, sanic_server: GatewayProcess, *, is_default: bool
):
    title, word = f"titel{unique}", f"xylo{unique}phone"
    await on_plan(user, "enterprise")
    await user.agent(name)
    if is_default:
        conversation = (await say(user, f"The secret is {word}."))[0]["conversation"]
        (await user.command("CV_Update", target={"conversation": "default"}, vx={"name": title})).ok()
    else:
        conversation = (await begun(user, title, f"The secret is {word}."))["id"]
    assert word in (await say(user, "What is the secret?", conversation))[1]["content"]
    await talk(user, 150, target={"conversation": conversation})  # the first messages are indexed
    async with asyncio.timeout(30):
        while not await read(sanic_server, "SELECT 1 FROM vocabulary WHERE term LIKE ?", f"xylo{unique}%"):
            await asyncio.sleep(0.05)
    assert await traces(sanic_server.data, word)
    await destroy(user, conversation)
    for answer in await answers_of(user, conversation):
        assert word not in str(answer)
        assert title not in str(answer)
    assert not await read(sanic_server, "SELECT 1 FROM vocabulary WHERE term LIKE ?", f"xylo{unique}%")
    for text in (word, title):
        await erased(sanic_server.data, text, within_s=60)
    (await user.command("CV_Destroy", target={"conversation": conversation})).refused(3000, 404)


async def test_after_the_default_s_end_the_next_chat_begins_a_new_one(user: Client, name: str):
    await user.agent(name)
    first = (await say(user, "My cat is called Tom."))[0]["conversation"]
    other = await begun(user, "Stays", "My dog is called Rex.")
    await destroy(user, "default")
    assert (await user.command("AP_History")).ok().content == []
    assert await listed(user) == [other["id"]]
    (await user.command("AP_Chat", target={"conversation": first}, content="Hello")).refused(3000, 404)
    message, reply = (await user.command("AP_Chat", content="What is my cat called?")).ok().content
    assert (message["seq"], message["conversation"] == first) == (1, False)
    assert "Tom" not in reply["content"]
    assert (await user.command("AP_Read")).ok().content[0]["messages"] == 4


async def test_chats_at_the_same_time_go_to_the_old_or_to_the_new_default(user: Client, name: str):
    """None is lost in between, and the conversation that is left has no gap."""
    await user.agent(name)
    for _ in range(6):
        await say(user, "Hello")
        chats = [user.command("AP_Chat", content=f"Number {n}.") for n in range(8)]
        ended, *answers = await asyncio.gather(user.command("CV_Destroy", target={"conversation": "default"}), *chats)
        ended.ok()
        for answer in answers:
            assert answer.code in (0, 3000), answer
        messages = (await user.command("AP_History", page={"limit": 200})).ok().content
        assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))


async def test_kept_answers_are_withdrawn(user: Client, name: str):
    await on_plan(user, "builder")
    await user.agent(name)

    async def keyed(key: str, service: str, **body: Any) -> Any:
        return (await user.command(service, headers={"Idempotency-Key": key}, **body)).ok()

    conversation = (await keyed("begun", "CV_Create", vx={"name": "secret plans"})).profile[0]["id"]
    target = {"conversation": conversation}
    requests: dict[str, tuple[str, dict[str, Any]]] = {
        "begun": ("CV_Create", {"vx": {"name": "secret plans"}}),
        "chat": ("AP_Chat", {"target": target, "content": "The secret is safe."}),
        "title": ("CV_Update", {"target": target, "vx": {"name": "secret plan"}}),
    }
    for key, (service, body) in requests.items():
        assert "secret" in str((await keyed(key, service, **body)).body)
    fork = (await keyed("fork", "CV_Fork", target=target)).profile[0]
    await destroy(user, conversation)
    for key, (service, body) in requests.items():
        repeat = await keyed(key, service, **body)
        assert repeat.headers["Idempotency-Replayed"] == "true"
        assert (repeat.profile, repeat.content) == ([], [])
    assert (await keyed("fork", "CV_Fork", target=target)).profile == [fork]
    await destroy(user, fork["id"])
    assert (await keyed("fork", "CV_Fork", target=target)).profile == []


async def test_forks_stay(user: Client, name: str):
    await user.agent(name)
    source = await begun(user, None, "My cat is called Tom.")
    fork = (await user.command("CV_Fork", target={"conversation": source["id"]})).ok().profile[0]
    await destroy(user, source["id"])
    assert (await texts_of(user, fork["id"]))[0] == "My cat is called Tom."
    assert await found(user, "cat") == ["My cat is called Tom."]


async def test_a_chat_under_way_fails_and_nothing_of_it_is_stored(
    scripted_user: Client, scripted_server: GatewayProcess, name: str, unique: str, gate: Gate
):
    user, word = scripted_user, f"quartz{unique}"
    await user.agent(name)
    conversation = (await begun(user))["id"]
    target = {"conversation": conversation}
    chat = asyncio.create_task(user.command("AP_Chat", target=target, content=f"say:{word} wait:{gate} say:{word}"))
    await gate.reached()
    waiting = asyncio.create_task(user.command("AP_Chat", target=target, content=f"say:{word}"))
    message = (await user.command("AP_History", target=target)).ok().content[0]
    run = message["id"].replace("msg_", "run_")
    assert (await user.request("GET", f"/api/runs/{run}")).http == 200
    await destroy(user, conversation)
    for answer in (await chat, await waiting):
        assert word not in str(answer.refused(3000, 404).body)
    assert (await user.request("GET", f"/api/runs/{run}")).http == 404
    gate.open()
    await say(user, "say:next")
    assert not await read(scripted_server, "SELECT 1 FROM messages WHERE content LIKE ?", f"%{word}%")
    await erased(scripted_server.data, word, within_s=60)
    assert await found(user, word) == []


def name_of(door: Door) -> str:
    return door.name


@pytest.mark.parametrize("door", DOORS, ids=name_of)
async def test_what_is_erased_during_its_first_chat_does_not_come_back(
    scripted_user: Client, scripted_server: GatewayProcess, name: str, unique: str, gate: Gate, door: Door
):
    user, word = await on_plan(scripted_user, "enterprise"), f"quartz{unique}"
    await user.agent(name)
    chat = asyncio.ensure_future(door.say(user, name, Saying(f"say:{word} wait:{gate} say:{word}")))
    await gate.reached()
    async with asyncio.timeout(30):  # the engine works while the user's message is stored
        while not (conversations := await listed(user)):
            await asyncio.sleep(0.02)
    await destroy(user, conversations[0])
    gate.open()
    heard = await chat
    assert heard.http == (200 if door.name == "ag-ui" else 404) or heard.code
    assert heard.reply in ("", word)
    assert await listed(user) == []
    assert not await read(scripted_server, "SELECT 1 FROM messages WHERE content LIKE ?", f"%{word}%")
