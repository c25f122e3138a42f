"""The ids of a user's entities end in the last two digits of the user's id."""

from typing import Any

from tests.support.gateway import Client
from tests.support.operator import on_plan


async def created(user: Client, path: str, **body: Any) -> str:
    answer = await user.request("POST", path, json=body)
    assert answer.http in (201, 202), answer.body
    return answer.body["id"]


async def test_all_that_a_user_makes_is_near_the_user(user: Client, unique: str):
    await on_plan(user, "builder")
    end = (await user.command("US_Read")).ok().profile[0]["id"][-2:]
    agent = await user.agent(f"{unique}-agent")
    vx = {"name": f"{unique}-domain", "description": "d"}
    made = [
        agent["id"],
        (await user.command("US_Sessions")).ok().profile[0]["id"],
        (await user.command("DM_Create", vx=vx)).ok().profile[0]["id"],
        (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok().profile[0]["id"],
        await created(user, "/api/api-keys", name="job"),
        await created(user, "/api/documents", name="plan", content="Jupiter rises at nine."),
        await created(user, "/api/webhooks/endpoints", url="https://receiver.example/hook", events=["quota.*"]),
        await created(user, "/api/mcp/tools/install", name="own", server="parley"),
    ]
    zones = (await user.command("ZN_List", target={"domain": vx["name"]})).ok().profile
    made += [zone["id"] for zone in zones]
    load = {"target": {"bank": f"{unique}-bank"}, "vx": {"name": "m"}, "content": "text"}
    made.append((await user.command("MB_Load", **load)).ok().content[0]["id"])
    assert {id[:3]: id[-2:] for id in made} == dict.fromkeys(
        ("agt", "ses", "dom", "bnk", "key", "doc", "whe", "mcp", "zon", "mem"), end
    )


async def test_deliveries_are_near_the_user(user: Client):
    end = (await user.command("US_Read")).ok().profile[0]["id"][-2:]
    await created(user, "/api/webhooks/endpoints", url="https://receiver.example/hook", events=["webhook.test"])
    sent = await user.request("POST", "/api/webhooks/test", json={"event_type": "webhook.test", "data": {}})
    assert sent.body["deliveries"] == 1
    (delivery,) = (await user.request("GET", "/api/webhooks/deliveries")).body["deliveries"]
    again = await created(user, f"/api/webhooks/deliveries/{delivery['id']}/retry")
    assert delivery["id"][-2:] == again[-2:] == end


async def test_messages_are_near_the_owner_of_what_keeps_them(user: Client, sanic_client: Client, unique: str):
    guest = await sanic_client.register(f"{unique}-guest")
    end = (await user.command("US_Read")).ok().profile[0]["id"][-2:]
    await user.agent(f"{unique}-agent", access="public")
    vx = {"name": f"{unique}-domain", "description": "d", "access": "public"}
    (await user.command("DM_Create", vx=vx)).ok()
    await guest.agent(f"{unique}-guest")
    said = (await guest.command("AP_Chat", target={"agent": f"{unique}-agent"}, content="Hello")).ok().content
    zone = {"domain": vx["name"], "agent": f"{unique}-guest"}
    (await guest.command("DM_Join", target=zone)).ok()
    said += (await guest.command("AP_Chat", target=zone, content="Hello")).ok().content
    said += (await guest.command("ZN_Post", target={"domain": vx["name"]}, content="Good evening.")).ok().content
    assert [message["id"][-2:] for message in said] == [end] * 5
