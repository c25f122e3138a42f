"""GET /console/watch: hints of changes for the console's pages (docs/contract.md, "The console")."""

from pathlib import Path

import pytest

from actors.commands.watching import MAX_SUBSCRIPTIONS
from tests.support.cookies import SESSION, WATCH, CookieSession, logged_on, watching
from tests.support.gateway import Client, running
from tests.support.memories import load, share
from tests.support.operator import Cast, on_plan
from tests.support.workspaces import post


@pytest.fixture
async def owner(member: Client, unique: str) -> Client:
    """A user with an agent, a bank of one memory and a domain."""
    await on_plan(member, "enterprise")
    await member.agent(f"{unique}-agent", access="public")
    (await member.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    (await load(member, f"{unique}-bank", "moon", "The Moon is 384,400 km away.")).ok()
    (await member.command("DM_Create", vx={"name": f"{unique}-domain", "description": "A workspace"})).ok()
    return member


async def test_what_another_session_changes_in_a_bank_is_told(owner: Client, page: CookieSession, unique: str):
    bank = f"{unique}-bank"
    other = await owner.log_on(owner.name)
    (await other.command("AP_Select", target={"agent": f"{unique}-agent"})).ok()
    async with watching(page, f"bank={bank}") as hints:
        for change in (
            load(other, bank, "sun", "The Sun is far away."),
            other.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"}),
            other.command("MB_Delete", target={"bank": bank}, vx={"name": "sun"}),
        ):
            (await change).ok()
            await hints.changed("bank", bank)
        (await other.command("MB_Read", target={"bank": bank})).ok()
        assert await hints.nothing()
        (await other.command("MB_Destroy", target={"bank": bank})).ok()
        await hints.changed("bank", bank)


async def test_messages_of_a_zone_are_told_and_so_are_those_that_a_censoring_redacts(
    owner: Client, page: CookieSession, unique: str
):
    bank, domain = f"{unique}-bank", f"{unique}-domain"
    zone = {"domain": domain, "zone": "lobby", "agent": f"{unique}-agent"}
    async with watching(page, f"zone={domain}/lobby") as hints:
        (await post(owner, domain, "Hello")).ok()
        await hints.changed("zone", f"{domain}/lobby")
        reply = (await owner.command("AP_Chat", target=zone, content="How far is the Moon?")).ok().content[1]
        assert reply["sources"][0]["name"] == "moon"
        await hints.changed("zone", f"{domain}/lobby")
        if not await hints.nothing():  # the reply is a change of its own where it comes late
            await hints.changed("zone", f"{domain}/lobby")
            assert await hints.nothing()
        (await owner.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"})).ok()
        await hints.changed("zone", f"{domain}/lobby", redacted=True)
        assert "384,400" not in str((await page.command("ZN_Read", target=zone)).ok().content)
        assert await hints.nothing()
        (await post(owner, domain, "Hello again")).ok()
        await hints.changed("zone", f"{domain}/lobby")


async def test_one_watch_takes_many_names_and_tells_them_apart(owner: Client, page: CookieSession, unique: str):
    domain = f"{unique}-domain"
    (await owner.command("MB_Create", vx={"name": f"{unique}-notes"})).ok()
    (await owner.command("ZN_Create", target={"domain": domain}, vx={"name": "nightly"})).ok()
    query = f"bank={unique}-bank&bank={unique}-notes&zone={domain}/nightly,{domain}/lobby"
    async with watching(page, query) as hints:
        (await load(owner, f"{unique}-notes", "sun", "The Sun is far away.")).ok()
        await hints.changed("bank", f"{unique}-notes")
        (await post(owner, domain, "Hello", zone="nightly")).ok()
        await hints.changed("zone", f"{domain}/nightly")
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        await hints.changed("bank", f"{unique}-bank")
        (await post(owner, domain, "Hello")).ok()
        await hints.changed("zone", f"{domain}/lobby")
        assert await hints.nothing()


async def test_what_may_not_be_read_can_t_be_watched(owner: Client, page: CookieSession, nobody: Client, unique: str):
    guest = await nobody.register(f"{unique}-guest")
    stranger = await logged_on(nobody, guest.name)
    for query in (f"bank={unique}-bank", f"zone={unique}-domain/lobby", "bank=none", f"zone={unique}-domain/none"):
        (await stranger.request("GET", f"{WATCH}?{query}")).refused(3000, 404)
    for query in ("zone=lobby", "zone=a/b/c", "bank=a/b", "name=x", f"bank={unique}-bank&more=1"):
        (await page.request("GET", f"{WATCH}?{query}")).refused(1003, 400)
    many = "&".join(f"bank={unique}-bank{number}" for number in range(MAX_SUBSCRIPTIONS + 1))
    (await page.request("GET", f"{WATCH}?{many}")).refused(1003, 400)
    (await page.request("GET", f"{WATCH}?{many.rsplit('&', 1)[0]}")).refused(3000, 404)
    (await nobody.request("GET", f"{WATCH}?bank={unique}-bank")).refused(2000, 401)
    agent = f"{unique}-visitor"
    await guest.agent(agent, access="public")
    await share(owner, guest, f"{unique}-bank", agent, "read")
    async with watching(stranger, f"bank={unique}-bank") as hints:
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        await hints.changed("bank", f"{unique}-bank")
        withdrawn = {"target": {"bank": f"{unique}-bank", "agent": agent}, "vx": {"permission": "none"}}
        (await owner.command("MB_Permissions", **withdrawn)).ok()
        await hints.changed("bank", f"{unique}-bank")
        (await load(owner, f"{unique}-bank", "mars", "Mars is red.")).ok()
        assert await hints.nothing()


async def test_a_watch_ends_with_its_session(nobody: Client, cast: Cast, unique: str):
    user = cast.target
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    page = await logged_on(nobody, user.name)
    async with watching(page, f"bank={unique}-bank") as hints:
        assert (await page.request("DELETE", SESSION)).http == 204
        assert await hints.next() == ("end", {"reason": "logged off"})
    page = await logged_on(nobody, user.name)
    async with watching(page, "") as hints:  # naming nothing, it tells of the end alone
        path = f"/api/admin/users/{user.name}/suspend"
        assert (await cast.operator.request("POST", path)).http == 200
        assert await hints.next() == ("end", {"reason": "suspended"})
    (await page.request("GET", f"{WATCH}?bank={unique}-bank")).refused(2001, 401)


async def test_a_watch_is_not_counted_and_does_not_keep_its_session_alive(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SESSION_TTL_S="4") as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        await user.agent("scout-agent")
        (await user.command("MB_Create", vx={"name": "notes-bank"})).ok()
        page = await logged_on(client, "ada-lovelace")
        used = (await page.command("US_Read")).ok().profile[0]["quota"]["used"]
        async with watching(page, "bank=notes-bank") as hints:
            assert (await page.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 1
            assert await hints.next() == ("end", {"reason": "expired"})
        (await page.request("GET", SESSION)).refused(2001, 401)
