"""Limits on a user's entities hold for concurrent requests."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.gateway import Answer, Client, GatewayProcess, running
from tests.support.skills import named

ENDPOINTS = "/api/webhooks/endpoints"
SKILLS = "/api/skills"
TOOLS = "/api/mcp/tools"


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("limits") / "data"
    settings: dict[str, Any] = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_DEFAULT_PLAN": "enterprise"}
    async with running(folder, **settings) as gateway:
        yield gateway


@pytest.fixture
async def owner(gateway: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield await client.register(f"{unique}-owner")


async def at_once(client: Client, path: str, bodies: list[dict[str, Any]]) -> list[Answer]:
    return await asyncio.gather(*(client.request("POST", path, json=body) for body in bodies))


def exactly(most: int, answers: list[Answer]) -> None:
    """Assert that `most` succeeded and all others were refused as too many."""
    assert Counter(answer.http for answer in answers) == {201: most, 409: len(answers) - most}
    for answer in answers:
        if answer.http == 409:
            answer.refused(3002, 409)
            assert f"You have {most} " in answer.note


async def test_concurrent_creations_make_fifty_endpoints_at_most(owner: Client):
    def bodies(count: int) -> list[dict[str, Any]]:
        return [{"url": f"http://127.0.0.1:9/{number}", "events": ["quota.*"]} for number in range(count)]

    exactly(50, await at_once(owner, ENDPOINTS, bodies(80)))
    endpoints = (await owner.request("GET", ENDPOINTS)).body["endpoints"]
    assert len(endpoints) == 50
    for endpoint in endpoints[:2]:  # a deleted endpoint makes room; a disabled one does not
        assert (await owner.request("DELETE", f"{ENDPOINTS}/{endpoint['id']}?hard=true")).http == 204
    assert (await owner.request("DELETE", f"{ENDPOINTS}/{endpoints[2]['id']}")).http == 200
    answers = await at_once(owner, ENDPOINTS, bodies(8))
    assert sorted(answer.http for answer in answers) == [201] * 2 + [409] * 6
    assert len((await owner.request("GET", ENDPOINTS)).body["endpoints"]) == 50


async def test_concurrent_installations_make_a_hundred_skills_at_most(owner: Client):
    bodies = [{"content": named(f"skill-{number}")} for number in range(160)]
    exactly(100, await at_once(owner, f"{SKILLS}/install", bodies))
    skills = (await owner.request("GET", SKILLS)).body["skills"]
    assert len(skills) == 100
    assert (await owner.request("DELETE", f"{SKILLS}/{skills[0]['name']}")).http == 204
    again = [{"content": named(f"again-{number}")} for number in range(8)]
    assert sorted(answer.http for answer in await at_once(owner, f"{SKILLS}/install", again)) == [201] + [409] * 7


async def test_concurrent_installations_make_sixteen_tool_servers_at_most(owner: Client):
    bodies = [{"name": f"server-{number}", "server": "parley"} for number in range(40)]
    exactly(16, await at_once(owner, f"{TOOLS}/install", bodies))
    assert len((await owner.request("GET", TOOLS)).body["servers"]) == 16


async def test_of_concurrent_installations_of_one_name_one_is_carried_out(owner: Client):
    for path, body in (
        (f"{SKILLS}/install", {"content": named("the-same")}),
        (f"{TOOLS}/install", {"name": "the-same", "server": "parley"}),
    ):
        answers = await at_once(owner, path, [body] * 12)
        assert Counter(answer.http for answer in answers) == {201: 1, 409: 11}
        for answer in answers:
            if answer.http == 409:
                answer.refused(3001, 409)


async def test_of_concurrent_documents_of_one_name_one_stays(owner: Client):
    body = {"name": "guide", "content": "The Moon is far."}
    answers = await at_once(owner, "/api/documents", [body] * 12)
    assert {answer.http for answer in answers} == {202}
    read = [await owner.request("GET", f"/api/documents/{answer.body['id']}") for answer in answers]
    assert Counter(answer.http for answer in read) == {200: 1, 404: 11}
