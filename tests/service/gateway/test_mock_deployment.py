"""The mock deployment route, which emits an event for development (docs/contract.md, "Gateway routes")."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import orjson
import pytest

from tests.support.gateway import Client, GatewayProcess, running
from tests.support.operator import SECRET
from tests.support.stored import read

PATH = "/api/dev/mock-agent-deployment"


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    async with running(tmp_path_factory.mktemp("mocks") / "data", DEV_MOCKS_ENABLED="true") as gateway:
        yield gateway


@pytest.fixture
async def nobody(gateway: GatewayProcess) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield client


async def user_id(nobody: Client, unique: str) -> str:
    user = await nobody.register(f"{unique}-user")
    return (await user.command("US_Read")).ok().profile[0]["id"]


@pytest.mark.parametrize("action", ["created", "updated", "deleted"])
async def test_a_mock_stores_the_event_that_it_answers(
    nobody: Client, gateway: GatewayProcess, unique: str, action: str
):
    user = await user_id(nobody, unique)
    body = {"user_id": user, "action": action, "deployment_id": "deployment-7", "data": {"version": 2}}
    answer = await nobody.request("POST", PATH, json=body, headers=SECRET)
    assert answer.http == 202
    assert str(UUID(answer.body["event_id"])) == answer.body["event_id"]
    ((kind, data),) = await read(gateway, "SELECT type, data FROM events WHERE id = ?", answer.body["event_id"])
    assert kind == f"agent.deployment.{action}"
    assert orjson.loads(data) == {**body, "agent": None}


@pytest.mark.parametrize(
    ("change", "code", "http"),
    [
        ({"user_id": None}, 1002, 400),
        ({"action": ""}, 1002, 400),
        ({"deployment_id": None}, 1002, 400),
        ({"user_id": "usr_nobody"}, 3000, 404),
        ({"action": "destroyed"}, 1003, 400),
        ({"data": [1]}, 1003, 400),
        ({"data": {"x": "x" * 262_144}}, 1003, 400),
    ],
)
async def test_a_mock_is_checked(nobody: Client, unique: str, change: dict[str, Any], code: int, http: int):
    body = {"user_id": await user_id(nobody, unique), "action": "created", "deployment_id": "d", "data": {}}
    answer = await nobody.request("POST", PATH, json=body | change, headers=SECRET)
    assert answer.refused(code, http).http == http


async def test_a_mock_without_data_has_none(nobody: Client, gateway: GatewayProcess, unique: str):
    body = {"user_id": await user_id(nobody, unique), "action": "created", "deployment_id": "d"}
    for more in ({}, {"data": None}):
        answer = await nobody.request("POST", PATH, json=body | more, headers=SECRET)
        assert answer.http == 202
        ((data,),) = await read(gateway, "SELECT data FROM events WHERE id = ?", answer.body["event_id"])
        assert orjson.loads(data)["data"] == {}


async def test_the_largest_mock_is_stored_and_one_byte_more_is_refused(nobody: Client, unique: str):
    body = {"user_id": await user_id(nobody, unique), "action": "created", "deployment_id": "d"}
    event = {"id": str(UUID(int=0)), "type": "agent.deployment.created", "created_at": "2026-11-20T10:00:00.000Z"}
    room = 262_144 - len(orjson.dumps({**event, "data": {**body, "agent": None, "data": {"x": ""}}}))
    for length, http in ((room, 202), (room + 1, 400)):
        answer = await nobody.request("POST", PATH, json=body | {"data": {"x": "x" * length}}, headers=SECRET)
        assert answer.http == http


async def test_a_mock_says_that_it_takes_a_user_s_id_not_its_name(nobody: Client):
    body = {"user_id": "lovelace", "action": "created", "deployment_id": "d"}
    note = (await nobody.request("POST", PATH, json=body, headers=SECRET)).refused(3000, 404).note
    assert "`usr_` id" in note


async def test_a_mock_needs_the_operator_s_secret(nobody: Client):
    (await nobody.request("POST", PATH, json={})).refused(2000, 401)
    (await nobody.request("POST", PATH, json={}, headers={"X-Internal-Secret": "wrong"})).refused(2001, 401)


async def test_without_the_setting_there_is_no_mock(sanic_client: Client):
    for headers in ({}, SECRET):
        assert (await sanic_client.request("POST", PATH, json={}, headers=headers)).refused(1006, 404).http == 404
