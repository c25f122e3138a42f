"""GET /debug/actors/{kind}/{key}: the last messages of an actor, with times and outcomes, without texts."""

import asyncio
import json
from typing import Any

from tests.support.gateway import Client
from tests.support.operator import live_actor

SHOWN = 50


async def messages(client: Client, kind: str, key: str) -> list[dict[str, Any]]:
    answer = await live_actor(client, kind, key)
    assert answer.http == 200, answer.body
    return answer.body["messages"]


async def test_an_actor_shows_types_times_and_outcomes_of_its_last_messages(user: Client, unique: str):
    agent = await user.agent(f"{unique}-a")
    (await user.command("AP_Chat", content="A secret word: xylophone")).ok()
    (await user.command("AP_LogOff")).ok()
    (await user.command("AP_Chat", content="Another: glockenspiel")).refused(3002, 409)
    shown = await messages(user, "agent", agent["id"])
    outcomes = [(message["type"], message["outcome"], message["internal_code"]) for message in shown]
    chats = [outcome for outcome in outcomes if outcome[0] == "SendChat"]
    assert chats == [("SendChat", "done", 0), ("SendChat", "refused", 3002)], outcomes
    assert outcomes.count(("SetOnline", "done", 0)) == 2
    for message in shown:
        assert set(message) == {"type", "waiting_ms", "handling_ms", "outcome", "internal_code"}
        assert 0 <= message["waiting_ms"] < 60_000
        assert 0 <= message["handling_ms"] < 60_000
    text = json.dumps(shown)
    assert "xylophone" not in text
    assert "glockenspiel" not in text


async def test_only_the_last_fifty_are_shown_newest_last(user: Client, unique: str):
    agent = await user.agent(f"{unique}-a")
    for _ in range(SHOWN + 5):
        (await user.command("AP_Modify", vx={"description": "Another"})).ok()
    (await user.command("AP_LogOff")).ok()
    shown = await messages(user, "agent", agent["id"])
    assert len(shown) == SHOWN
    types = [message["type"] for message in shown]
    assert "SetOnline" in types[-3:], types
    assert "SetOnline" not in types[:-3]


async def test_messages_that_waited_for_the_actor_to_load_show_it(user: Client, unique: str):
    await user.agent(f"{unique}-a")
    await asyncio.gather(*(user.command("AP_Chat", content="Hello") for _ in range(8)))
    listed = (await live_actor(user, "user", await user_id(user))).body
    assert any(message["waiting_ms"] > 0 for message in listed["messages"]), listed["messages"]


async def user_id(user: Client) -> str:
    return (await user.command("US_Read")).ok().profile[0]["id"]
