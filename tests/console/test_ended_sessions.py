"""A form that is open when the session ends: its user finds it again after the next log-on, nobody else does."""

import asyncio

from playwright.async_api import Page, Route, expect

from tests.support.console import Console, log_on, no_serious_violations
from tests.support.console_acts import confirm, says
from tests.support.gateway import PASSWORD, Client

PROFILE = "It knows the planets, and where each of them is tonight."


ASK = """async () => {
    const {command} = await import(document.querySelector("script[type=module]").src.replace("app.js", "lib/api.js"));
    return command("AP_List").then(() => 0, ({code}) => code);
}"""
"""Reads the agents as a page does; returns the code of the refusal."""


async def revoke(user: Client) -> None:
    """End the session of the user's window."""
    *_, newest = sorted((await user.command("US_Sessions")).ok().profile, key=lambda session: session["created_at"])
    (await user.command("US_Revoke", vx={"name": newest["id"]})).ok()


async def is_logged_off(page: Page) -> None:
    await expect(page.get_by_role("heading", name="Log on to Parley")).to_be_visible()


async def log_on_again(page: Page, name: str) -> None:
    """Log on in the form that is seen."""
    await page.get_by_label("Name", exact=True).filter(visible=True).fill(name)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log on", exact=True).click()
    await expect(page.get_by_role("button", name=f"User {name}", exact=True)).to_be_visible()


async def half_changed(console: Console, user: Client, agent: str) -> Page:
    """Begin a change of an agent."""
    await user.agent(agent, access="public")
    page = await console.window(user, f"/console/agents/{agent}")
    await page.get_by_role("button", name="Change").click()
    await page.get_by_role("dialog").get_by_label("Profile").fill(PROFILE)
    return page


async def test_a_form_that_was_open_at_the_end_of_a_session_is_there_after_the_next_log_on(
    console: Console, user: Client, unique: str
):
    agent = f"{unique}-agent"
    page = await half_changed(console, user, agent)
    title = await page.title()
    await revoke(user)
    await is_logged_off(page)
    await expect(page.get_by_text("Log on again to go on where you were.")).to_be_visible()
    await expect(page.get_by_text(agent).filter(visible=True)).to_have_count(0)
    await expect(page.get_by_label("Name", exact=True).filter(visible=True)).to_be_focused()
    await page.keyboard.press("Escape")
    await no_serious_violations(page)
    await log_on_again(page, user.name)
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Profile")).to_have_value(PROFILE)
    await expect(page).to_have_title(title)
    await confirm(page, "Save")
    await says(page, "Saved.")
    assert (await user.command("AP_Read", target={"agent": agent})).ok().profile[0]["profile"] == PROFILE


async def test_another_user_who_logs_on_sees_nothing_of_the_form(
    console: Console, user: Client, nobody: Client, unique: str
):
    other = await nobody.register(f"{unique}-other")
    page = await half_changed(console, user, f"{unique}-agent")
    await revoke(user)
    await is_logged_off(page)
    await log_on_again(page, other.name)
    await expect(page.get_by_role("heading", name=f"{unique}-agent")).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("button", name="Change")).to_have_count(0)
    assert PROFILE not in await page.evaluate("[...document.querySelectorAll('textarea')].map(({value}) => value)")


async def test_a_page_that_is_gone_to_from_the_log_on_form_is_loaded_after_it(console: Console, user: Client):
    page = await console.window(user, "/console/keys")
    await page.get_by_role("navigation", name="Console").get_by_role("link", name="Webhooks").click()
    await page.get_by_role("button", name="New endpoint").first.click()
    await revoke(user)
    await is_logged_off(page)
    await page.go_back()
    await log_on(page, user.name)
    await expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_a_log_off_in_another_window_leaves_no_form(console: Console, user: Client, unique: str):
    page = await half_changed(console, user, f"{unique}-agent")
    other = await page.context.new_page()
    await other.goto(f"{console.base}/console")
    await other.get_by_role("button", name=f"User {user.name}", exact=True).click()
    await other.get_by_role("menuitem", name="Log off").click()
    await is_logged_off(page)
    await expect(page.get_by_role("textbox", name="Profile", include_hidden=True)).to_have_count(0)
    assert f"{unique}-agent" not in await page.locator("#app").inner_html()
    await log_on(page, user.name)
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_page_that_was_kept_with_its_form_follows_changes_and_asks_nothing_meanwhile(
    console: Console, user: Client, unique: str
):
    bank = f"{unique}-bank"
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
    page = await console.window(user, f"/console/banks/{bank}")
    await page.get_by_role("button", name="Load a memory").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Text", exact=True).fill("The Moon is far away.")
    await revoke(user)
    await is_logged_off(page)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    assert await page.evaluate(ASK) == 2001
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "Sun"}, content="The Sun is a star.")).ok()
    await log_on_again(page, user.name)
    await expect(page.get_by_text("The Sun is a star.")).to_be_attached()
    assert asked[0].endswith("/console/session")  # nothing before the log-on
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "Mars"}, content="Mars is red.")).ok()
    await expect(page.get_by_text("Mars is red.")).to_be_attached()
    await dialog.get_by_label("Name", exact=True).fill("Moon")
    await dialog.get_by_role("button", name="Load", exact=True).click()
    await says(page, "Moon was loaded.")


async def test_the_live_page_goes_on_with_its_form(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live")
    await expect(page.get_by_text("Live", exact=True).last).to_be_visible()
    await page.get_by_role("button", name="Mark", exact=True).click()
    await revoke(auditor)
    await is_logged_off(page)
    async with page.expect_response("**/debug/stream") as followed:
        await log_on_again(page, auditor.name)
    assert (await followed.value).status == 200
    await expect(page.get_by_role("dialog")).to_be_visible()


async def test_a_late_refusal_of_the_last_session_does_not_end_the_next_one(console: Console, user: Client):
    page = await console.window(user, "/console/agents")
    await page.clock.install()
    asked, ended, refused, begun = (asyncio.Event() for _ in range(4))

    async def refuse_late(route: Route) -> None:
        if asked.is_set() or "late" not in (route.request.post_data or ""):
            return await route.continue_()
        asked.set()
        await ended.wait()
        answer = await route.fetch()
        refused.set()
        await begun.wait()
        return await route.fulfill(response=answer)

    await page.route("**/tps", refuse_late)
    await page.get_by_label("Agents of another user").fill("late")
    await page.keyboard.press("Enter")
    await asked.wait()
    await revoke(user)
    await is_logged_off(page)
    ended.set()
    await refused.wait()
    await log_on(page, user.name)
    main = await page.get_by_role("main").element_handle()
    async with page.expect_response(lambda response: response.status == 401) as late:
        begun.set()
    await (await late.value).finished()
    for _ in range(2):  # the page has taken the refusal, and then the time in which it asks for the reason
        await page.evaluate("fetch('/console/session').then((answer) => answer.json())")
        await page.clock.fast_forward(1_000)
    assert await main.evaluate("(main) => main.isConnected")
