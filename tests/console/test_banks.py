"""The page of memory banks: memories loaded, searched, censored in all windows; permissions; destruction."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Error, Locator, Page, Route, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import LINES, choose_who_sees_it, confirm, says
from tests.support.gateway import Client
from tests.support.memories import grant, load, share

MOON = "The Moon is 384,400 km away on average."
MARS = "Mars has two moons, Phobos and Deimos."


async def bank_of(user: Client, unique: str, **memories: str) -> str:
    """Make a bank with an agent and some memories."""
    bank = f"{unique}-bank"
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": bank, "description": "What scout found"})).ok()
    for name, text in memories.items():
        (await user.command("MB_Load", target={"bank": bank}, vx={"name": name}, content=text)).ok()
    return bank


def memory(page: Page, name: str) -> Locator:
    heading = page.get_by_role("heading", name=name, exact=True)
    return page.get_by_role("listitem").filter(has=heading)


async def test_a_memory_that_is_censored_in_one_window_vanishes_in_all(console: Console, user: Client, unique: str):
    bank = await bank_of(user, unique, Moon=MOON, Mars=MARS)
    acting = await console.window(user, f"/console/banks/{bank}")
    listing = await console.window(user, f"/console/banks/{bank}", color_scheme="dark")
    searching = await console.window(user, f"/console/banks/{bank}?q=how+far+is+the+moon")
    for page in (acting, listing, searching):
        await expect(memory(page, "Moon")).to_contain_text(MOON)
    await expect(memory(searching, "Moon").get_by_text("answers")).to_be_visible()
    for page in (acting, searching):
        await no_serious_violations(page)

    await memory(acting, "Moon").get_by_role("button", name="Censor").click()
    await expect(acting.get_by_role("dialog")).to_contain_text("This can't be undone.")
    await no_serious_violations(acting)
    await confirm(acting, "Censor for good")
    await says(acting, "1 memory censored.")
    for page in (acting, listing):
        await expect(memory(page, "Moon")).to_contain_text("censored")
        await expect(page.get_by_text(MOON)).to_have_count(0)
        await expect(memory(page, "Mars")).to_contain_text(MARS)
    await expect(memory(searching, "Moon")).to_have_count(0)
    await expect(searching.get_by_text(MOON)).to_have_count(0)
    await no_serious_violations(listing)


async def test_memories_are_loaded_from_text_and_file_replaced_and_searched(
    console: Console, user: Client, unique: str, tmp_path: Path
):
    bank = await bank_of(user, unique)
    page = await console.window(user, f"/console/banks/{bank}")
    await expect(page.get_by_text("No memories yet")).to_be_visible()
    await page.get_by_role("button", name="Load a memory").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Author")).to_have_value(f"{unique}-scout")
    await dialog.get_by_label("Name", exact=True).fill("Moon")
    await dialog.get_by_label("Text", exact=True).fill(MOON)
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Load", exact=True).click()
    await says(page, "Moon was loaded.")
    await expect(memory(page, "Moon")).to_contain_text(MOON)
    await expect(page.get_by_text("1 memory", exact=True)).to_be_visible()

    plan = tmp_path / "plan.md"
    plan.write_text("# The plan\n\n" + "\n\n".join(f"On night {night} we look at Saturn." for night in range(120)))
    await page.get_by_role("button", name="Load a memory").click()
    await dialog.get_by_label("or a text file").set_input_files(plan)
    await expect(dialog.get_by_label("Name", exact=True)).to_have_value("plan.md")
    await dialog.get_by_role("button", name="Load", exact=True).click()
    await says(page, "plan.md was loaded in ")
    await expect(memory(page, "plan.md/2")).to_be_visible()

    await memory(page, "Moon").get_by_role("button", name="Replace").click()
    await dialog.get_by_label("Text", exact=True).fill(f"{MOON} It has no air.")
    await dialog.get_by_role("button", name="Replace", exact=True).click()
    await expect(memory(page, "Moon")).to_contain_text("It has no air.")

    await page.get_by_label("Search the texts").fill("When do we look at Saturn?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("list", name="Found memories").get_by_text("answers").first).to_be_visible()
    await expect(page.get_by_role("meter", name="Score").first).to_be_visible()
    await page.get_by_label("Up to").select_option("5")
    await expect(page).to_have_url(re.compile(re.escape("?q=When+do+we+look+at+Saturn%3F&n=5") + "$"))
    await page.get_by_label("Search the texts").fill("xylophone")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nothing found in this bank")).to_be_visible()
    await no_serious_violations(page)


async def test_a_memory_with_spaces_around_its_name_is_found_and_replaced(console: Console, user: Client, unique: str):
    bank = await bank_of(user, unique, **{" Titan ": "Titan has lakes.", "Titan": "Titan is a moon."})
    page = await console.window(user, f"/console/banks/{bank}")
    for search in ("Search the texts", "Name is"):
        await expect(page.get_by_label(search)).to_have_accessible_description("Enter searches.")
    await page.get_by_label("Name is").fill(" Titan ")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("list", name="Memories").get_by_role("listitem")).to_have_count(1)
    await expect(page.get_by_text("Titan has lakes.")).to_be_visible()
    await page.get_by_role("button", name="Replace").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Text", exact=True)).to_be_focused()
    await expect(dialog.get_by_label("Name", exact=True)).not_to_be_editable()
    await expect(dialog.get_by_label("Name", exact=True)).to_have_accessible_description("")
    await no_serious_violations(page)
    await dialog.get_by_label("Text", exact=True).fill("Titan has seas.")
    await confirm(page, "Replace")
    await expect(page.get_by_text("Titan has seas.")).to_be_visible()
    memories = (await user.command("MB_Read", target={"bank": bank})).ok().content
    assert {row["name"]: row["text"] for row in memories} == {" Titan ": "Titan has seas.", "Titan": "Titan is a moon."}


async def test_an_edited_file_is_read_as_its_type_and_a_text_pasted_over_it_is_not(
    console: Console, user: Client, unique: str, tmp_path: Path
):
    bank = await bank_of(user, unique)
    file = tmp_path / "page.html"
    file.write_bytes(b"<p>The dome\r\nis <b>open</b>.</p>")
    page = await console.window(user, f"/console/banks/{bank}")
    dialog = page.get_by_role("dialog")
    code = "if a <b and c> d then stop"
    for name, keys in (("as it is", "x"), ("edited", "<i>Come!</i>"), ("another text", code)):
        await page.get_by_role("button", name="Load a memory").click()
        await dialog.get_by_label("or a text file").set_input_files(file)
        text = dialog.get_by_label("Text", exact=True)
        await expect(text).to_have_value("<p>The dome\nis <b>open</b>.</p>")
        await dialog.get_by_label("Name", exact=True).fill(name)
        await text.press("Control+A" if keys == code else "End")
        await page.keyboard.insert_text(keys)
        if keys == "x":
            await text.press("Backspace")
        await expect(text).to_have_accessible_description(
            re.compile("^Up to" if keys == code else "^Read as HTML. Up to")
        )
        await dialog.get_by_role("button", name="Load", exact=True).click()
        await says(page, f"{name} was loaded")
        await expect(dialog).to_be_hidden()
    memories = (await user.command("MB_Read", target={"bank": bank})).ok().content
    assert {row["name"].partition("/")[0]: row["text"] for row in memories} == {
        "as it is": "The dome is open.",
        "edited": "The dome is open.\n\nCome!",
        "another text": code,
    }


async def test_all_by_an_agent_are_censored_and_then_all_are_deleted(console: Console, user: Client, unique: str):
    bank = await bank_of(user, unique, Moon=MOON, Mars=MARS)
    await user.agent(f"{unique}-second")
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "Sun"}, content="The Sun is a star.")).ok()
    page = await console.window(user, f"/console/banks/{bank}")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Censor memories").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Which memories").select_option("agent")
    await dialog.get_by_label("Author").fill(f"{unique}-scout")
    await no_serious_violations(page)
    await confirm(page, "Censor for good")
    await says(page, "2 memories censored.")
    await expect(page.get_by_text("Its text was erased for good.")).to_have_count(2)
    await expect(memory(page, "Sun")).to_contain_text("The Sun is a star.")
    await memory(page, "Sun").get_by_role("button", name="Delete").click()
    await expect(dialog).to_contain_text("It is removed from the bank")
    await dialog.get_by_role("button", name="Cancel").click()

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Delete memories").click()
    await dialog.get_by_label("Which memories").select_option("all")
    await confirm(page, "Delete", typed=bank)
    await says(page, "3 memories deleted.")
    await expect(page.get_by_text("No memories yet")).to_be_visible()


async def test_permissions_are_given_changed_and_withdrawn(console: Console, user: Client, nobody: Client, unique: str):
    bank = await bank_of(user, unique, Moon=MOON)
    other = await nobody.register(f"{unique}-other")
    theirs = f"{unique}-theirs"
    await other.agent(theirs, access="public")
    await user.agent(f"{unique}-second")
    page = await console.window(user, f"/console/banks/{bank}?tab=permissions")
    form = page.get_by_role("form", name="Give a permission")

    def row(agent: str) -> Locator:
        return page.get_by_role("row").filter(has=page.get_by_role("link", name=agent, exact=True))

    await form.get_by_label("Agent", exact=True).fill(theirs)
    await form.get_by_role("button", name="Give").click()
    await says(page, f"{theirs} is offered read. Its owner has to accept.")
    await expect(row(theirs)).to_contain_text("offered")
    await form.get_by_label("Agent", exact=True).fill(f"{unique}-second")
    await form.get_by_label("Permission").select_option("write")
    await form.get_by_role("button", name="Give").click()
    await says(page, f"{unique}-second now has write.")
    await expect(row(f"{unique}-second")).to_contain_text("attached")
    await no_serious_violations(page)

    (await other.command("MB_Accept", target={"bank": bank, "agent": theirs})).ok()
    await page.reload()
    await expect(row(theirs)).to_contain_text("attached")
    reading = await console.window(other, f"/console/banks/{bank}")
    await expect(memory(reading, "Moon")).to_contain_text(MOON)
    await expect(reading.get_by_role("button", name="Load a memory")).to_have_count(0)
    await expect(reading.get_by_role("button", name="Censor")).to_have_count(0)

    await row(theirs).get_by_role("button", name="Change").click()
    await page.get_by_role("dialog").get_by_label("Permission", exact=True).select_option("none")
    await confirm(page, "Save")
    await expect(row(theirs)).to_contain_text("none")
    await row(theirs).get_by_role("button", name="Detach").click()
    await confirm(page, "Detach")
    await expect(row(theirs)).to_have_count(0)
    await expect(reading.get_by_role("alert")).to_contain_text("code 3000")  # without a reload
    await expect(reading.get_by_text(MOON)).to_have_count(0)
    await page.get_by_label("Who sees it").select_option("public")
    await page.get_by_role("button", name="Save").click()
    await says(page, "Saved.")
    assert (await user.command("MB_List", target={"bank": bank})).profile[0]["access"] == "public"
    await reading.reload()
    await expect(reading.get_by_text("You may see this bank, but not read it")).to_be_visible()
    await no_serious_violations(reading)


async def test_what_is_being_written_stays_when_its_memory_leaves_the_search(
    console: Console, user: Client, unique: str
):
    bank = await bank_of(user, unique, Moon=MOON, Mars=MARS)
    page = await console.window(user, f"/console/banks/{bank}?q=average")
    await memory(page, "Moon").get_by_role("button", name="Replace").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Text", exact=True).fill("The Moon recedes by 38 mm a year on average.")
    (await load(user, bank, "Moon", "Io is red.")).ok()
    await expect(memory(page, "Moon")).to_have_count(0)
    await expect(dialog.get_by_label("Text", exact=True)).to_have_value("The Moon recedes by 38 mm a year on average.")
    await confirm(page, "Replace")
    await expect(memory(page, "Moon")).to_contain_text("38 mm")


async def test_cancel_ends_a_load_that_is_under_way(console: Console, user: Client, unique: str):
    page = await console.window(user, f"/console/banks/{await bank_of(user, unique)}")
    await page.get_by_role("button", name="Load a memory").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("long")
    await dialog.get_by_label("Text", exact=True).fill("Stars. " * 1000)
    arrived, cancelled = asyncio.Event(), asyncio.Event()

    async def hold(asked: Route) -> None:
        arrived.set()
        await cancelled.wait()
        with suppress(Error):  # the page gave it up
            await asked.continue_()

    await page.route("**/api/documents*", hold)
    await dialog.get_by_role("button", name="Load", exact=True).click()
    await arrived.wait()
    async with page.expect_event("requestfailed", lambda request: "/api/documents" in request.url):
        await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_be_hidden()
    cancelled.set()
    await page.unroute_all(behavior="wait")
    await expect(page.get_by_text("No memories yet")).to_be_visible()


async def test_a_file_that_is_too_long_is_told_before_it_is_sent(
    console: Console, user: Client, unique: str, tmp_path: Path
):
    page = await console.window(user, f"/console/banks/{await bank_of(user, unique)}")
    await page.get_by_role("button", name="Load a memory").click()
    dialog = page.get_by_role("dialog")
    file = tmp_path / "long.txt"
    file.write_text("Stars. " * 80_000)
    await dialog.get_by_label("or a text file").set_input_files(file)
    await expect(dialog.get_by_label("Text", exact=True)).to_have_accessible_description(
        "560,000 characters: up to 500,000 are loaded at once. Divide it into several files."
    )


async def test_a_permission_counts_behind_two_hundred_others(
    console: Console, user: Client, nobody: Client, unique: str
):
    bank = await bank_of(user, unique)
    for number in range(200):
        await user.agent(f"{unique}-{number:03}", online=False, select=False)
        (await grant(user, bank, f"{unique}-{number:03}", "read")).ok()
    other = await nobody.register(f"{unique}-other")
    await other.agent(f"{unique}-writer", access="public")
    await share(user, other, bank, f"{unique}-writer", "write")
    page = await console.window(other, f"/console/banks/{bank}")
    await expect(page.get_by_text("your permission: write")).to_be_visible()
    await page.get_by_role("button", name="Load a memory").click()
    await expect(page.get_by_role("dialog").get_by_label("Author")).to_have_value(f"{unique}-writer")


async def test_a_bank_is_made_renamed_and_destroyed(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-scout")
    page = await console.window(user, "/console/banks", viewport=PHONE)
    await expect(page.get_by_text("No banks yet")).to_be_visible()
    await fits_its_width(page)
    await page.get_by_role("button", name="New bank").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill(f"{unique}-notes")
    await dialog.get_by_label("First agent").fill(f"{unique}-scout")
    await dialog.get_by_role("button", name="Create").click()
    await says(page, f"{unique}-notes was created.")
    await expect(page.get_by_role("heading", name=f"{unique}-notes")).to_be_visible()
    await expect(page.get_by_text("No memories yet")).to_be_visible()
    await fits_its_width(page)
    await no_serious_violations(page)

    await page.get_by_role("button", name="Change").click()
    await dialog.get_by_label("Name", exact=True).fill(f"{unique}-records")
    await dialog.get_by_label("Description").fill("What was written down")
    await confirm(page, "Save")
    await expect(page.get_by_role("heading", name=f"{unique}-records")).to_be_visible()
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Destroy the bank").click()
    await confirm(page, "Destroy bank", typed=f"{unique}-records")
    await says(page, f"{unique}-records was destroyed.")
    await page.goto(f"{console.base}/console/banks/{unique}-records")
    await expect(page.get_by_role("alert")).to_contain_text("code 3000")


async def test_a_change_of_who_sees_a_bank_leaves_its_description_as_it_is(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank", "description": LINES})).ok()
    page = await console.window(user, f"/console/banks/{unique}-bank")
    await choose_who_sees_it(page, "public")
    changed = (await user.command("MB_List", target={"bank": f"{unique}-bank"})).ok().profile[0]
    assert (changed["description"], changed["access"]) == (LINES, "public")


async def test_a_long_list_of_memories_is_loaded_as_one_scrolls(console: Console, user: Client, unique: str):
    bank = await bank_of(user, unique, **{f"note {number:02}": f"Note number {number}." for number in range(60)})
    page = await console.window(user, f"/console/banks/{bank}")
    await memory(page, "note 49").scroll_into_view_if_needed()
    await expect(memory(page, "note 59")).to_be_attached()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "note 58"})).ok()
    await expect(memory(page, "note 58")).to_contain_text("Its text was erased for good.")
    await expect(page.get_by_role("list", name="Memories").get_by_role("listitem")).to_have_count(60)
    await page.get_by_label("Name is").fill("note 07")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("list", name="Memories").get_by_role("listitem")).to_have_count(1)


async def test_a_user_without_an_agent_is_led_to_making_one(console: Console, user: Client):
    page = await console.window(user, "/console/banks")
    await page.get_by_role("button", name="New bank").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("link", name="make one first").click()
    await expect(page.get_by_role("heading", name="Agents", level=1)).to_be_visible()


async def test_a_memory_names_its_destroyed_author(console: Console, user: Client, unique: str):
    bank = await bank_of(user, unique)
    helper = f"{unique}-helper"
    await user.agent(helper, select=False)
    (await user.command("MB_Load", target={"bank": bank, "agent": helper}, vx={"name": "Moon"}, content=MOON)).ok()
    (await user.command("AP_Destroy", target={"agent": helper})).ok()
    page = await console.window(user, f"/console/banks/{bank}")
    await expect(memory(page, "Moon")).to_contain_text(f"by {helper} (destroyed)")
    await expect(memory(page, "Moon").get_by_role("link")).to_have_count(0)
