"""The console in windows of a real Chromium, each of which fails its test on what a page must not do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, ViewportSize, WebError, expect

from tests.support.gateway import PASSWORD, Client, GatewayProcess
from tests.support.npm import installed
from tests.support.windows import Windows

WAIT_MS = 45_000
"""Time for what a page shows; it only ends a test that hangs."""

PHONE: ViewportSize = {"width": 360, "height": 740}

AXE = Path(__file__).resolve().parents[1] / "console" / "axe"
RUN_AXE = """async () => {
    const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(transitions.map((transition) => transition.finished));
    return axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}});
}"""
_REFUSED = "Failed to load resource"
"""Chromium's line for each answer of 400 and above, and each request that a cut connection ends."""

expect.set_options(timeout=WAIT_MS)


class Console:
    """Opens windows of a gateway's console. `faults` tells what their pages did that no page may do.

    With `windows`, those of a user are taken from there; all others are new, with an empty cache.
    """

    def __init__(
        self, browser: Browser, gateway: GatewayProcess | Client, base: str = "", windows: Windows | None = None
    ) -> None:
        self._browser = browser
        self._windows = windows
        self._contexts: list[BrowserContext] = []
        self._taken: list[Page] = []
        self.base = base or gateway.base
        """The address that browsers use: the gateway's, or that of a link to it."""
        self.faults: list[str] = []

    async def window(self, user: Client | str | None = None, path: str = "/console", **context: Any) -> Page:
        """Open a path in a window with cookies of its own, logged on if a user is given.

        Args:
            user: a client that is registered, or a name with the password of all tests' users.
            path: the path with its query.
            context: of Playwright's `new_context`: `color_scheme`, `viewport`, ...
        """
        page = await self._page(user is not None, context)
        page.set_default_timeout(WAIT_MS)
        opened = page.context
        opened.on("request", self._see_request)
        opened.on("console", self._see_line)
        opened.on("weberror", self._see_error)
        if user is None:
            await page.goto(self.base + path)
            return page
        name = user if isinstance(user, str) else user.name
        await self._log_on(opened, name)
        loaded = asyncio.Event()  # before that, the page of another test may begin to watch
        page.once("domcontentloaded", lambda _: loaded.set())
        async with page.expect_response(  # from then on the page hears of changes
            lambda answer: loaded.is_set() and urlsplit(answer.url).path == "/console/watch"
        ):
            await page.goto(self.base + path)
        await expect(page.get_by_role("button", name=f"User {name}", exact=True)).to_be_visible()
        return page

    async def _page(self, for_user: bool, context: dict[str, Any]) -> Page:
        if self._windows is not None and for_user and context.keys() <= {"viewport", "color_scheme"}:
            page = await self._windows.take(**context)
            self._taken.append(page)
            return page
        opened = await self._browser.new_context(**context)
        self._contexts.append(opened)
        return await opened.new_page()

    async def _log_on(self, opened: BrowserContext, name: str) -> None:
        """Begin a session as the log-on form does, and give a window its cookie."""
        async with (
            aiohttp.ClientSession(self.base) as http,
            http.post("/console/session", json={"name": name, "password": PASSWORD}) as answer,
        ):
            assert answer.status == 200, await answer.text()
            ((cookie, morsel),) = SimpleCookie(answer.headers["Set-Cookie"]).items()
        assert (morsel["httponly"], morsel["samesite"]) == (True, "Strict")
        await opened.add_cookies(
            [{"name": cookie, "value": morsel.value, "url": self.base, "httpOnly": True, "sameSite": "Strict"}]
        )

    def _see_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.base}/", "data:", "blob:")):
            self.faults.append(f"a request to {urlsplit(request.url).netloc}: {request.url}")

    def _see_line(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_REFUSED):
            self.faults.append(f"console: {message.text}")

    def _see_error(self, error: WebError) -> None:
        self.faults.append(f"page error: {error.error}")

    async def close(self) -> None:
        """Close all windows, or give them back.

        Raises:
            AssertionError: a page did what no page may do.
        """
        for opened in self._contexts:
            await opened.close()
        for page in self._taken:
            assert self._windows is not None
            for event, see in (
                ("request", self._see_request),
                ("console", self._see_line),
                ("weberror", self._see_error),
            ):
                page.context.remove_listener(event, see)
            await self._windows.give_back(page)
        assert not self.faults, "\n".join(self.faults)


@asynccontextmanager
async def console_of(
    browser: Browser, gateway: GatewayProcess | Client, base: str = "", windows: Windows | None = None
) -> AsyncIterator[Console]:
    """Open windows of a gateway, or of a client's node; at the end they are closed and what they did is checked."""
    console = Console(browser, gateway, base, windows)
    try:
        yield console
    finally:
        await console.close()


async def log_on(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill in the log-on form and wait for the page behind it."""
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Log on", exact=True).click()
    await expect(page.get_by_role("button", name=f"User {name}", exact=True)).to_be_visible()


async def no_serious_violations(page: Page) -> None:
    """Assert that axe-core finds nothing serious or critical in a page as it stands once its transitions have ended.

    It is evaluated from outside, where the page's Content-Security-Policy doesn't hold.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate((installed(AXE) / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    found = await page.evaluate(RUN_AXE)
    serious = [
        f"{violation['id']}: {violation['help']}: {[node['html'][:200] for node in violation['nodes'][:5]]}"
        for violation in found["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert not serious, "\n".join(serious)


async def fits_its_width(page: Page) -> None:
    """Assert that a page doesn't scroll sideways."""
    width, shown = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= shown, f"the page is {width} px wide, its window {shown} px"


async def scroll_to_the_beginning(page: Page) -> None:
    """Scroll up in a list of messages, which loads older ones, until its first one is there."""
    log, beginning = page.get_by_role("log", name="Messages"), page.get_by_text("This is the beginning.")
    for _ in range(WAIT_MS // 100):
        await log.evaluate("(log) => { log.scrollTop = 0; }")
        if await beginning.is_visible():
            return
        await page.wait_for_timeout(100)
    raise AssertionError("the beginning of the messages was not reached")
