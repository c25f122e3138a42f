"""The times of one change come from one reading of the clock, which advances at each reading here."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import Client, running
from tests.support.operator import on_plan

AT_ONCE = "https://receiver.invalid/events"
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
async def ticking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A client of a gateway with a clock that advances by a second at each reading."""
    data = tmp_path_factory.mktemp("ticking") / "data"
    async with running(data, script=ENGINES / "ticking.py") as gateway, gateway.client() as nobody:
        yield nobody


@pytest.fixture
async def owner(ticking: Client, unique: str) -> Client:
    return await on_plan(await ticking.register(f"{unique}-user"), "scale")


def at(time: str) -> datetime:
    return datetime.fromisoformat(time)


async def times_of_events(owner: Client) -> dict[str, str]:
    """Return the latest event time of deliveries, by type."""
    listed = (await owner.request("GET", "/api/webhooks/deliveries?limit=200")).body["deliveries"]
    return {delivery["event_type"]: delivery["created_at"] for delivery in reversed(listed)}


async def an_endpoint(owner: Client, **more: Any) -> dict[str, Any]:
    answer = await owner.request("POST", "/api/webhooks/endpoints", json={"url": AT_ONCE, **more})
    assert answer.http == 201, answer.body
    return answer.body


@pytest.mark.parametrize("days", [1, 90, 365])
async def test_a_key_expires_whole_days_after_it_was_made(owner: Client, days: int):
    made = (await owner.request("POST", "/api/api-keys", json={"name": "ci", "expires_in_days": days})).body
    assert at(made["expires_at"]) - at(made["created_at"]) == timedelta(days=days)
    (listed,) = (await owner.request("GET", "/api/api-keys")).body["api_keys"]
    assert (listed["created_at"], listed["expires_at"]) == (made["created_at"], made["expires_at"])


async def test_a_session_ends_its_whole_life_after_it_began(owner: Client):
    answer = (await owner.command("US_LogOn", target={"user": owner.name}, vx={"secret": "correct horse battery"})).ok()
    (session,) = answer.profile
    assert session["last_used_at"] == session["created_at"]
    assert at(session["expires_at"]) - at(session["created_at"]) == DAY
    assert answer.content[0]["expires_at"] == session["expires_at"]


async def test_an_agent_and_the_events_of_its_changes_have_the_times_of_the_changes(owner: Client, unique: str):
    await an_endpoint(owner, events=["agent.deployment.*"])
    agent = await owner.agent(f"{unique}-agent", online=False, select=False)
    assert agent["updated_at"] == agent["created_at"]
    assert (await times_of_events(owner))["agent.deployment.created"] == agent["created_at"]
    changed = await owner.command("AP_Modify", target={"agent": agent["name"]}, vx={"description": "Another"})
    assert (await times_of_events(owner))["agent.deployment.updated"] == changed.ok().profile[0]["updated_at"]


async def test_an_endpoint_and_the_events_of_its_changes_have_the_times_of_the_changes(owner: Client):
    await an_endpoint(owner, events=["webhook.endpoint.*"])
    made = await an_endpoint(owner, events=["billing.*"])
    assert made["updated_at"] == made["created_at"]
    assert (await times_of_events(owner))["webhook.endpoint.created"] == made["created_at"]
    path = f"/api/webhooks/endpoints/{made['id']}"
    changed = (await owner.request("PATCH", path, json={"description": "Another", "rotate_secret": True})).body
    assert (await times_of_events(owner))["webhook.endpoint.updated"] == changed["updated_at"]
    ended = (await owner.request("DELETE", path)).body
    assert (await times_of_events(owner))["webhook.endpoint.updated"] == ended["updated_at"]


async def test_a_domain_its_lobby_and_its_founder_s_membership_begin_together(owner: Client, unique: str):
    await owner.agent(f"{unique}-agent")
    domain = (await owner.command("DM_Create", vx={"name": f"{unique}-domain", "description": "Work"})).ok().profile[0]
    target = {"domain": domain["name"]}
    (lobby,) = (await owner.command("ZN_List", target=target)).ok().profile
    (membership,) = (await owner.command("DM_Read", target=target)).ok().content
    assert {domain["updated_at"], lobby["created_at"], membership["since"]} == {domain["created_at"]}


async def test_a_bank_its_attachment_and_its_memories_have_one_time_each(owner: Client, unique: str):
    await owner.agent(f"{unique}-agent")
    bank = (await owner.command("MB_Create", vx={"name": f"{unique}-bank", "description": "Notes"})).ok().profile[0]
    target = {"bank": bank["name"]}
    (attachment,) = (await owner.command("MB_AgentList", target=target)).ok().content
    assert {bank["updated_at"], attachment["since"]} == {bank["created_at"]}
    loaded = await owner.command("MB_Load", target=target, vx={"name": "moon"}, content="Far away.")
    (memory,) = loaded.ok().content
    assert memory["updated_at"] == memory["created_at"]


async def test_the_day_that_a_new_user_is_counted_in_is_that_of_its_creation(tmp_path: Path):
    settings: dict[str, Any] = {"TEST_TICK_MS": "86400000"}
    running_ticking = running(tmp_path / "data", script=ENGINES / "ticking.py", **settings)
    async with running_ticking as gateway, gateway.client() as nobody:
        vx = {"name": "lovelace", "secret": "correct horse battery"}
        user = (await nobody.command("US_Create", vx=vx)).ok().profile[0]
    assert user["quota"]["window"] == user["created_at"][:10]
    assert at(user["quota"]["resets_at"]).date() == at(user["created_at"]).date() + DAY
