"""The frame of the console: log-on and log-off, navigation, lost connections, themes, keyboard, phones."""

import asyncio
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.support.console import PHONE, Console, console_of, fits_its_width, log_on, no_serious_violations
from tests.support.flaky_proxy import flaky
from tests.support.gateway import PASSWORD, SERVER, Client, GatewayProcess, running
from tests.support.operator import set_plan
from tests.support.relay import linked

FORM = "Log on to Parley"


async def fill_in(page: Page, name: str, password: str) -> None:
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Log on", exact=True).click()


async def is_logged_off(page: Page) -> None:
    await expect(page.get_by_role("heading", name=FORM)).to_be_visible()


async def test_a_user_logs_on_sees_its_quota_and_logs_off(console: Console, user: Client):
    await set_plan(user, user.name, "builder")
    await user.agent("home-agent-" + user.name, online=False, select=False)
    page = await console.window()
    await fill_in(page, user.name, "not the password")
    await expect(page.get_by_role("alert")).to_contain_text("wrong")
    await expect(page.get_by_label("Password", exact=True)).to_be_focused()
    await no_serious_violations(page)

    await log_on(page, user.name)
    await expect(page.get_by_role("heading", name=f"Welcome, {user.name}")).to_be_visible()
    await expect(page.get_by_text("2 of 10,000 used on plan builder")).to_be_visible()
    await expect(page.get_by_role("img", name="% of today's quota is used")).to_be_visible()
    await expect(page.get_by_role("region", name="Your workspace").get_by_role("listitem").first).to_have_text(
        "1Agents"
    )
    await page.get_by_role("button", name="Refresh").click()
    await expect(page.get_by_text("3 of 10,000 used on plan builder")).to_be_visible()
    await no_serious_violations(page)

    await page.get_by_role("button", name=f"User {user.name}").click()
    await page.get_by_role("menuitem", name="Log off").click()
    await is_logged_off(page)
    await page.reload()
    await is_logged_off(page)
    assert await page.context.cookies() == []


async def test_a_new_user_registers_and_is_logged_on(console: Console, user: Client, unique: str):
    page = await console.window()
    await page.get_by_role("button", name="Register a new user").click()
    await expect(page.get_by_role("heading", name="Register with Parley")).to_be_visible()
    await expect(page.get_by_label("Name", exact=True)).to_be_focused()
    await expect(page.get_by_label("Name", exact=True)).to_have_accessible_description(re.compile("3 to 64 letters"))
    await no_serious_violations(page)

    async def register(name: str) -> None:
        await page.get_by_label("Name", exact=True).fill(name)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Register", exact=True).click()

    await register(user.name)
    await expect(page.get_by_role("alert")).to_contain_text("taken")
    await register(f"{unique}-newcomer")
    await expect(page.get_by_role("heading", name=f"Welcome, {unique}-newcomer")).to_be_visible()


async def test_scripts_can_not_read_the_cookie_and_a_window_outlives_a_reload(console: Console, user: Client):
    page = await console.window()
    await log_on(page, user.name)
    assert await page.evaluate("document.cookie") == ""
    [cookie] = await page.context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    await page.reload()
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()


async def test_a_page_says_that_it_loads_before_its_modules_are_there(console: Console):
    page = await console.window(path="/docs", locale="en-GB")
    may_go_on = asyncio.Event()

    async def wait(route: Route) -> None:
        await may_go_on.wait()
        await route.continue_()

    await page.route("**/app/app.js", wait)
    await page.goto(f"{console.base}/console", wait_until="commit")
    loading = page.get_by_role("status")
    await expect(loading).to_have_text("Loading the console")
    box = await loading.bounding_box()
    assert box is not None
    assert box["width"] > 100
    may_go_on.set()
    await is_logged_off(page)
    await expect(page.get_by_text("Loading the console")).to_have_count(0)


async def test_a_throttled_log_on_shows_the_gateway_s_note(browser: Browser, tmp_path: Path):
    async with (
        running(tmp_path / "data", script=SERVER) as gateway,
        gateway.client() as client,
        console_of(browser, gateway) as console,
    ):
        await client.register("hasty-user")
        for _ in range(10):
            await client.command("US_LogOn", target={"user": "hasty-user"}, vx={"secret": "not the password"})
        page = await console.window()
        await fill_in(page, "hasty-user", PASSWORD)
        await expect(page.get_by_role("alert")).to_contain_text("code 4001")
        await is_logged_off(page)


async def test_a_link_is_kept_through_the_log_on(console: Console, user: Client):
    page = await console.window(path="/console/no-such-page?filter=some")
    await is_logged_off(page)
    await log_on(page, user.name)
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    await expect(page).to_have_url(f"{console.base}/console/no-such-page?filter=some")
    await page.get_by_role("link", name="Go to the home page").click()
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


async def test_a_suspended_user_s_open_page_is_logged_out_with_the_reason(
    console: Console, user: Client, operator: Client
):
    page = await console.window(user, "/console?from=here")
    assert (await operator.request("POST", f"/api/admin/users/{user.name}/suspend")).http == 200
    await is_logged_off(page)
    await expect(page.get_by_text("This user is suspended.")).to_be_visible()
    await expect(page.get_by_text("Log on again")).to_have_count(0)  # it would be refused
    await fill_in(page, user.name, PASSWORD)
    await expect(page.get_by_role("alert")).to_contain_text("code 2005")
    assert (await operator.request("POST", f"/api/admin/users/{user.name}/resume")).http == 200
    await log_on(page, user.name)
    await expect(page).to_have_url(f"{console.base}/console?from=here")


async def test_a_revoked_session_ends_its_page_but_not_another(console: Console, user: Client):
    page, other = await console.window(user), await console.window(user)
    sessions = (await user.command("US_Sessions")).ok().profile
    [*_, first, _] = sorted(sessions, key=lambda session: session["created_at"])
    (await user.command("US_Revoke", vx={"name": first["id"]})).ok()
    await is_logged_off(page)
    await expect(page.get_by_text("Your session has ended.")).to_be_visible()
    await other.get_by_role("button", name="Refresh").click()
    await expect(other.get_by_role("heading", name="Welcome")).to_be_visible()


async def test_a_lost_connection_is_told_and_its_end_too(
    browser: Browser, console_server: GatewayProcess, user: Client
):
    async with (
        linked(urlsplit(console_server.base).port or 0) as link,
        console_of(browser, console_server, f"http://127.0.0.1:{link.port}") as console,
    ):
        page = await console.window(user)
        link.cut()
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        await page.get_by_role("navigation", name="Console").get_by_role("link", name="Audit").click()
        await no_serious_violations(page)
        link.mend()
        await expect(page.get_by_role("row", name="US_LogOn").first).to_be_visible()
        await expect(page.get_by_text("Connection lost")).to_be_hidden()


async def test_what_could_not_be_loaded_is_loaded_once_the_gateway_is_reached(
    browser: Browser, console_server: GatewayProcess, user: Client, unique: str
):
    await user.agent(f"{unique}-agent")
    async with (
        linked(urlsplit(console_server.base).port or 0) as link,
        console_of(browser, console_server, f"http://127.0.0.1:{link.port}") as console,
    ):
        page = await console.window(user, "/console/agents")
        await page.get_by_role("link", name="Home", exact=True).click()
        await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        link.cut()
        await page.get_by_role("link", name="Agents", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("can't be reached")
        link.mend()
        await expect(page.get_by_role("link", name=f"{unique}-agent")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_a_proxy_without_its_gateway_is_a_lost_connection(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user)

    async def refuse(asked: Route) -> None:
        await asked.fulfill(status=502, content_type="text/html", body="<h1>502 Bad Gateway</h1>")

    await page.route("**/tps", refuse)
    await page.get_by_role("link", name="Agents", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("can't be reached")
    await page.unroute("**/tps", refuse)
    await expect(page.get_by_role("link", name=f"{unique}-agent")).to_be_visible()


async def test_an_answer_that_is_cut_off_is_a_lost_connection(
    browser: Browser, console_server: GatewayProcess, user: Client, unique: str
):
    for number in range(20):
        await user.agent(f"{unique}-{number}", online=False, select=False, profile="Knows much. " * 600)
    async with flaky(console_server.base) as proxy, console_of(browser, console_server, proxy.base) as console:
        page = await console.window(user, "/console/agents")
        await expect(page.get_by_role("link", name=f"{unique}-0")).to_be_visible()
        await page.get_by_role("link", name="Home", exact=True).click()
        await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        proxy.cuts = 1_000
        await page.get_by_role("link", name="Agents", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("can't be reached")
        proxy.cuts = 0
        await expect(page.get_by_role("link", name=f"{unique}-0")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_a_window_goes_on_after_a_restart_of_the_gateway(browser: Browser, tmp_path: Path):
    async with running(tmp_path / "data") as gateway, console_of(browser, gateway) as console:
        async with gateway.client() as client:
            await client.register("patient-user")
        page = await console.window("patient-user")
        port = urlsplit(gateway.base).port or 0
        assert await gateway.stop() == 0
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        await gateway.start(port)
        await expect(page.get_by_text("Connection lost")).to_be_hidden()
        await page.get_by_role("button", name="Refresh").click()
        await expect(page.get_by_role("region", name="Your workspace")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_windows_of_one_browser_follow_one_another(console: Console, user: Client, nobody: Client):
    first = await console.window(user)
    second = await first.context.new_page()
    await second.goto(f"{console.base}/console")
    await second.get_by_role("button", name=f"User {user.name}").click()
    await second.get_by_role("menuitem", name="Log off").click()
    await is_logged_off(first)
    other = await nobody.register(f"{user.name}-2")
    await log_on(second, other.name)
    await first.bring_to_front()
    await first.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(first.get_by_role("heading", name=f"Welcome, {other.name}")).to_be_visible()


async def test_a_new_role_shows_its_pages_at_once(console: Console, operator: Client, user: Client):
    page = await console.window(user, "/console/users")
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    path = f"/api/admin/users/{user.name}/role"
    assert (await operator.request("PUT", path, json={"role": "auditor"})).http == 200
    await expect(page.get_by_role("table", name="Users")).to_be_visible()
    assert (await operator.request("PUT", path, json={"role": "user"})).http == 200
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


async def test_the_theme_follows_the_system_until_one_is_chosen(console: Console, user: Client):
    ground = "getComputedStyle(document.body).backgroundColor"
    page = await console.window(user, color_scheme="dark")
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    dark = await page.evaluate(ground)
    await no_serious_violations(page)
    await page.get_by_role("button", name=f"User {user.name}").click()
    await no_serious_violations(page)
    await page.get_by_role("menuitemradio", name="Light").click()
    light = await page.evaluate(ground)
    assert light != dark
    await no_serious_violations(page)
    await page.reload()
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    assert await page.evaluate(ground) == light


async def test_everything_fits_a_phone(console: Console, user: Client):
    page = await console.window(path="/console", viewport=PHONE)
    await is_logged_off(page)
    await fits_its_width(page)
    await log_on(page, user.name)
    await expect(page.get_by_role("region", name="Today's quota")).to_be_visible()
    await fits_its_width(page)
    navigation = page.get_by_role("navigation", name="Console")
    await expect(navigation).to_be_hidden()
    await page.get_by_role("button", name="Navigation").click()
    await expect(navigation.get_by_role("link", name="Home")).to_be_visible()
    await no_serious_violations(page)
    await page.keyboard.press("Escape")
    await expect(navigation).to_be_hidden()
    await expect(page.get_by_role("button", name="Navigation")).to_be_focused()
    await page.goto(f"{console.base}/console/no-such-page")
    await page.get_by_role("button", name="Navigation").click()
    await navigation.get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    await expect(navigation).to_be_hidden()


async def test_the_keyboard_alone_is_enough(console: Console, user: Client):
    page = await console.window()
    await expect(page.get_by_label("Name", exact=True)).to_be_focused()
    await page.keyboard.type(user.name)
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    await expect(page.get_by_role("main")).to_be_focused()

    await page.reload()
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Refresh")).to_be_focused()

    user_button = page.get_by_role("button", name=f"User {user.name}")
    await user_button.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitemradio", name="As the system")).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("menuitem", name="Log off")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(user_button).to_be_focused()
    await expect(page.get_by_role("menu")).to_be_hidden()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitemradio", name="As the system")).to_be_focused()
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    await is_logged_off(page)


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("document.body.append(Object.assign(document.createElement('script'), {textContent: 'x = 1'}))", "script-src"),
        ("document.body.setAttribute('style', 'color: red')", "style-src"),
        ("fetch('http://127.0.0.2:9/').catch(() => 0)", "connect-src"),
        ("setTimeout(() => { throw new Error('a fault') })", "a fault"),
    ],
)
async def test_a_window_tells_of_what_its_page_must_not_do(
    browser: Browser, console_server: GatewayProcess, script: str, fault: str
):
    opened = Console(browser, console_server)
    page = await opened.window()
    await is_logged_off(page)
    await page.evaluate(script)
    while not opened.faults:
        await page.wait_for_timeout(20)
    with pytest.raises(AssertionError, match=fault):
        await opened.close()


async def test_a_page_is_printed_whole_and_dark_on_white(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    for number in range(12):
        (await user.command("AP_Chat", content=f"Message {number}")).ok()
    page = await console.window(user, f"/console/chat/{unique}-agent", color_scheme="dark")
    await expect(page.get_by_text("Message 11").first).to_be_visible()
    log = page.get_by_role("log", name="Messages")
    assert await log.evaluate("(log) => log.scrollHeight > log.clientHeight")
    await page.emulate_media(media="print", color_scheme="dark")
    await expect(page.get_by_role("navigation", name="Console")).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Message to")).to_be_hidden()
    assert not await log.evaluate("(log) => log.scrollHeight > log.clientHeight")
    assert await page.evaluate("getComputedStyle(document.body).color") == "rgb(24, 33, 44)"
    await page.emulate_media(media="screen", color_scheme="dark")


async def test_contrast_themes_show_what_is_chosen(console: Console, user: Client):
    page = await console.window(user, "/console/webhooks", forced_colors="active")

    async def ground(role: Literal["link", "tab"], name: str) -> str:
        found = page.get_by_role(role, name=name, exact=True).first
        return await found.evaluate("(element) => getComputedStyle(element).backgroundColor")

    assert await ground("link", "Webhooks") != await ground("link", "Agents")
    assert await ground("tab", "Endpoints") != await ground("tab", "Deliveries")
    await no_serious_violations(page)


async def test_a_used_up_quota_is_drawn_full_with_the_time_of_its_reset(console: Console, user: Client):
    await set_plan(user, user.name, "enterprise", limit=12)
    page = await console.window(user)
    quota, agents = page.get_by_role("region", name="Today's quota"), page.get_by_role("link", name="0 Agents")
    await expect(quota).to_contain_text("of 12 used on plan enterprise")
    await expect(agents).to_be_visible()
    while (await user.command("AP_List")).http == 200:
        pass
    await page.get_by_role("button", name="Refresh").click()
    await expect(quota.get_by_role("img", name="100 % of today's quota is used")).to_be_visible()
    await expect(quota).to_contain_text("0 requests left")
    await expect(quota).to_contain_text(re.compile(r"12 of 12 used\..*again at 00:00 UTC, in (\d+ h )?\d+ min"))
    await expect(agents).to_be_hidden()  # no older figures beside it
    await expect(page.get_by_role("alert")).to_have_count(0)
    await no_serious_violations(page)
    await set_plan(user, user.name, "enterprise")
    await page.get_by_role("button", name="Refresh").click()
    await expect(quota).to_contain_text("Plan enterprise has no limit.")


async def test_a_used_up_quota_is_told_in_lists_too(console: Console, user: Client):
    await set_plan(user, user.name, "free")
    while (await user.command("AP_List")).http == 200:  # 100 of the day
        pass
    page = await console.window(user, "/console/chat")
    for path in ("/console/chat", "/console/zones"):
        await page.goto(console.base + path)
        await expect(page.get_by_role("alert")).to_contain_text("code 4000")
        await expect(page.get_by_role("alert")).to_contain_text(re.compile(r"Try again in (\d+ h )?\d+ (min|s|ms)\."))
