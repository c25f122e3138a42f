"""Where the focus goes when what has it is removed: to the nearest region around it, at last to the page."""

from playwright.async_api import Locator, Page, expect

from tests.support.console import Console, log_on
from tests.support.console_acts import confirm, messages, say, says
from tests.support.gateway import Client


async def act(control: Locator) -> None:
    """Use a link or button by keyboard."""
    await control.focus()
    await control.press("Enter")


async def begins_at_the_page(page: Page, heading: str) -> None:
    """Wait for a page, and for the focus on it."""
    await expect(page.get_by_role("heading", name=heading, level=1, exact=True)).to_be_visible()
    await expect(page.get_by_role("main")).to_be_focused()


async def test_a_page_gets_the_focus_after_the_log_on_but_not_when_it_is_opened(console: Console, user: Client):
    page = await console.window(path="/console/agents")
    await log_on(page, user.name)
    await begins_at_the_page(page, "Agents")
    await page.reload()
    await expect(page.get_by_role("heading", name="Agents", level=1)).to_be_visible()
    assert await page.evaluate("document.activeElement === document.body")


async def test_a_record_that_is_opened_made_or_destroyed_leaves_the_focus_on_the_page(
    console: Console, user: Client, unique: str
):
    agent, made, domain, bank = (f"{unique}-{kind}" for kind in ("agent", "made", "domain", "bank"))
    await user.agent(agent)
    (await user.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    (await user.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
    page = await console.window(user)
    for path, name in (("agents", agent), ("domains", domain), ("banks", bank)):
        await page.goto(f"{console.base}/console/{path}")
        await act(page.get_by_role("main").get_by_role("link", name=name, exact=True))
        await begins_at_the_page(page, name)
    await page.goto(f"{console.base}/console/zones")
    await act(page.get_by_role("link", name=domain))
    await begins_at_the_page(page, "# lobby")

    await page.goto(f"{console.base}/console/agents")
    await act(page.get_by_role("button", name="New agent"))
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill(made)
    await dialog.get_by_label("Description").fill("d")
    await act(dialog.get_by_role("button", name="Create"))
    await begins_at_the_page(page, made)
    await act(page.get_by_role("button", name="Destroy"))
    await dialog.get_by_label(f"Type {made} to confirm").fill(made)
    await page.keyboard.press("Enter")
    await says(page, f"{made} was destroyed.")
    await begins_at_the_page(page, "Agents")


async def test_the_focus_stays_in_a_chat_whose_buttons_go_away(console: Console, user: Client, unique: str):
    agent = f"{unique}-agent"
    await user.agent(agent, online=False)
    page = await console.window(user, f"/console/chat/{agent}")
    field = page.get_by_role("textbox", name="Message to")
    for text, button in (("one", "Edit the message"), ("two", "Dismiss")):
        await field.fill("")
        await say(page, text)
        await expect(page.get_by_role("alert")).to_contain_text("offline")
        await act(page.get_by_role("button", name=button))
        await expect(messages(page)).to_have_count(0)
        await expect(
            field if button == "Edit the message" else page.get_by_role("log", name="Messages")
        ).to_be_focused()
    await act(page.get_by_role("button", name="Bring it online"))
    await expect(page.get_by_role("button", name="Bring it online")).to_have_count(0)
    await expect(page.get_by_role("main")).to_be_focused()


async def test_the_last_key_and_the_last_mark_leave_the_focus_on_the_page(console: Console, auditor: Client):
    assert (await auditor.request("POST", "/api/api-keys", json={"name": "only"})).http == 201
    page = await console.window(auditor, "/console/keys")
    await act(page.get_by_role("button", name="Revoke: only"))
    await confirm(page, "Revoke")
    await expect(page.get_by_text("No keys yet")).to_be_visible()
    await expect(page.get_by_role("main")).to_be_focused()

    await page.goto(f"{console.base}/console/live")
    await act(page.get_by_role("button", name="Mark", exact=True))
    await page.get_by_role("dialog").get_by_role("textbox").fill("begun")
    await page.keyboard.press("Enter")
    await act(page.get_by_role("button", name="Clear mark"))
    await expect(page.get_by_role("button", name="Clear mark")).to_have_count(0)
    await expect(page.get_by_role("main")).to_be_focused()


async def test_a_row_that_is_sorted_anew_keeps_the_focus(console: Console, auditor: Client, user: Client, unique: str):
    for name in ("a", "b", "c"):
        await user.agent(f"{unique}-{name}")
    for name in ("a", "a", "a", "b", "b"):
        (await user.command("AP_Chat", target={"agent": f"{unique}-{name}"}, content="Hello")).ok()
    page = await console.window(auditor, f"/console/actors?kind=agent&name={unique}&sort=-handled")
    first = page.get_by_role("table", name="Live actors").get_by_role("row").nth(1)
    await expect(first).to_contain_text(f"{unique}-a")
    link = page.get_by_role("link", name=f"{unique}-c")
    await link.focus()
    for _ in range(9):
        (await user.command("AP_Chat", target={"agent": f"{unique}-c"}, content="Hello")).ok()
    await expect(first).to_contain_text(f"{unique}-c")
    await expect(link).to_be_focused()


async def test_a_dialog_whose_form_is_replaced_keeps_the_focus(console: Console, user: Client):
    page = await console.window(user, "/console/webhooks")
    await page.get_by_role("button", name="New endpoint").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("URL").fill("https://receiver.example/")
    await act(dialog.get_by_role("button", name="Create"))
    await expect(dialog.locator("code")).to_contain_text("whsec_")
    assert await page.evaluate("document.activeElement.closest('dialog') !== null")
