"""Zones in the console: followed live in several windows, over restarts, and what is censored vanishes."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Browser, Page, Route, expect

from tests.support.console import (
    PHONE,
    Console,
    console_of,
    fits_its_width,
    no_serious_violations,
    scroll_to_the_beginning,
)
from tests.support.console_acts import SCRIPTED, cancel, messages, say
from tests.support.gateway import Client, GatewayProcess

QUOTE = "Saturn rises at nine over the northern dome."


async def domain_of(user: Client, unique: str, **vx: str) -> str:
    """Make a public domain of the user's new agent `<unique>-scout`; return its name."""
    await user.agent(f"{unique}-scout", profile="Looks up.")
    name = f"{unique}-domain"
    vx = {"name": name, "description": "Where we look up", "access": "public"} | vx
    (await user.command("DM_Create", target={"agent": f"{unique}-scout"}, vx=vx)).ok()
    return name


async def reader_of(nobody: Client, domain: str, unique: str) -> Client:
    """Register another user, whose agent `<unique>-brass` joins the domain."""
    other = await nobody.register(f"{unique}-other")
    await other.agent(f"{unique}-brass")
    (await other.command("DM_Join", target={"domain": domain, "agent": f"{unique}-brass"})).ok()
    return other


async def teach(user: Client, unique: str) -> str:
    """Load a memory into a public bank of the user's agent; return the bank's name."""
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank, "description": "Notes", "access": "public"})).ok()
    target = {"bank": bank, "agent": f"{unique}-scout"}
    (await user.command("MB_Load", target=target, vx={"name": "Saturn"}, content=QUOTE)).ok()
    return bank


async def until_stored(user: Client, domain: str, count: int) -> None:
    """Wait until a domain's lobby has some messages."""
    for _ in range(300):
        if len((await user.command("ZN_Read", target={"domain": domain})).ok().content) == count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"there are not {count} messages")


async def test_a_zone_is_followed_in_two_windows_at_once(console: Console, user: Client, nobody: Client, unique: str):
    domain = await domain_of(user, unique)
    first = await console.window(user, f"/console/zones/{domain}")
    await expect(first.get_by_text("Nothing was said here yet")).to_be_visible()
    other = await reader_of(nobody, domain, unique)
    second = await console.window(other, f"/console/zones/{domain}/lobby")
    members = first.get_by_role("complementary", name="Members")
    await expect(members.get_by_role("listitem")).to_have_count(2)
    await expect(first.get_by_text(f"{unique}-brass joined")).to_be_visible()

    await say(first, "Good evening")
    await expect(messages(second)).to_have_count(1)
    await say(second, "Good evening to you")
    for page in (first, second):
        await expect(messages(page)).to_have_count(2)
        await expect(messages(page).nth(1)).to_contain_text("Good evening to you")
    await no_serious_violations(first)

    (await other.command("DM_Leave", target={"domain": domain, "agent": f"{unique}-brass"})).ok()
    await expect(members.get_by_role("listitem")).to_have_count(1)
    await expect(first.get_by_text(f"{unique}-brass left")).to_be_visible()
    await expect(second.get_by_text("Your last agent has left this domain.")).to_be_visible()
    await expect(second.get_by_role("textbox", name="Message to")).to_be_disabled()
    await second.goto(f"{console.base}/console/zones/{domain}/nozone")
    await expect(second.get_by_role("textbox", name="Message to")).to_be_disabled()
    await expect(second.get_by_placeholder("Nothing can be posted here.")).to_be_visible()


async def test_a_text_with_any_line_separator_arrives_live_and_so_does_what_follows(
    console: Console, user: Client, unique: str
):
    domain = await domain_of(user, unique)
    page = await console.window(user, f"/console/zones/{domain}")
    await expect(page.get_by_text("Nothing was said here yet")).to_be_visible()
    for text in ("First\u2028second\u2029third\x85fourth", "And then?"):
        (await user.command("ZN_Post", target={"domain": domain, "zone": "lobby"}, content=text)).ok()
    await expect(messages(page)).to_have_count(2)
    await expect(messages(page).first).to_contain_text("third")
    await expect(messages(page).last).to_contain_text("And then?")


async def test_an_agent_is_asked_for_its_reply(console: Console, user: Client, nobody: Client, unique: str):
    domain = await domain_of(user, unique)
    await teach(user, unique)
    other = await reader_of(nobody, domain, unique)
    first = await console.window(user, f"/console/zones/{domain}")
    second = await console.window(other, f"/console/zones/{domain}")
    await first.get_by_label("Reply from").select_option(f"{unique}-scout")
    await say(first, "When does Saturn rise?")
    for page in (first, second):
        await expect(messages(page).nth(1)).to_contain_text(QUOTE)
        await expect(messages(page)).to_have_count(2)
    await expect(first).to_have_url(re.compile(f"reply={unique}-scout"))
    await first.get_by_label("Reply from").select_option("")
    await say(first, "Thank you")
    await expect(messages(second)).to_have_count(3)


async def test_an_agent_that_has_left_stays_shown_as_the_one_to_reply_until_another_choice(
    console: Console, user: Client, unique: str
):
    domain = await domain_of(user, unique)
    leaver = f"{unique}-leaver"
    await user.agent(leaver)
    (await user.command("DM_Join", target={"domain": domain, "agent": leaver})).ok()
    page = await console.window(user, f"/console/zones/{domain}")
    reply = page.get_by_label("Reply from")
    await reply.select_option(leaver)
    (await user.command("DM_Leave", target={"domain": domain, "agent": leaver})).ok()
    await expect(page.get_by_text(f"{leaver} left")).to_be_visible()
    await expect(reply).to_have_value(leaver)
    await say(page, "Are you there?")
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_role("button", name="Edit the message").click()
    await reply.select_option("")
    await page.get_by_role("textbox", name="Message to lobby").press("Enter")
    await expect(messages(page)).to_have_count(1)
    await until_stored(user, domain, 1)


async def test_a_mention_is_completed_by_keyboard_and_answered(
    console: Console, user: Client, nobody: Client, unique: str
):
    domain = await domain_of(user, unique)
    await teach(user, unique)
    await reader_of(nobody, domain, unique)
    page = await console.window(user, f"/console/zones/{domain}")
    field = page.get_by_role("textbox", name="Message to")
    await field.press_sequentially(f"When does Saturn rise, @{unique}")
    options = page.get_by_role("listbox", name="Members to mention").get_by_role("option")
    await expect(options).to_have_text([f"@{unique}-brass", f"@{unique}-scout"])
    await no_serious_violations(page)
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await expect(field).to_have_attribute("aria-activedescendant", await options.nth(1).get_attribute("id") or "")
    await page.keyboard.press("Enter")
    await expect(field).to_have_value(f"When does Saturn rise, @{unique}-scout ")
    await expect(options).to_have_count(0)
    await page.keyboard.press("Enter")
    await expect(messages(page)).to_have_count(2)
    await expect(messages(page).nth(1)).to_contain_text(QUOTE)
    await field.press_sequentially("@")
    await expect(options).to_have_count(2)
    await page.keyboard.press("Escape")
    await expect(options).to_have_count(0)
    await page.get_by_role("button", name=f"{unique}-brass").click()
    await expect(field).to_have_value(f"@ @{unique}-brass ")


async def test_a_censored_memory_vanishes_from_all_open_windows(
    console: Console, user: Client, nobody: Client, unique: str
):
    domain = await domain_of(user, unique)
    bank = await teach(user, unique)
    other = await reader_of(nobody, domain, unique)
    first = await console.window(user, f"/console/zones/{domain}")
    second = await console.window(other, f"/console/zones/{domain}")
    private = await console.window(user, f"/console/chat/{unique}-scout")
    await first.get_by_label("Reply from").select_option(f"{unique}-scout")
    await say(first, "When does Saturn rise?")
    await say(private, "When does Saturn rise?")
    for page in (first, second, private):
        await expect(page.get_by_text(QUOTE).first).to_be_visible()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "Saturn"})).ok()
    for page in (first, second, private):
        await expect(page.get_by_text(QUOTE)).to_have_count(0)
        await expect(page.get_by_text("[censored]").first).to_be_visible()
        assert QUOTE not in await page.content()


async def test_posts_are_stored_in_the_order_in_which_they_were_written(console: Console, user: Client, unique: str):
    domain = await domain_of(user, unique)
    page = await console.window(user, f"/console/zones/{domain}")
    first, overtaken = asyncio.Event(), asyncio.Event()

    async def hold_first(route: Route) -> None:
        """Hold the first post until the second one is answered, or has not been sent for half a second."""
        if "ZN_Post" not in (route.request.post_data or ""):
            await route.continue_()
        elif not first.is_set():
            first.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(overtaken.wait(), 0.5)
            await route.continue_()
        else:
            await route.fulfill(response=await route.fetch())
            overtaken.set()

    await page.route("**/tps", hold_first)
    for text in ("one", "two", "three"):
        await say(page, text)
    await until_stored(user, domain, 3)
    await page.unroute_all(behavior="wait")  # an answer may be on its way to the page
    stored = (await user.command("ZN_Read", target={"domain": domain})).ok().content
    assert [message["content"] for message in stored] == ["one", "two", "three"]


async def test_a_post_after_an_asked_one_is_stored_after_it_and_does_not_wait_for_the_reply(
    browser: Browser, tmp_path: Path
):
    gateway = await GatewayProcess(tmp_path / "data", script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise").start()
    try:
        async with gateway.client() as client, console_of(browser, gateway) as console:
            user = await client.register("eager-user")
            domain = await domain_of(user, "eager")
            page = await console.window(user, f"/console/zones/{domain}?reply=eager-scout")
            overtaken = asyncio.Event()

            async def hold_the_asked(route: Route) -> None:
                """Hold the asked post until the plain one is answered, or has not been sent for half a second."""
                if "AP_Chat" in (route.request.post_data or ""):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(overtaken.wait(), 0.5)
                    await route.continue_()
                elif "ZN_Post" in (route.request.post_data or ""):
                    await route.fulfill(response=await route.fetch())
                    overtaken.set()
                else:
                    await route.continue_()

            await page.route("**/tps", hold_the_asked)
            asked = f"wait:{tmp_path}/gate say:answered"
            await say(page, asked)
            await page.get_by_label("Reply from").select_option("")
            await say(page, "afterwards")
            await until_stored(user, domain, 2)
            await page.unroute_all(behavior="wait")  # an answer may be on its way to the page
            stored = (await user.command("ZN_Read", target={"domain": domain})).ok().content
            assert [message["content"] for message in stored] == [asked, "afterwards"]
            (tmp_path / "gate").touch()
            await expect(messages(page)).to_have_count(3)
            await expect(messages(page).nth(2)).to_contain_text("answered")
    finally:
        await gateway.stop()


async def test_a_zone_catches_up_after_the_gateway_was_killed(browser: Browser, tmp_path: Path):
    gateway = await GatewayProcess(tmp_path / "data", script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise").start()
    port = int(gateway.base.rpartition(":")[2])
    try:
        async with gateway.client() as client, console_of(browser, gateway) as console:
            user = await client.register("zone-user")
            domain = await domain_of(user, "zone")
            page = await console.window(user, f"/console/zones/{domain}")
            for number in range(3):
                await say(page, f"before {number}")
            await expect(messages(page)).to_have_count(3)
            await until_stored(user, domain, 3)  # a message is shown before that
            await gateway.kill()
            await expect(page.get_by_text("Connection lost")).to_be_visible()
            await gateway.start(port)
            (await user.command("ZN_Post", target={"domain": domain}, content="while it was away")).ok()
            await expect(page.get_by_text("Connection lost")).to_be_hidden()
            await expect(messages(page)).to_have_count(4)
            await say(page, "after")
            await expect(messages(page)).to_have_count(5)
            said = ("before 0", "before 1", "before 2", "while it was away", "after")
            for place, text in enumerate(said):
                await expect(messages(page).nth(place)).to_contain_text(text)
    finally:
        await gateway.stop()


async def test_an_asked_reply_outlives_a_killed_gateway(browser: Browser, tmp_path: Path):
    gateway = await GatewayProcess(tmp_path / "data", script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise").start()
    port = int(gateway.base.rpartition(":")[2])
    try:
        async with gateway.client() as client, console_of(browser, gateway) as console:
            user = await client.register("asking-user")
            domain = await domain_of(user, "asking")
            page = await console.window(user, f"/console/zones/{domain}?reply=asking-scout")
            await say(page, f"say:first wait:{tmp_path}/gate say:-second")
            await expect(messages(page).nth(1)).to_contain_text("first")
            await gateway.kill()
            await expect(page.get_by_text("Connection lost")).to_be_visible()
            (tmp_path / "gate").touch()
            await gateway.start(port)
            await expect(messages(page).nth(1)).to_contain_text("first-second")
            await expect(page.get_by_text("Connection lost")).to_be_hidden()
            await expect(messages(page)).to_have_count(2)
            stored = (await user.command("ZN_Read", target={"domain": domain})).ok().content
            assert [message["content"] for message in stored][1:] == ["first-second"]
    finally:
        await gateway.stop()


async def with_posts(console: Console, user: Client, domain: str, count: int) -> Page:
    """Post a number of messages in a domain's lobby, and show it, read to its end."""
    for number in range(count):
        (await user.command("ZN_Post", target={"domain": domain}, content=f"Post number {number:02}")).ok()
    page = await console.window(user, f"/console/zones/{domain}")
    await expect(page.get_by_text(f"Post number {count - 1:02}")).to_be_in_viewport()
    return page


async def test_messages_that_arrive_while_one_reads_above_are_announced(console: Console, user: Client, unique: str):
    domain = await domain_of(user, unique)
    page = await with_posts(console, user, domain, 70)
    log = page.get_by_role("log", name="Messages")
    await scroll_to_the_beginning(page)
    await expect(messages(page)).to_have_count(70)
    await log.evaluate("(log) => { log.scrollTop = 100; }")
    for number in range(2):
        (await user.command("ZN_Post", target={"domain": domain}, content=f"Fresh {number}")).ok()
    await page.get_by_role("button", name="2 new messages").click()
    await expect(page.get_by_text("Fresh 1")).to_be_in_viewport()
    await expect(page.get_by_role("button", name="new messages")).to_be_hidden()


async def test_what_is_typed_below_many_messages_draws_none_of_them_anew(console: Console, user: Client, unique: str):
    page = await with_posts(console, user, await domain_of(user, unique), 40)
    await page.evaluate(
        """() => {
            const {options} = globalThis.preact;
            const diffed = options.diffed;
            globalThis.drawn = 0;
            options.diffed = (node) => {
                globalThis.drawn += node.type && !node.props["data-id"];
                diffed?.(node);
            };
        }"""
    )
    await page.get_by_role("textbox", name="Message to").press("x")
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    assert 0 < await page.evaluate("globalThis.drawn") < 80


async def test_a_zone_without_a_member_of_one_s_own_is_explained(
    console: Console, user: Client, nobody: Client, unique: str
):
    domain = await domain_of(user, unique)
    stranger = await nobody.register(f"{unique}-stranger")
    page = await console.window(stranger, "/console/zones")
    await page.get_by_label("Find a domain").fill(domain)
    await page.get_by_role("link", name=domain).click()
    await expect(page.get_by_role("alert")).to_contain_text("code 2003")
    await expect(page.get_by_text("You have no member here")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message to")).to_be_disabled()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await no_serious_violations(page)


async def test_zones_on_a_phone_and_in_the_dark(console: Console, user: Client, unique: str):
    domain = await domain_of(user, unique)
    page = await console.window(user, "/console/zones", viewport=PHONE, color_scheme="dark")
    await page.get_by_role("link", name=domain).click()
    await page.get_by_role("button", name="New zone").click()
    await cancel(page)
    await page.get_by_role("button", name="New zone").click()
    await page.get_by_label("Name").fill("nightly")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="# nightly")).to_be_visible()
    await say(page, "A post from a phone")
    await expect(messages(page)).to_have_count(1)
    await fits_its_width(page)
    await no_serious_violations(page)
    await page.get_by_role("button", name="Members (1)").click()
    await page.get_by_role("dialog").get_by_role("button", name=f"{unique}-scout").click()
    await expect(page.get_by_role("textbox", name="Message to")).to_have_value(f"@{unique}-scout ")
    await page.get_by_role("link", name="Zones", exact=True).first.click()
    await expect(page.get_by_role("link", name="# lobby")).to_be_visible()
    await fits_its_width(page)


async def test_a_domain_that_is_not_there_is_told_once(console: Console, user: Client):
    page = await console.window(user, "/console/zones/no-such-domain/lobby")
    await expect(page.get_by_text("There is no domain no-such-domain that you see")).to_be_visible()
    await expect(page.get_by_role("textbox")).to_have_count(0)
    await expect(page.get_by_role("alert")).to_have_count(0)
    await no_serious_violations(page)
    await page.get_by_role("link", name="All domains").click()
    await expect(page.get_by_role("heading", name="Zones", level=1)).to_be_visible()


async def test_what_a_destroyed_agent_said_is_marked(console: Console, user: Client, nobody: Client, unique: str):
    domain = await domain_of(user, unique)
    other = await reader_of(nobody, domain, unique)
    for client, agent in ((other, "brass"), (user, "scout")):
        target = {"domain": domain, "agent": f"{unique}-{agent}"}
        (await client.command("AP_Chat", target=target, content="Hello")).ok()
    (await other.command("AP_Destroy", target={"agent": f"{unique}-brass"})).ok()
    page = await console.window(user, f"/console/zones/{domain}")
    await expect(messages(page)).to_have_count(4)
    destroyed = messages(page).filter(has=page.get_by_text("destroyed", exact=True))
    await expect(destroyed).to_have_count(1)
    await expect(destroyed).to_contain_text(f"{unique}-brass")
    await no_serious_violations(page)
