"""What tests of several console pages do: answer dialogs, wait for what a page says."""

from playwright.async_api import Locator, Page, expect

from tests.support.gateway import CHECKOUT

SCRIPTED = CHECKOUT / "tests" / "gateways" / "scripted.py"
"""A gateway whose agents say and wait as they are told."""

LINES = "line one\nline two\r\nline three"
"""A description of some lines, as programs of two kinds break them."""


def messages(page: Page) -> Locator:
    """Return the messages of a chat or zone."""
    return page.get_by_role("log", name="Messages").get_by_role("article")


async def say(page: Page, text: str) -> None:
    """Send a message in a chat or zone."""
    await page.get_by_role("textbox", name="Message to").fill(text)
    await page.keyboard.press("Enter")


async def confirm(page: Page, button: str, *, typed: str | None = None) -> None:
    """Answer the question that an act asks, typing a name first where it wants one."""
    dialog = page.get_by_role("dialog")
    if typed is not None:
        await dialog.get_by_label(f"Type {typed} to confirm").fill(typed)
    await dialog.get_by_role("button", name=button, exact=True).click()
    await expect(dialog).to_be_hidden()


async def choose_who_sees_it(page: Page, access: str) -> None:
    """Change nothing but the access of an agent, a domain or a bank on its page."""
    await page.get_by_role("button", name="Change", exact=True).click()
    await page.get_by_role("dialog").get_by_label("Who sees it").select_option(access)
    await confirm(page, "Save")


async def cancel(page: Page) -> None:
    """Close the form of a dialog by its own button."""
    await page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).click()
    await expect(page.get_by_role("dialog")).to_be_hidden()


async def says(page: Page, text: str) -> None:
    """Wait until the page's live region says what happened."""
    await expect(page.locator(".toasts")).to_contain_text(text)
