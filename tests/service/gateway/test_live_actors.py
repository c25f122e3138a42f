"""GET /debug/actors: the listed actors and their order."""

from typing import Any

import pytest

from tests.support.gateway import Answer, Client
from tests.support.operator import SECRET


async def ask(client: Client, query: str) -> Answer:
    return await client.request("GET", f"/debug/actors?{query}", headers=SECRET)


async def listed(client: Client, query: str) -> list[dict[str, Any]]:
    answer = await ask(client, query)
    assert answer.http == 200, answer.body
    return answer.body["actors"]


async def names(client: Client, query: str) -> list[str]:
    return [actor["name"] for actor in await listed(client, query)]


@pytest.fixture
async def three(user: Client, unique: str) -> list[str]:
    """Three agents in order of activation, with 8, 0 and 4 chats."""
    made = [f"{unique}-b", f"{unique}-C", f"{unique}-a"]
    for name, chats in zip(made, (8, 0, 4), strict=True):
        await user.agent(name)
        for _ in range(chats):
            (await user.command("AP_Chat", content="Hello")).ok()
    return made


async def test_actors_are_found_by_the_beginning_of_their_name(user: Client, unique: str, three: list[str]):
    assert await names(user, f"kind=agent&name={unique.upper()}") == three
    assert await names(user, f"name={unique}-c") == [f"{unique}-C"]
    assert await names(user, f"kind=bank&name={unique}") == []
    assert {actor["kind"] for actor in await listed(user, f"name={unique}")} >= {"agent", "user"}


async def test_actors_are_listed_as_activated_unless_sorted(user: Client, unique: str, three: list[str]):
    mine = f"kind=agent&name={unique}"
    b, c, a = three
    assert await names(user, mine) == [b, c, a]
    assert await names(user, f"{mine}&sort=name") == [a, b, c]
    assert await names(user, f"{mine}&sort=-name") == [c, b, a]
    assert await names(user, f"{mine}&sort=handled") == [c, a, b]
    assert await names(user, f"{mine}&sort=-handled") == [b, a, c]
    assert await names(user, f"{mine}&sort=age_s") == [a, c, b]
    assert await names(user, f"{mine}&sort=-age_s") == [b, c, a]
    assert await names(user, f"{mine}&sort=kind") == [b, c, a]


async def test_a_limit_takes_the_first_of_the_order(user: Client, unique: str, three: list[str]):
    b, _, a = three
    assert await names(user, f"kind=agent&name={unique}&limit=1") == [b]
    assert await names(user, f"kind=agent&name={unique}&sort=-handled&limit=2") == [b, a]


async def test_the_first_of_many_are_those_of_the_whole_list(user: Client, unique: str):
    for number in range(12):
        await user.agent(f"{unique}-{number}", online=False, select=False)
    whole = await names(user, f"kind=agent&name={unique}&sort=-name")
    for limit in range(1, 13):
        assert await names(user, f"kind=agent&name={unique}&sort=-name&limit={limit}") == whole[:limit]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("knid=agent", "Unknown member knid (the nearest known one is kind)"),
        ("kind=agent&Limit=2", "Unknown member Limit (the nearest known one is limit)"),
        ("state=online", "Unknown member state"),
        ("cursor=", "Unknown member cursor"),
        ("kind=agnet", "Invalid value of kind: it must be one of agent, bank, "),
        ("sort=size", "Invalid value of sort"),
        ("sort=Name", "Invalid value of sort"),
        (f"name={'x' * 65}", "Invalid value of name"),
    ],
)
async def test_filters_that_are_unknown_or_wrong_are_refused(user: Client, query: str, named: str):
    answer = (await ask(user, query)).refused(1003, 400)
    assert answer.http == 400
    assert named in answer.note
