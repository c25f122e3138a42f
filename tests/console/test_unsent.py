"""What was written in the console and not yet sent: a reload loses none of it unasked."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.async_api import Browser, Error, Locator, Page, Route, expect

from tests.support.console import Console, console_of
from tests.support.console_acts import SCRIPTED, messages, say
from tests.support.gateway import Client, running


@pytest.fixture(scope="module")
async def user_and_console(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Client, Console]]:
    """A user with the agent `scout` in the domain `hall`, at a gateway whose agents say and wait as they are told."""
    data = tmp_path_factory.mktemp("unsent") / "data"
    async with running(data, script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("writer")
        await user.agent("scout")
        (await user.command("DM_Create", target={"agent": "scout"}, vx={"name": "hall", "description": "A hall"})).ok()
        async with console_of(browser, gateway) as console:
            yield user, console


def stored(page: Page) -> Locator:
    """Return the times of the messages that the page knows to be stored."""
    return messages(page).locator("time")


async def test_a_draft_outlives_the_correction_of_its_link(user_and_console: tuple[Client, Console], unique: str):
    user, console = user_and_console
    made = (await user.command("CV_Create", target={"agent": "scout"}, vx={"name": "Its own"})).ok().profile[0]
    await user.agent(f"{unique}-other")
    page = await console.window(user)
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        """Hold what tells whose conversation it is."""
        if re.search("CV_(List|Read)", route.request.post_data or ""):
            asked.set()
            await let_go.wait()
        await route.continue_()

    await page.route("**/tps", hold)
    await page.goto(f"{console.base}/console/chat/{unique}-other/{made['id']}")
    await asked.wait()
    field = page.get_by_role("textbox", name="Message to")
    await field.fill("say:early")
    let_go.set()
    await expect(page).to_have_url(f"{console.base}/console/chat/scout/{made['id']}")
    await expect(page.get_by_role("textbox", name="Message to scout")).to_have_value("say:early")


async def asks_before_a_reload(page: Page) -> None:
    """Load the page anew as its user would, and stay because the browser asks."""
    async with page.expect_event("dialog") as asked:
        await page.evaluate("setTimeout(() => location.reload())")
    dialog = await asked.value
    assert dialog.type == "beforeunload"
    await dialog.dismiss()


@pytest.mark.parametrize("place", ["chat/scout", "zones/hall/lobby"])
async def test_a_draft_outlives_a_reload_until_it_is_sent(user_and_console: tuple[Client, Console], place: str):
    user, console = user_and_console
    page = await console.window(user, f"/console/{place}")
    field = page.get_by_role("textbox", name="Message to")
    await field.fill("say:drafted")
    await page.reload()
    await expect(field).to_have_value("say:drafted")
    await field.press("Enter")
    await expect(messages(page).first).to_contain_text("say:drafted")
    await expect(stored(page).first).to_be_visible()
    await page.reload()
    await expect(messages(page).first).to_contain_text("say:drafted")
    await expect(field).to_have_value("")


async def test_a_chat_asks_before_messages_that_wait_are_lost(
    user_and_console: tuple[Client, Console], unique: str, tmp_path: Path
):
    user, console = user_and_console
    made = (await user.command("CV_Create", target={"agent": "scout"}, vx={"name": unique})).ok().profile[0]
    page = await console.window(user, f"/console/chat/scout/{made['id']}")
    await say(page, f"say:first wait:{tmp_path}/gate")
    await say(page, "say:second")
    await expect(messages(page).nth(1)).to_contain_text("first")
    await asks_before_a_reload(page)
    (tmp_path / "gate").touch()
    await expect(messages(page).nth(3)).to_contain_text("second")
    await page.reload()  # would not end if the browser still asked
    await expect(messages(page)).to_have_count(4)


async def test_a_chat_asks_before_a_message_that_reached_no_gateway_is_lost(
    user_and_console: tuple[Client, Console], unique: str
):
    user, console = user_and_console
    made = (await user.command("CV_Create", target={"agent": "scout"}, vx={"name": unique})).ok().profile[0]
    page = await console.window(user, f"/console/chat/scout/{made['id']}")
    tries, again = list[str](), asyncio.Event()

    async def lose_chats(route: Route) -> None:
        if "AP_Chat" not in (route.request.post_data or ""):
            return await route.continue_()
        tries.append(route.request.url)
        if len(tries) > 1:
            again.set()
        return await route.abort("connectionrefused")

    await page.route("**/tps", lose_chats)
    await say(page, "say:reached")
    await again.wait()
    await asks_before_a_reload(page)
    await page.unroute_all(behavior="wait")
    await expect(stored(page)).to_have_count(2)
    await page.reload()  # would not end if the browser still asked
    await expect(stored(page)).to_have_count(2)


async def test_a_chat_asks_before_a_message_that_failed_is_lost(user_and_console: tuple[Client, Console], unique: str):
    user, console = user_and_console
    made = (await user.command("CV_Create", target={"agent": "scout"}, vx={"name": unique})).ok().profile[0]
    page = await console.window(user, f"/console/chat/scout/{made['id']}")
    (await user.command("AP_LogOff", target={"agent": "scout"})).ok()
    try:
        await say(page, "say:refused")
        await expect(page.get_by_role("alert")).to_contain_text("offline")
        await asks_before_a_reload(page)
        await page.get_by_role("button", name="Dismiss").click()
        await page.reload()
        await expect(page.get_by_text("Say something to scout")).to_be_visible()
    finally:
        (await user.command("AP_LogOn", target={"agent": "scout"})).ok()


async def test_a_zone_asks_before_posts_that_wait_are_lost(user_and_console: tuple[Client, Console], unique: str):
    user, console = user_and_console
    (await user.command("ZN_Create", target={"domain": "hall"}, vx={"name": unique})).ok()
    page = await console.window(user, f"/console/zones/hall/{unique}")
    let_go = asyncio.Event()

    async def hold_posts(route: Route) -> None:
        if "ZN_Post" in (route.request.post_data or ""):
            await let_go.wait()
        await route.continue_()

    await page.route("**/tps", hold_posts)
    await say(page, "one")
    await say(page, "two")
    await asks_before_a_reload(page)
    let_go.set()
    await expect(stored(page)).to_have_count(2)
    await page.unroute_all(behavior="wait")  # an answer may be on its way to the page
    await page.reload()  # would not end if the browser still asked
    await expect(stored(page)).to_have_count(2)


async def test_a_post_is_shown_once_and_nothing_is_asked_where_only_the_reply_failed(
    user_and_console: tuple[Client, Console], unique: str, tmp_path: Path
):
    user, console = user_and_console
    (await user.command("ZN_Create", target={"domain": "hall"}, vx={"name": unique})).ok()
    page = await console.window(user, f"/console/zones/hall/{unique}?reply=scout")
    await say(page, f"wait:{tmp_path}/gate fail")
    await expect(stored(page)).to_have_count(1)
    (tmp_path / "gate").touch()
    await expect(page.get_by_role("alert")).to_contain_text("engine failed")
    await expect(messages(page)).to_have_count(1)
    await page.reload()  # would not end if the browser asked
    await expect(stored(page)).to_have_count(1)


async def test_posts_that_failed_wait_in_their_zone_for_the_user_to_come_back(
    user_and_console: tuple[Client, Console], unique: str
):
    user, console = user_and_console
    hall, leaver = {"domain": "hall"}, f"{unique}-leaver"
    for zone in (unique, f"{unique}-other"):
        (await user.command("ZN_Create", target=hall, vx={"name": zone})).ok()
    await user.agent(leaver, select=False)

    async def join() -> None:
        for service in ("DM_Invite", "DM_Join"):
            (await user.command(service, target=hall | {"agent": leaver})).ok()

    await join()
    page = await console.window(user, f"/console/zones/hall/{unique}?reply={leaver}")
    (await user.command("DM_Leave", target=hall | {"agent": leaver})).ok()  # so that what it is asked is refused
    arrived, let_go = asyncio.Event(), asyncio.Event()

    async def hold_the_second(route: Route) -> None:
        if "say:two" in (route.request.post_data or ""):
            arrived.set()
            await let_go.wait()
        with suppress(Error):  # the page gave it up
            await route.continue_()

    async def go(zone: str) -> None:
        await page.get_by_role("navigation", name="Zones").get_by_role("link", name=f"# {zone}", exact=True).click()
        await expect(page.get_by_role("heading", name=f"# {zone}", exact=True)).to_be_visible()

    await page.route("**/tps", hold_the_second)
    failures = page.get_by_role("alert").filter(has=page.get_by_role("button", name="Try again"))
    await say(page, "say:one")
    await expect(failures).to_have_count(1)
    await say(page, "say:two")
    await arrived.wait()
    await go(f"{unique}-other")
    await expect(failures).to_have_count(0)
    await asks_before_a_reload(page)
    let_go.set()
    await go(unique)
    await expect(failures).to_have_count(2)
    await expect(messages(page)).to_have_text([re.compile("say:one"), re.compile("say:two")])
    await page.unroute_all(behavior="wait")
    await join()
    for text in ("say:one", "say:two"):
        await failures.first.get_by_role("button", name="Try again").click()
        await expect(messages(page).filter(has_text=text).locator("time")).to_be_visible()
    await expect(failures).to_have_count(0)
    await page.reload()  # would not end if the browser still asked
    await expect(stored(page)).to_have_count(4)


@pytest.mark.parametrize("kind", ["chat", "zone"])
async def test_a_failed_message_is_edited_before_the_one_that_is_being_written(
    user_and_console: tuple[Client, Console], unique: str, kind: str
):
    user, console = user_and_console
    if kind == "chat":
        made = (await user.command("CV_Create", target={"agent": "scout"}, vx={"name": unique})).ok().profile[0]
        path = f"/console/chat/scout/{made['id']}"
    else:
        (await user.command("ZN_Create", target={"domain": "hall"}, vx={"name": unique})).ok()
        path = f"/console/zones/hall/{unique}?reply=scout"
    page = await console.window(user, path)
    field = page.get_by_role("textbox", name="Message to")
    await say(page, "fail")
    await expect(page.get_by_role("alert")).to_contain_text("engine failed")
    await field.fill("A draft")
    await page.get_by_role("button", name="Edit the message").click()
    await expect(field).to_have_value("fail\nA draft")
    await expect(field).to_be_focused()
    await page.reload()
    await expect(field).to_have_value("fail\nA draft")
    await field.fill("")
