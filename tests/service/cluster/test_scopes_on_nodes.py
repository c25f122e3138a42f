"""The scopes and limits of API keys on three nodes."""

import asyncio

import pytest

from tests.support.gateway import BUS
from tests.support.roaming import Entries

MCP = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("home", range(3))
async def test_scopes_hold_through_each_node(entries: Entries, unique: str, home: int):
    user, owner = (
        await entries.user_on(home, f"{unique}-user"),
        await entries.user_on((home + 1) % 3, f"{unique}-owner"),
    )
    mine, other = f"{unique}-mine", f"{unique}-other"
    await user.through[0].agent(mine)
    await owner.through[0].agent(other, access="public")
    (await user.through[0].command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    for key in await user.with_key(scopes={"services": ["AP_Chat"], "agents": [mine]}):
        (await key.command("AP_Chat", target={"agent": mine}, content="Hello")).ok()
        (await key.command("AP_Chat", target={"agent": other}, content="Hello")).refused(2003, 403)
        (await key.command("AP_List")).refused(2003, 403)
        (await key.request("GET", "/api/skills")).refused(2003, 403)
        stream = {"json": {"target": {"domain": f"{unique}-domain"}}, "headers": key.headers()}
        async with key.http.post(f"{key.base}{BUS}/zone/stream", **stream) as refused:
            assert (await refused.json())["status"]["internal_code"] == 2003
        listed = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
        answer = await key.request("POST", "/mcp", json=listed, headers=MCP)
        assert answer.body["result"]["resources"] == []
        answer = await key.request("POST", "/mcp", json=listed | {"method": "tools/list"}, headers=MCP)
        assert [tool["name"] for tool in answer.body["result"]["tools"]] == ["AP_Chat"]
        said = {"model": mine, "messages": [{"role": "user", "content": "Hello"}]}
        assert (await key.request("POST", "/v1/chat/completions", json=said)).http == 200
        assert (await key.request("GET", "/v1/models")).http == 403
    for key in await user.with_key(scopes={"agents": [other]}):  # the chat moves to its node, with the scopes
        (await key.command("AP_Chat", target={"agent": other}, content="Hello")).ok()
        (await key.command("AP_Chat", target={"agent": mine}, content="Hello")).refused(2003, 403)


async def test_a_key_s_limit_is_exact_over_all_nodes(entries: Entries, unique: str):
    user = await entries.user_on(2, unique)
    keys = await user.with_key(limit=20)
    answers = await asyncio.gather(*(keys[number % 3].command("US_Read") for number in range(30)))
    assert sorted(answer.http for answer in answers) == [200] * 20 + [429] * 10
