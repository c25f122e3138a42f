"""The console's cookie on three nodes: it holds, and ends, on each of them."""

from unittest.mock import ANY

import pytest

from tests.support.cookies import PROOF, SESSION, CookieSession, logged_on, try_log_on, watching
from tests.support.log_ons import WRONG
from tests.support.memories import load
from tests.support.operator import SECRET
from tests.support.roaming import Entries


async def on_every_node(entries: Entries, entry: int, name: str) -> list[CookieSession]:
    """Log on through one node; return the session on each."""
    page = await logged_on(entries.clients[entry], name)
    return [page.through(client) for client in entries.clients]


@pytest.mark.parametrize("entry", range(3))
async def test_a_cookie_is_taken_by_every_node_with_its_proof_alone(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(1, f"{unique}-user")
    for number, page in enumerate(await on_every_node(entries, entry, user.name)):
        assert (await page.request("GET", SESSION)).body == page.record | {"expires_at": ANY}
        vx = {"name": f"{unique}-{number}", "description": "d"}
        create = {"service": "AP_Create", "vx": vx}
        for headers in (page.cookie, page.cookie | {PROOF: "0" * 64}):
            bus = await page.client.request("POST", "/demo/v1/Svc/tps", json=create, headers=headers)
            bus.refused(2003, 403)
            made = await page.client.request("POST", "/api/api-keys", json={"name": "k"}, headers=headers)
            made.refused(2003, 403)
        (await page.command("AP_Create", vx=vx)).ok()
        assert (await page.request("POST", "/api/api-keys", json={"name": "a key"})).http == 201
        assert (await page.request("GET", "/api/skills")).http == 200
        assert (await page.client.request("GET", "/v1/models", headers=page.proven)).http == 401
    assert len((await user.through[0].command("AP_List")).ok().profile) == 3


@pytest.mark.parametrize("entry", range(3))
async def test_public_commands_through_any_node_need_no_proof_beside_a_cookie(
    entries: Entries, unique: str, entry: int
):
    user = await entries.user_on(1, f"{unique}-user")
    for number, page in enumerate(await on_every_node(entries, entry, user.name)):
        body = {"service": "US_Create", "vx": {"name": f"{unique}-{number}", "secret": "a long enough secret"}}
        (await page.client.request("POST", "/demo/v1/Svc/tps", json=body, headers=page.cookie)).ok()
        key = await page.client.request("POST", "/api/dev/sandbox-key", headers=page.cookie)
        assert key.http == 201, key.body


@pytest.mark.parametrize("entry", range(3))
async def test_an_operator_s_cookie_opens_the_operator_s_routes_of_every_node(
    entries: Entries, unique: str, entry: int
):
    user = await entries.user_on(2, f"{unique}-user")
    path = f"/api/admin/users/{user.name}/role"
    answer = await entries.clients[0].request("PUT", path, json={"role": "operator"}, headers=SECRET)
    assert answer.http == 200
    for page in await on_every_node(entries, entry, user.name):
        assert page.record["role"] == "operator"
        assert (await page.client.request("GET", "/debug/actors?limit=1", headers=page.cookie)).http == 200
        (await page.client.request("PUT", path, json={"role": "operator"}, headers=page.cookie)).refused(2003, 403)
        assert (await page.request("PUT", path, json={"role": "operator"})).http == 200


@pytest.mark.parametrize("entry", range(3))
async def test_after_a_suspension_every_node_refuses_the_cookie(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(1, f"{unique}-user")
    pages = await on_every_node(entries, 2, user.name)
    for page in pages:
        (await page.command("US_Read")).ok()
    path = f"/api/admin/users/{user.name}/suspend"
    assert (await entries.clients[entry].request("POST", path, headers=SECRET)).http == 200
    for page in pages:
        (await page.command("US_Read")).refused(2001, 401)
        for method, asked in (("GET", SESSION), ("DELETE", SESSION), ("GET", "/api/skills")):
            (await page.request(method, asked)).refused(2001, 401)
        (await try_log_on(page.client, user.name)).refused(2005, 403)


@pytest.mark.parametrize("entry", range(3))
async def test_a_session_that_is_ended_through_any_node_is_over_on_all(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(0, f"{unique}-user")
    pages = await on_every_node(entries, 1, user.name)
    assert (await pages[entry].request("DELETE", SESSION)).http == 204
    for page in pages:
        (await page.request("GET", SESSION)).refused(2001, 401)
        (await page.command("US_Read")).refused(2001, 401)


async def test_failed_log_ons_through_all_nodes_are_counted_together(entries: Entries, unique: str):
    user = await entries.user_on(1, f"{unique}-user")
    for number in range(10):
        (await try_log_on(entries.clients[number % 3], user.name, WRONG)).refused(2002, 401)
    for client in entries.clients:
        refused = await try_log_on(client, user.name)
        assert refused.refused(4001, 429).headers["Retry-After"]


@pytest.mark.parametrize("entry", range(3))
async def test_a_page_at_any_node_is_told_of_changes_through_any_other(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(1, f"{unique}-user")
    bank, domain = f"{unique}-bank", f"{unique}-domain"
    await user.through[0].agent(f"{unique}-agent")
    (await user.through[0].command("MB_Create", vx={"name": bank})).ok()
    (await user.through[0].command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    page = (await on_every_node(entries, (entry + 1) % 3, user.name))[entry]
    async with watching(page, f"bank={bank}&zone={domain}/lobby") as hints:
        for body, other in zip(("Moon", "Sun", "comet"), user.through, strict=True):
            (await load(other, bank, body, f"The {body} is far away from the telescope.")).ok()
            await hints.all_of(("bank", bank))
            target = {"domain": domain, "zone": "lobby", "agent": f"{unique}-agent"}
            reply = (await other.command("AP_Chat", target=target, content=f"How far is the {body}?")).ok().content[1]
            assert [source["name"] for source in reply["sources"]] == [body]
            await hints.all_of(("zone", f"{domain}/lobby"))
            (await other.command("MB_Censor", target={"bank": bank}, vx={"name": body})).ok()
            await hints.all_of(("bank", bank), ("zone", f"{domain}/lobby"))
        path = f"/api/admin/users/{user.name}/suspend"
        assert (await entries.clients[(entry + 1) % 3].request("POST", path, headers=SECRET)).http == 200
        while (told := await hints.next())[0] == "changed":  # what was redacted and posted may be told one by one
            pass
        assert told == ("end", {"reason": "suspended"})
