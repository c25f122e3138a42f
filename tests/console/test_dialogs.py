"""What is typed into a dialog is not lost by a slip: a click beside it, Escape, a load that is stopped."""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import says
from tests.support.gateway import Client

LONG = "The Moon goes around the Earth. " * 100


DRAG_OVER = """(place, dataTransfer) =>
    place.dispatchEvent(new DragEvent("dragover", {dataTransfer, bubbles: true, cancelable: true}))"""


async def stays(page: Page, description: str) -> None:
    """Assert that the dialog is still open a moment later, with what was typed."""
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    await expect(page.get_by_role("dialog").get_by_label("Description")).to_have_value(description)


async def test_a_click_beside_a_form_and_one_escape_leave_what_was_typed(console: Console, user: Client):
    page = await console.window(user, "/console/agents")
    dialog = page.get_by_role("dialog")
    new = page.get_by_role("button", name="New agent").first
    await new.click()
    await page.mouse.click(5, 5)
    await stays(page, "")
    await page.keyboard.press("Escape")  # nothing was typed
    await expect(dialog).to_be_hidden()

    await new.click()
    await dialog.get_by_label("Description").fill("A long story")
    await page.mouse.click(5, 5)
    await stays(page, "A long story")
    await page.keyboard.press("Escape")
    await expect(dialog.get_by_role("status")).to_have_text("Escape once more discards what you typed.")
    await no_serious_violations(page)
    await stays(page, "A long story")
    await dialog.get_by_label("Description").press_sequentially("!")
    await expect(dialog.get_by_role("status")).to_have_text("")
    await page.keyboard.press("Escape")
    await expect(dialog.get_by_role("status")).to_contain_text("once more")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(new).to_be_focused()


async def test_a_dialog_without_a_form_and_one_that_confirms_close_at_once(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, f"/console/agents/{unique}-agent")
    dialog = page.get_by_role("dialog")
    await page.get_by_role("button", name="Destroy").click()
    await dialog.get_by_role("textbox").fill("no")
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.goto(f"{console.base}/console/chat/{unique}-agent")
    await user.command("AP_Chat", target={"agent": f"{unique}-agent"}, content="Hello?")
    await page.reload()
    await page.get_by_role("button", name="More on this conversation").click()
    await page.get_by_role("menuitem", name="Destroy").click()
    await expect(dialog).to_be_visible()
    await page.mouse.click(5, 5)
    await expect(dialog).to_be_hidden()


async def fits(choice: Locator) -> None:
    """Assert that no word of a choice is cut off."""
    longest, width = await choice.evaluate(
        """(select) => {
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = getComputedStyle(select).font;
            return [Math.max(...[...select.options].map(({text}) => pen.measureText(text).width)), select.clientWidth];
        }"""
    )
    assert longest + 40 <= width  # the field's padding and arrow


async def test_a_choice_says_below_what_the_chosen_one_means_and_fits_a_phone(
    console: Console, user: Client, unique: str
):
    bank = f"{unique}-bank"
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
    page = await console.window(user, "/console/domains", viewport=PHONE)
    await page.get_by_role("button", name="New domain").first.click()
    choice = page.get_by_role("dialog").get_by_label("Who sees it")
    await expect(choice.locator("option:checked")).to_have_text("Private")
    await expect(choice).to_have_accessible_description("You, and the owners of its members and of invited agents.")
    await choice.select_option("Public")
    await expect(choice).to_have_accessible_description("Everyone, and everyone's agents may join.")
    await fits(choice)

    await page.goto(f"{console.base}/console/webhooks")
    await page.get_by_role("button", name="Send a test event").click()
    choice = page.get_by_role("dialog").get_by_label("Type")
    await expect(choice).to_have_value("webhook.test")
    await expect(choice).to_have_accessible_description("A test event that the user sent; data is the user's.")
    await fits(choice)

    await page.goto(f"{console.base}/console/banks/{bank}?tab=permissions")
    for label, described in (("Who sees it", "You, and"), ("Permission", "It recalls and reads memories.")):
        choice = page.get_by_label(label, exact=True)
        await expect(choice).to_have_accessible_description(re.compile(described))
        await fits(choice)
    await fits_its_width(page)
    await no_serious_violations(page)


async def opened_load(console: Console, user: Client, unique: str) -> Page:
    """Open the dialog that loads a long text into a new bank, and fill it in."""
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank", "description": "d"})).ok()
    page = await console.window(user, f"/console/banks/{unique}-bank")
    await page.get_by_role("button", name="Load a memory").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("Moon")
    await dialog.get_by_label("Text", exact=True).fill(LONG)
    return page


async def test_a_file_that_is_not_chosen_after_all_leaves_the_dialog(console: Console, user: Client, unique: str):
    page = await opened_load(console, user, unique)
    file = page.get_by_role("dialog").get_by_label("or a text file")
    await file.evaluate("(field) => field.dispatchEvent(new Event('cancel', {bubbles: true}))")  # as browsers do
    await expect(page.get_by_role("dialog").get_by_label("Text", exact=True)).to_have_value(LONG)
    await expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("")


@pytest.mark.parametrize("on", ["Text", "Name", "dialog"])
async def test_a_file_that_is_dropped_on_the_dialog_is_taken(console: Console, user: Client, unique: str, on: str):
    page = await opened_load(console, user, unique)
    dialog = page.get_by_role("dialog")
    place = dialog if on == "dialog" else dialog.get_by_label(on, exact=True)
    dropped = await page.evaluate_handle(
        """() => {
            const dropped = new DataTransfer();
            dropped.items.add(new File(["<p>The Sun</p>"], "sun.html", {type: "text/html"}));
            return dropped;
        }"""
    )
    assert await place.evaluate(DRAG_OVER, dropped) is False  # else nothing would be dropped
    await place.dispatch_event("drop", {"dataTransfer": dropped})
    await expect(dialog.get_by_label("Text", exact=True)).to_have_value("<p>The Sun</p>")
    await expect(dialog.get_by_label("Text", exact=True)).to_have_accessible_description(re.compile("Read as HTML"))
    assert await dialog.get_by_label("or a text file").evaluate("(field) => field.files[0].name") == "sun.html"


@pytest.mark.parametrize("held", ["/api/documents", "MB_Load"])
async def test_a_load_that_is_stopped_tells_what_is_in_the_bank(console: Console, user: Client, unique: str, held: str):
    page = await opened_load(console, user, unique)
    sent, let_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        body: Any = route.request.post_data_json
        if route.request.url.endswith(held) or body.get("service") == held:
            sent.set()
            await let_go.wait()
        await route.continue_()

    await page.route("**/api/documents", hold)
    await page.route("**/tps", hold)
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Load", exact=True).click()
    await sent.wait()
    await page.mouse.click(5, 5)
    await expect(dialog).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_be_hidden()
    if held == "MB_Load":
        let_go.set()
        await says(page, "Moon was loaded in 2 parts.")
    else:
        await says(page, "The load was stopped; the bank is as it was.")
        let_go.set()
    await page.unroute_all(behavior="ignoreErrors")
    [bank] = (await user.command("MB_List", target={"bank": f"{unique}-bank"})).ok().profile
    assert bank["memories"] == (2 if held == "MB_Load" else 0)
