"""Changes of one agent, bank, domain or user at the same time: each answer and event shows what is stored with it."""

import asyncio
import uuid
from itertools import pairwise
from typing import Any

import pytest

from tests.support.event_stream import own_events
from tests.support.gateway import Client
from tests.support.idempotent import once
from tests.support.operator import on_plan

ROUNDS = 5
LOADS = 8

Record = dict[str, Any]


@pytest.fixture(params=["scale", "builder"])
async def owner(user: Client, unique: str, request: pytest.FixtureRequest) -> Client:
    """A user with a selected agent, with an audit log or without one."""
    owner = await on_plan(user, request.param)
    await owner.agent(f"{unique}-0", online=False)
    return owner


async def at_once(owner: Client, *commands: tuple[str, Record]) -> list[Record]:
    """Send commands with keys at the same time; return the records that they answer."""
    sent = [once(owner, str(uuid.uuid4()), service, **body) for service, body in commands]
    return [answer.ok().profile[0] for answer in await asyncio.gather(*sent)]


def require_history(before: Record, answers: list[Record], stored: Record) -> None:
    """Insist that changes of different members were each answered with all before them, the last one as stored."""

    def new(record: Record) -> set[str]:
        return {member for member in record if record[member] != before[member]} - {"updated_at"}

    shown = sorted(map(new, answers), key=len)
    assert [len(members) for members in shown] == list(range(1, len(answers) + 1)), answers
    assert all(earlier < later for earlier, later in pairwise(shown)), answers
    assert stored in answers


async def test_of_an_agent(owner: Client, unique: str):
    for number in range(1, ROUNDS):
        before = (await owner.command("AP_Read")).ok().profile[0]
        async with own_events(owner, events="agent.deployment.updated") as events:
            answers = await at_once(
                owner,
                ("AP_Modify", {"vx": {"name": f"{unique}-{number}"}}),
                ("AP_Modify", {"vx": {"description": f"d{number}"}}),
                ("AP_Modify", {"vx": {"profile": f"p{number}"}}),
                ("AP_Modify", {"vx": {"access": "public" if number % 2 else "agent"}}),
                ("AP_LogOn" if number % 2 else "AP_LogOff", {}),
            )
            updates = [(await events.next())["data"]["agent"] for _ in range(4)]
        stored = (await owner.command("AP_Read")).ok().profile[0]
        require_history(before, answers, stored)
        assert updates[-1] == stored["name"] == f"{unique}-{number}"


async def test_of_a_bank(owner: Client, unique: str):
    bank = {"bank": f"{unique}-bank"}
    (await owner.command("MB_Create", target=bank)).ok()
    loads = [("MB_Load", {"target": bank, "vx": {"name": f"m{i}"}, "content": f"text {i}"}) for i in range(LOADS)]
    update = "MB_Update", {"target": bank, "vx": {"name": bank["bank"], "description": "new"}}
    loaded = await at_once(owner, *loads[:3], update, *loads[3:])
    updated = loaded.pop(3)
    assert sorted(record["memories"] for record in loaded) == list(range(1, LOADS + 1))
    assert updated["description"] == "new"
    assert all((record["description"] == "new") == (record["memories"] > updated["memories"]) for record in loaded)
    assert (await owner.command("MB_List", target=bank)).ok().profile[0] in (*loaded, updated)


async def test_of_a_domain(owner: Client, unique: str):
    target, vx = {"domain": f"{unique}-domain"}, {"name": f"{unique}-domain", "description": "d"}
    before = (await owner.command("DM_Create", vx=vx)).ok().profile[0]
    answers = await at_once(
        owner,
        ("DM_Update", {"target": target, "vx": vx | {"profile": "new"}}),
        ("DM_Update", {"target": target, "vx": vx | {"access": "public"}}),
    )
    require_history(before, answers, (await owner.command("DM_Read", target=target)).ok().profile[0])


async def test_of_a_user(owner: Client):
    before = (await owner.command("US_Read")).ok().profile[0]
    changes = ({"description": "new"}, {"profile": "newer"})
    answers = await at_once(owner, *(("US_Update", {"vx": vx}) for vx in changes))
    stored = (await owner.command("US_Read")).ok().profile[0]
    for record in (before, *answers, stored):
        del record["quota"]  # which each request changes
    require_history(before, answers, stored)
