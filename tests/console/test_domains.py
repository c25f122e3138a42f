"""The page of domains: made, changed, destroyed; moves of members; zones."""

from playwright.async_api import Locator, Page, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import LINES, choose_who_sees_it, confirm, says
from tests.support.gateway import Client
from tests.support.workspaces import opened


def row_of(page: Page, agent: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=agent, exact=True))


async def state_of(user: Client, domain: str, agent: str) -> str | None:
    rows = (await user.command("DM_Read", target={"domain": domain})).content
    return next((row["state"] for row in rows if row["agent"] == agent), None)


async def has_moves(page: Page, agent: str, *moves: str) -> None:
    await expect(row_of(page, agent).get_by_role("button")).to_have_text(list(moves))


async def test_a_domain_is_made_changed_and_destroyed(console: Console, user: Client, unique: str):
    founder, name = f"{unique}-founder", f"{unique}-domain"
    await user.agent(founder)
    page = await console.window(user, "/console/domains")
    await expect(page.get_by_role("heading", name="Domains", level=1)).to_be_visible()
    await no_serious_violations(page)
    await page.get_by_role("button", name="New domain").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill(name)
    await dialog.get_by_label("Description").fill("Where we look up")
    await expect(dialog.get_by_label("Founder")).to_have_value(founder)  # the only agent
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Create").click()
    await says(page, f"{name} was created, with the zone lobby.")
    await has_moves(page, founder)

    await page.get_by_role("button", name="Change").click()
    await dialog.get_by_label("Name", exact=True).fill(f"{name}.2")
    await dialog.get_by_label("Who sees it").select_option("public")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name=f"{name}.2", level=1)).to_be_visible()
    await expect(page).to_have_url(f"{console.base}/console/domains/{name}.2")
    assert (await user.command("DM_Read", target={"domain": f"{name}.2"})).profile[0]["access"] == "public"

    await page.get_by_role("button", name="Destroy").click()
    await confirm(page, "Destroy domain", typed=f"{name}.2")
    await says(page, f"{name}.2 was destroyed.")
    (await user.command("DM_Read", target={"domain": f"{name}.2"})).refused(3000, 404)


async def test_a_form_takes_nothing_back_that_was_changed_meanwhile(console: Console, user: Client, unique: str):
    name = f"{unique}-domain"
    await user.agent(f"{unique}-founder")
    vx = {"name": name, "description": "Where we look up"}
    (await user.command("DM_Create", vx={**vx, "access": "public"})).ok()
    page = await console.window(user, f"/console/domains/{name}")
    await page.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Profile").fill("Eyes only.")
    (await user.command("DM_Update", target={"domain": name}, vx={**vx, "access": "agent"})).ok()
    await confirm(page, "Save")
    domain = (await user.command("DM_Read", target={"domain": name})).ok().profile[0]
    assert (domain["profile"], domain["access"]) == ("Eyes only.", "agent")


async def test_a_change_of_who_sees_a_domain_leaves_its_texts_as_they_are(console: Console, user: Client, unique: str):
    vx = {"name": f"{unique}-domain", "description": LINES, "profile": "one\r\ntwo\rthree"}
    await user.agent(f"{unique}-founder")
    (await user.command("DM_Create", vx=vx)).ok()
    page = await console.window(user, f"/console/domains/{unique}-domain")
    await choose_who_sees_it(page, "public")
    changed = (await user.command("DM_Read", target={"domain": f"{unique}-domain"})).ok().profile[0]
    assert {member: changed[member] for member in (*vx, "access")} == vx | {"access": "public"}


async def test_members_are_moved_as_the_table_of_moves_allows(
    console: Console, user: Client, nobody: Client, unique: str
):
    guest = await nobody.register(f"{unique}-guest-user")
    work = await opened(user, guest, f"{unique}-work")
    late = f"{unique}-late"
    await guest.agent(late, access="public")
    page = await console.window(user, f"/console/domains/{work.domain}")
    await has_moves(page, work.guest_agent, "Kick", "Ban")
    await has_moves(page, work.owner_agent)
    await no_serious_violations(page)

    form = page.get_by_role("form", name="Add an agent")
    await form.get_by_label("Agent", exact=True).fill(late)
    await expect(form.get_by_label("What to do").get_by_role("option")).to_have_text(["Invite", "Ban"])
    await form.get_by_role("button", name="Invite").click()
    await says(page, f"{late} was invited.")
    await has_moves(page, late, "Withdraw", "Ban")

    guests_page = await console.window(guest, f"/console/domains/{work.domain}")
    await has_moves(guests_page, late, "Join", "Decline")
    await has_moves(guests_page, work.guest_agent, "Leave")
    await has_moves(guests_page, work.owner_agent)
    await row_of(guests_page, late).get_by_role("button", name="Join").click()
    await says(guests_page, f"{late} is now a member.")
    await has_moves(guests_page, late, "Leave")
    assert await state_of(user, work.domain, late) == "member"

    await page.reload()
    await row_of(page, late).get_by_role("button", name="Kick").click()
    await no_serious_violations(page)
    await confirm(page, "Kick")
    await says(page, f"{late} was removed.")
    await expect(row_of(page, late)).to_have_count(0)
    await row_of(page, work.guest_agent).get_by_role("button", name="Ban").click()
    await confirm(page, "Ban")
    await has_moves(page, work.guest_agent, "Unban")
    assert await state_of(user, work.domain, work.guest_agent) == "banned"
    await row_of(page, work.guest_agent).get_by_role("button", name="Unban").click()
    await says(page, f"{work.guest_agent} is no longer banned.")
    await expect(row_of(page, work.guest_agent)).to_have_count(0)
    await guests_page.reload()
    await expect(guests_page.get_by_role("alert")).to_contain_text("code 3000")


async def test_an_own_agent_is_known_in_any_case_and_others_are_refused_in_the_gateway_s_words(
    console: Console, user: Client, nobody: Client, unique: str
):
    owner = await nobody.register(f"{unique}-owner-user")
    host, ledger, domain = f"{unique}-host", f"{unique}-ledger", f"{unique}-open"
    for name in (host, ledger):
        await owner.agent(name, access="public")
    vx = {"name": domain, "description": "d", "access": "public"}
    (await owner.command("DM_Create", target={"agent": host}, vx=vx)).ok()
    await user.agent(f"{unique}-comer")
    page = await console.window(user, f"/console/domains/{domain}")
    form = page.get_by_role("form", name="Add an agent")
    for name, note in ((ledger, f"Only the owner of {ledger} may do this"), (f"{unique}-nobody", "no such agent")):
        await form.get_by_label("Agent", exact=True).fill(name)
        await form.get_by_role("button", name="Join").click()
        await expect(form.get_by_role("alert")).to_contain_text(note)
    await form.get_by_label("Agent", exact=True).fill(f"{unique}-COMER")
    await form.get_by_role("button", name="Join").click()
    await has_moves(page, f"{unique}-comer", "Leave")

    owners_page = await console.window(owner, f"/console/domains/{domain}")
    form = owners_page.get_by_role("form", name="Add an agent")
    await form.get_by_label("Agent", exact=True).fill(ledger.upper())
    await form.get_by_label("What to do").select_option("DM_Invite")
    await form.get_by_role("button", name="Invite").click()
    await says(owners_page, f"{ledger.upper()} is now a member.")


async def test_who_sees_a_public_domain_may_join_it_and_its_zones_are_for_members(
    console: Console, user: Client, nobody: Client, unique: str
):
    owner = await nobody.register(f"{unique}-owner-user")
    await owner.agent(f"{unique}-host")
    (await owner.command("DM_Create", vx={"name": f"{unique}-open", "description": "d", "access": "public"})).ok()
    await user.agent(f"{unique}-comer")
    page = await console.window(user, f"/console/domains/{unique}-open")
    form = page.get_by_role("form", name="Add an agent")
    await form.get_by_label("Agent", exact=True).fill(f"{unique}-comer")
    await expect(page.get_by_role("button", name="Change")).to_have_count(0)
    await page.get_by_role("tab", name="Zones").click()
    await expect(page.get_by_text("Only members read zones")).to_be_visible()
    await page.get_by_role("tab", name="Members").click()
    await form.get_by_label("Agent", exact=True).fill(f"{unique}-comer")
    await form.get_by_role("button", name="Join").click()
    await has_moves(page, f"{unique}-comer", "Leave")
    await page.get_by_role("tab", name="Zones").click()
    await expect(page.get_by_label("Name of a new zone")).to_be_visible()


async def test_zones_are_made_and_destroyed_but_not_the_lobby(console: Console, user: Client, unique: str):
    domain = f"{unique}-zones"
    await user.agent(f"{unique}-host")
    (await user.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    page = await console.window(user, f"/console/domains/{domain}?tab=zones", viewport=PHONE)
    await page.get_by_label("Name of a new zone").fill("planets")
    await page.get_by_role("button", name="Create zone").click()
    await says(page, "Zone planets was created.")
    link = page.get_by_role("link", name="planets")
    await expect(link).to_have_attribute("href", f"/console/zones/{domain}/planets")
    await expect(page.get_by_role("button", name="Destroy zone")).to_have_count(1)
    await fits_its_width(page)
    await no_serious_violations(page)
    await page.get_by_role("button", name="Destroy zone planets").click()
    await confirm(page, "Destroy zone", typed="planets")
    await expect(link).to_have_count(0)
    assert [zone["name"] for zone in (await user.command("ZN_List", target={"domain": domain})).profile] == ["lobby"]
