"""What tests of several console pages do: answer dialogs, wait for what a page says."""

from playwright.async_api import Page, expect


async def confirm(page: Page, button: str, *, typed: str | None = None) -> None:
    """Answer the question that an act asks, typing a name first where it wants one."""
    dialog = page.get_by_role("dialog")
    if typed is not None:
        await dialog.get_by_label(f"Type {typed} to confirm").fill(typed)
    await dialog.get_by_role("button", name=button, exact=True).click()
    await expect(dialog).to_be_hidden()


async def says(page: Page, text: str) -> None:
    """Wait until the page's live region says what happened."""
    await expect(page.locator(".toasts")).to_contain_text(text)
