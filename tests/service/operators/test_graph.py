"""GET /debug/graph/{name}: who holds whom around a user."""

from typing import Any

from tests.support.gateway import Client
from tests.support.operator import Cast


async def read(reader: Client, name: str) -> dict[str, Any]:
    answer = await reader.request("GET", f"/debug/graph/{name}")
    assert answer.http == 200, answer.body
    return answer.body


async def test_it_shows_what_a_user_owns_and_who_else_has_a_part_in_it(cast: Cast, unique: str):
    user, target = cast.user, cast.target
    await user.agent(f"{unique}-mine")
    domain, bank = f"{unique}-domain", f"{unique}-bank"
    own, other = {"agent": f"{unique}-mine"}, {"agent": cast.agent}
    (await user.command("DM_Create", target=own, vx={"name": domain, "description": "ours"})).ok()
    (await user.command("DM_Invite", target={"domain": domain, **other})).ok()
    (await user.command("MB_Create", target=own, vx={"name": bank})).ok()
    (await user.command("MB_Permissions", target={"bank": bank, **other}, vx={"permission": "read"})).ok()
    for reader in (cast.operator, cast.auditor):
        graph = await read(reader, user.name)
        assert graph["user"]["name"] == user.name
        nodes = {node["id"]: (node["kind"], node["name"], node["owner"]) for node in graph["nodes"]}
        assert list(nodes.values()) == [
            ("agent", f"{unique}-mine", user.name),
            ("bank", bank, user.name),
            ("domain", domain, user.name),
            ("agent", cast.agent, target.name),
        ]
        edges = {(nodes[edge["agent"]][1], nodes[edge["held"]][1], edge["relation"]) for edge in graph["edges"]}
        assert edges == {
            (f"{unique}-mine", domain, "founder"),
            (f"{unique}-mine", bank, "admin"),
            (cast.agent, domain, "invited"),
            (cast.agent, bank, "offered"),
        }
        assert not graph["truncated"]
    for verb, stopped in (("stop", [cast.agent]), ("start", [])):
        assert (await cast.operator.request("POST", f"/api/admin/agents/{cast.agent}/{verb}")).http == 200
        graph = await read(cast.auditor, user.name)
        assert [node["name"] for node in graph["nodes"] if node["stopped"]] == stopped
    seen_by_target = await read(cast.operator, target.name.upper())
    assert {node["name"] for node in seen_by_target["nodes"]} == {cast.agent, domain, bank}
    (await user.command("DM_Destroy", target={"domain": domain})).ok()
    assert domain not in {node["name"] for node in (await read(cast.operator, user.name))["nodes"]}


async def test_a_user_who_holds_nothing_stands_alone_and_nobody_is_a_404(cast: Cast):
    assert await read(cast.auditor, cast.auditor.name) == {
        "user": {"id": (await cast.auditor.command("US_Read")).profile[0]["id"], "name": cast.auditor.name},
        "nodes": [],
        "edges": [],
        "truncated": False,
    }
    (await cast.auditor.request("GET", "/debug/graph/nobody-of-this-name")).refused(3000, 404)


async def test_it_tells_no_texts(cast: Cast, unique: str):
    user = cast.user
    await user.agent(f"{unique}-mine", profile="a private profile")
    assert "private" not in str(await read(cast.operator, user.name))
