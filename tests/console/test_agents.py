"""The page of agents: made, changed, found, offered banks, destroyed."""

import asyncio
import re
from typing import Any

from playwright.async_api import Locator, Page, Route, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import LINES, choose_who_sees_it, confirm, says
from tests.support.gateway import Client
from tests.support.memories import grant


async def test_an_agent_is_made_changed_and_destroyed(console: Console, user: Client, unique: str):
    name = f"{unique}-scout"
    page = await console.window(user, "/console/agents", color_scheme="dark")
    await expect(page.get_by_text("No agents yet")).to_be_visible()
    await no_serious_violations(page)
    await page.get_by_role("button", name="New agent").first.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    await dialog.get_by_label("Name", exact=True).fill(name)
    await dialog.get_by_label("Description").fill("Looks up")
    await dialog.get_by_label("Profile").fill("The telescope is open on Friday.")
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Create").click()
    await says(page, f"{name} was created and is online.")
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    chat = page.get_by_role("main").get_by_role("link", name="Chat", exact=True)
    await expect(chat).to_have_attribute("href", f"/console/chat/{name}")
    await no_serious_violations(page)

    await page.get_by_role("button", name="Log off").click()
    await says(page, f"{name} is now offline.")
    assert (await user.command("AP_Read", target={"agent": name})).profile[0]["state"] == "offline"
    await page.get_by_role("button", name="Log on").click()
    await says(page, f"{name} is now online.")

    await page.get_by_role("button", name="Change").click()
    await dialog.get_by_label("Name", exact=True).fill(f"{name}.2")
    await dialog.get_by_label("Who sees it").select_option("public")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name=f"{name}.2", level=1)).to_be_visible()
    await expect(page).to_have_url(f"{console.base}/console/agents/{name}.2")
    changed = (await user.command("AP_Read", target={"agent": f"{name}.2"})).profile[0]
    assert (changed["access"], changed["profile"]) == ("public", "The telescope is open on Friday.")

    await page.get_by_role("button", name="Destroy").click()
    await dialog.get_by_label(f"Type {name}.2 to confirm").fill(name)
    await dialog.get_by_role("button", name="Destroy agent").click()
    await expect(dialog.get_by_role("alert")).to_contain_text(f"Type {name}.2 first")
    await confirm(page, "Destroy agent", typed=f"{name}.2")
    await says(page, f"{name}.2 was destroyed.")
    (await user.command("AP_Read", target={"agent": f"{name}.2"})).refused(3000, 404)


async def test_a_change_of_who_sees_an_agent_leaves_its_texts_as_they_are(console: Console, user: Client, unique: str):
    name = f"{unique}-scout"
    vx = {"name": name, "description": LINES, "profile": "one\r\ntwo\rthree"}
    (await user.command("AP_Create", vx=vx)).ok()
    page = await console.window(user, f"/console/agents/{name}")
    await choose_who_sees_it(page, "public")
    changed = (await user.command("AP_Read", target={"agent": name})).ok().profile[0]
    assert {member: changed[member] for member in (*vx, "access")} == vx | {"access": "public"}


async def with_new_agent(console: Console, user: Client, name: str) -> tuple[Page, Locator]:
    """Fill in the form of a new agent; return its window and its dialog."""
    page = await console.window(user, "/console/agents")
    await page.get_by_role("button", name="New agent").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill(name)
    await dialog.get_by_label("Description").fill("Looks up")
    return page, dialog


async def test_a_form_that_is_sent_again_after_its_answer_was_lost_is_carried_out_once(
    console: Console, user: Client, unique: str
):
    name = f"{unique}-once"
    page, dialog = await with_new_agent(console, user, name)
    lost: list[str | None] = []

    async def lose_answer(asked: Route) -> None:
        body: Any = asked.request.post_data_json
        if body["service"] != "AP_Create":
            return await asked.continue_()
        lost.append(await asked.request.header_value("Idempotency-Key"))
        await asked.fetch()
        return await asked.abort()

    await page.route("**/tps", lose_answer)
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("can't be reached")
    assert (await user.command("AP_Read", target={"agent": name})).ok().profile[0]["state"] == "offline"
    assert len(lost) > 1
    assert len(set(lost)) == 1
    await page.unroute_all(behavior="wait")
    await dialog.get_by_role("button", name="Create").click()
    await says(page, f"{name} was created and is online.")
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


async def test_an_agent_that_was_made_but_not_logged_on_is_shown_with_the_reason(
    console: Console, user: Client, unique: str
):
    name = f"{unique}-asleep"
    page, dialog = await with_new_agent(console, user, name)

    async def cut_off_log_on(asked: Route) -> None:
        body: Any = asked.request.post_data_json
        await (asked.abort() if body["service"] == "AP_LogOn" else asked.continue_())

    await page.route("**/tps", cut_off_log_on)
    await dialog.get_by_role("button", name="Create").click()
    await says(page, f"{name} was created, but not logged on: The gateway can't be reached.")
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    await expect(dialog).to_be_hidden()
    await page.unroute_all(behavior="wait")
    await page.get_by_role("button", name="Log on").click()
    await says(page, f"{name} is now online.")


async def test_a_refusal_shows_the_gateway_s_note_and_keeps_what_was_typed(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-taken", online=False, select=False)
    page = await console.window(user, "/console/agents")
    await page.get_by_role("button", name="New agent").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill(f"{unique}-TAKEN")
    await dialog.get_by_label("Description").fill("Another")
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("code 3001")
    await expect(dialog.get_by_label("Description")).to_have_value("Another")
    await no_serious_violations(page)


async def test_a_double_click_accepts_one_offer(console: Console, user: Client, nobody: Client, unique: str):
    mine, older, newer = f"{unique}-mine", f"{unique}-older", f"{unique}-newer"
    other = await nobody.register(f"{unique}-other")
    await user.agent(mine, access="public")
    await other.agent(f"{unique}-theirs")
    for bank in (older, newer):
        (await other.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
        (await grant(other, bank, mine, "read")).ok()
    page = await console.window(user, f"/console/agents/{mine}")
    accept = page.get_by_role("button", name="Accept")
    await expect(accept).to_have_count(2)
    await expect(accept.first).to_have_accessible_name(f"Accept {newer}")
    place = await accept.first.bounding_box()
    assert place is not None
    at = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    await page.mouse.click(*at)
    await expect(accept).to_have_count(1)
    await page.mouse.down(click_count=2)
    await page.mouse.up(click_count=2)
    await expect(page.get_by_role("region", name="Banks").get_by_role("link")).to_have_text(newer)
    await page.reload()
    await expect(page.get_by_role("region", name="Banks").get_by_role("link")).to_have_text(newer)
    await expect(page.get_by_role("button", name=f"Accept {older}")).to_be_visible()


async def test_an_offer_of_a_bank_is_accepted_and_another_declined(
    console: Console, user: Client, nobody: Client, unique: str
):
    mine, theirs = f"{unique}-mine", f"{unique}-theirs"
    other = await nobody.register(f"{unique}-other")
    await user.agent(mine, access="public")
    await other.agent(theirs)
    for bank in (f"{unique}-good", f"{unique}-bad"):
        (await other.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
        grant = {"target": {"bank": bank, "agent": mine}, "vx": {"permission": "read"}}
        (await other.command("MB_Permissions", **grant)).ok()

    page = await console.window(user, f"/console/agents/{mine}")
    offers = page.get_by_role("region", name="Offers").first
    await expect(offers.get_by_role("row")).to_have_count(3)
    await no_serious_violations(page)
    await offers.get_by_role("button", name=f"Accept {unique}-good").click()
    await says(page, f"{mine} now recalls from {unique}-good.")
    await expect(page.get_by_role("link", name=f"{unique}-good")).to_be_visible()
    await offers.get_by_role("button", name=f"Decline {unique}-bad").click()
    await confirm(page, "Decline")
    await expect(page.get_by_role("region", name="Offers")).to_have_count(0)
    read = (await user.command("AP_Read", target={"agent": mine})).content[0]
    assert (read["banks"], read["offers"]) == ([f"{unique}-good"], [])


async def test_lists_go_on_as_one_scrolls_and_the_link_holds_the_filter(console: Console, user: Client, unique: str):
    for number in range(60):
        await user.agent(f"{unique}-{number:02}", online=False, select=False)
    page = await console.window(user, "/console/agents")
    table = page.get_by_role("table", name="Agents")
    await table.get_by_role("link", name=f"{unique}-49").scroll_into_view_if_needed()
    await expect(table.get_by_role("row")).to_have_count(61)
    await page.get_by_label("Name begins with").fill(f"{unique}-5")
    await expect(table.get_by_role("row")).to_have_count(11)
    await expect(page).to_have_url(re.compile(f"={unique}-5$"))
    other = await console.window(user, page.url.removeprefix(console.base))
    await expect(other.get_by_role("table", name="Agents").get_by_role("row")).to_have_count(11)
    await page.get_by_label("Name begins with").fill("no-such-agent")
    await expect(page.get_by_text("No agent found")).to_be_visible()


async def test_back_leads_to_the_place_in_a_list(console: Console, user: Client, unique: str):
    for number in range(60):
        await user.agent(f"{unique}-{number:02}", online=False)
    page = await console.window(user, "/console/agents")
    await expect(page.get_by_role("link", name=f"{unique}-49")).to_be_visible()
    await page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await page.get_by_role("link", name=f"{unique}-59").click()
    await expect(page.get_by_role("heading", name=f"{unique}-59")).to_be_visible()
    assert await page.evaluate("scrollY") == 0
    await page.go_back()
    await expect(page.get_by_role("link", name=f"{unique}-59")).to_be_in_viewport()

    async def go_on_slowly(route: Route) -> None:
        await asyncio.sleep(1.5)
        await route.continue_()

    await page.route("**/tps", go_on_slowly)
    await page.reload()
    await expect(page.get_by_role("link", name=f"{unique}-59")).to_be_in_viewport()
    await page.unroute_all(behavior="wait")


async def test_another_user_s_agent_is_put_on_the_roster(console: Console, user: Client, nobody: Client, unique: str):
    other = await nobody.register(f"{unique}-other")
    await other.agent(f"{unique}-public", access="public")
    page = await console.window(user, f"/console/agents?of={unique}-other")
    await page.get_by_role("link", name=f"{unique}-public").click()
    await page.get_by_role("button", name="Add to the roster").click()
    await says(page, f"{unique}-public is on your roster.")
    await expect(page.get_by_role("button", name="Destroy")).to_have_count(0)
    await page.get_by_role("button", name="Take off the roster").click()
    await says(page, f"{unique}-public is off your roster.")


async def test_the_keyboard_alone_makes_an_agent_and_all_fits_a_phone(console: Console, user: Client, unique: str):
    page = await console.window(user, "/console/agents", viewport=PHONE)
    await expect(page.get_by_text("No agents yet")).to_be_visible()
    await fits_its_width(page)
    await page.get_by_role("button", name="New agent").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    await page.keyboard.type(f"{unique}-typed")
    await page.keyboard.press("Tab")
    await page.keyboard.type("Typed by keyboard")
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await says(page, f"{unique}-typed was created")
    await expect(page.get_by_role("heading", name=f"{unique}-typed")).to_be_visible()
    await fits_its_width(page)
    await no_serious_violations(page)


async def test_a_name_of_some_words_stands_on_one_line(console: Console, user: Client, unique: str):
    name = f"{unique}-of-several-words"
    await user.agent(name)
    page = await console.window(user, "/console/agents", viewport={"width": 1440, "height": 900})
    link = page.get_by_role("link", name=name)
    await expect(link).to_be_visible()
    assert await link.evaluate("(link) => link.getClientRects().length") == 1
