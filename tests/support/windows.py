"""Windows of a browser that tests use one after another."""

from typing import Any

from playwright.async_api import Browser, Error, Page, ViewportSize

DESKTOP: ViewportSize = {"width": 1280, "height": 720}


class Windows:
    """Windows of one gateway's console, each with cookies of its own, that a test takes and gives back.

    A page that is loaded again has its files in the cache and its process running, so it costs a third of the first.
    A window that is given back has no cookie, nothing stored and no other page. It still shows its page, so that the
    next test's has the files of that at hand.
    """

    def __init__(self, browser: Browser, base: str) -> None:
        self._browser = browser
        self._base = base
        self._idle: list[Page] = []

    async def take(self, *, viewport: ViewportSize = DESKTOP, color_scheme: Any = "light") -> Page:
        """Return a window of this size and scheme that nobody uses."""
        if not self._idle:
            opened = await self._browser.new_context(viewport=viewport, color_scheme=color_scheme)
            return await opened.new_page()
        page = self._idle.pop()
        if page.viewport_size != viewport:
            await page.set_viewport_size(viewport)
        await page.emulate_media(color_scheme=color_scheme)
        return page

    async def give_back(self, page: Page) -> None:
        """Empty a window for the next test; one that can't be emptied is closed."""
        try:
            for other in page.context.pages:
                if other is not page:
                    await other.close()
            await page.unroute_all(behavior="ignoreErrors")
            await page.context.clear_cookies()
            await page.evaluate("localStorage.clear(), sessionStorage.clear()")
            await page.mouse.move(0, 0)
        except Error:
            await page.context.close()
        else:
            self._idle.append(page)

    async def close(self) -> None:
        """Close the windows that nobody uses."""
        while self._idle:
            await self._idle.pop().context.close()
