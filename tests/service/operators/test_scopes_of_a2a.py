"""What scopes let an API key do by A2A, through both bindings (docs/contract.md, "Scopes of API keys")."""

import pytest

from tests.support.operator import Cast

VERSION = {"A2A-Version": "1.0"}


@pytest.mark.parametrize("services", [["AP_Chat"], ["AP_Read"], ["AP_Chat", "AP_Read"]])
async def test_an_extended_card_counts_as_a_read_of_the_agent(cast: Cast, services: list[str]):
    profile = "Only for those who may read the agent."
    (await cast.target.command("AP_Modify", target={"agent": cast.agent}, vx={"profile": profile})).ok()
    made = await cast.user.request("POST", "/api/api-keys", json={"name": "k", "scopes": {"services": services}})
    key, path = cast.user.as_user(made.body["key"]), f"/a2a/{cast.agent}"
    read = await key.request("GET", f"{path}/extendedAgentCard", headers=VERSION)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}
    called = await key.request("POST", path, json=asked, headers=VERSION)
    for answer, allowed in ((read, "AP_Read" in services), (called, len(services) == 2)):
        assert answer.http == (200 if allowed else 403), answer.body
        assert (profile in str(answer.body)) is allowed
