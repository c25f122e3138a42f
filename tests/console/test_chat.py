"""Chat in the console: replies as they are written, over lost connections, and what can be done with conversations."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.support.console import (
    PHONE,
    Console,
    console_of,
    fits_its_width,
    log_on,
    no_serious_violations,
    scroll_to_the_beginning,
)
from tests.support.console_acts import SCRIPTED, cancel, messages, say
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.relay import linked

SETTINGS = {"PARLEY_DEFAULT_PLAN": "enterprise"}
A_MINUTE_LATER = "const now = performance.now(); performance.now = () => now + 60_000;"


@pytest.fixture(scope="module")
async def scripted_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway whose agents say and wait as they are told."""
    async with running(tmp_path_factory.mktemp("chat") / "data", script=SCRIPTED, **SETTINGS) as gateway:
        yield gateway


@pytest.fixture
async def scripted(browser: Browser, scripted_server: GatewayProcess) -> AsyncIterator[Console]:
    async with console_of(browser, scripted_server) as opened:
        yield opened


@pytest.fixture
async def talker(scripted_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    """A user of the scripted gateway with the agent `<unique>-agent`."""
    async with scripted_server.client() as client:
        user = await client.register(f"{unique}-talker")
        await user.agent(f"{unique}-agent")
        yield user


async def test_stop_works_with_many_messages_waiting(scripted: Console, talker: Client, unique: str, tmp_path: Path):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await say(page, f"say:first wait:{tmp_path}/never")
    for number in range(7):
        await say(page, f"say:later-{number}")
    await expect(messages(page).nth(1)).to_contain_text("first")
    await page.get_by_role("button", name="Stop").click()
    await expect(messages(page).nth(1)).to_contain_text("stopped")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    stored = (await talker.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
    assert [message["content"] for message in stored[1::2]] == ["first", *[f"later-{number}" for number in range(7)]]
    await expect(messages(page)).to_have_count(16)


async def test_messages_that_wait_are_sent_though_their_user_looks_elsewhere(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await say(page, f"say:first wait:{tmp_path}/gate")
    for number in range(3):
        await say(page, f"say:later-{number}")
    await expect(messages(page).nth(1)).to_contain_text("first")
    await page.get_by_role("link", name="All agents").click()
    await page.get_by_role("link", name=f"{unique}-agent").click()
    await expect(messages(page).nth(1)).to_contain_text("first")
    (tmp_path / "gate").touch()
    await expect(messages(page).nth(7)).to_contain_text("later-2")
    await expect(messages(page)).to_have_count(8)


async def test_messages_that_wait_at_the_end_of_a_session_are_never_sent_as_another_user_s(
    scripted: Console, scripted_server: GatewayProcess, talker: Client, unique: str, tmp_path: Path
):
    agent = f"{unique}-agent"
    (await talker.command("AP_Modify", target={"agent": agent}, vx={"access": "public"})).ok()
    page = await scripted.window(talker, f"/console/chat/{agent}")
    await say(page, f"say:first wait:{tmp_path}/gate say:-late")
    await expect(messages(page).nth(1)).to_contain_text("first")
    await say(page, "say:second")
    await page.get_by_role("button", name=f"User {talker.name}", exact=True).click()
    await page.get_by_role("menuitem", name="Log off").click()
    async with scripted_server.client() as nobody:
        other = await nobody.register(f"{unique}-other")
        await log_on(page, other.name)
        await expect(page.get_by_text(f"Say something to {agent}")).to_be_visible()
        (tmp_path / "gate").touch()
        await say(page, "say:third")
        await expect(messages(page).nth(1)).to_contain_text("third")
        said = (await other.command("AP_History", target={"agent": agent})).ok().content
        assert [message["content"] for message in said] == ["say:third", "third"]
    await page.get_by_role("button", name=f"User {other.name}", exact=True).click()
    await page.get_by_role("menuitem", name="Log off").click()
    await log_on(page, talker.name)
    await expect(messages(page).nth(1)).to_contain_text("first-late")
    await expect(page.get_by_role("alert")).to_contain_text("Your session ended")
    await page.get_by_role("button", name="Try again").click()
    await expect(messages(page).nth(3)).to_contain_text("second")
    await expect(messages(page)).to_have_count(4)


async def test_a_reply_under_way_is_shown_again_after_the_next_log_on(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    page = await scripted.window(talker)
    held = asyncio.Event()
    await page.route("**/console/watch*", lambda _: held.wait())  # the page hears from its chat that the session ended
    await page.goto(f"{scripted.base}/console/chat/{unique}-agent")
    await say(page, f"say:early wait:{tmp_path}/gate say:-late")
    await expect(messages(page).nth(1)).to_contain_text("early")
    other = await page.context.new_page()
    await other.goto(f"{scripted.base}/console")
    await other.get_by_role("button", name=f"User {talker.name}", exact=True).click()
    await other.get_by_role("menuitem", name="Log off").click()
    async with page.expect_request("**/api/runs/*/events"):
        await log_on(page, talker.name)
    await expect(messages(page).nth(1)).to_contain_text("early")
    (tmp_path / "gate").touch()
    await expect(messages(page).nth(1)).to_contain_text("early-late")
    await expect(messages(page)).to_have_count(2)
    held.set()


async def test_a_refused_message_is_told_at_once_and_nothing_refused_is_read_again(
    scripted: Console, talker: Client, unique: str
):
    agent = f"{unique}-agent"
    page = await scripted.window(talker, f"/console/chat/{agent}")
    await say(page, "say:first")
    await expect(messages(page).nth(1)).to_contain_text("first")
    (await talker.command("AP_Destroy", target={"agent": agent})).ok()
    reads, told = list[str](), asyncio.Event()

    async def hold_reads(asked: Route) -> None:
        """Hold what is read until the page has told of the refusal."""
        body: Any = asked.request.post_data_json
        if body["service"] == "AP_History":
            reads.append(body["service"])
            await told.wait()
        await asked.continue_()

    await page.clock.install()
    await page.route("**/tps", hold_reads)
    for number, text in enumerate(("say:second", "say:third"), 1):
        async with page.expect_response(lambda response: '"AP_History"' in (response.request.post_data or "")) as read:
            await say(page, text)
            await expect(page.get_by_role("log", name="Messages").get_by_role("alert")).to_have_count(number)
            told.set()
        assert (await read.value).status == 400
        told.clear()
        await page.clock.fast_forward(60_000)
    assert len(reads) == 2
    await page.unroute_all(behavior="wait")


async def test_a_reply_is_shown_as_it_is_written(scripted: Console, talker: Client, unique: str, tmp_path: Path):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await expect(page.get_by_text(f"Say something to {unique}-agent")).to_be_visible()
    await say(page, f"say:one wait:{tmp_path}/first say:two wait:{tmp_path}/second say:three")
    reply = messages(page).nth(1)
    await expect(reply).to_contain_text("one")
    await expect(reply).to_have_attribute("aria-busy", "true")
    await no_serious_violations(page)
    (tmp_path / "first").touch()
    await expect(reply).to_contain_text("onetwo")
    await expect(reply).not_to_contain_text("three")
    (tmp_path / "second").touch()
    await expect(reply).to_contain_text("onetwothree")
    await expect(reply).not_to_have_attribute("aria-busy", "true")
    await expect(messages(page)).to_have_count(2)
    await expect(page.get_by_text(f"{unique}-agent: onetwothree")).to_have_attribute("aria-live", "polite")
    await expect(page.get_by_role("textbox", name="Message to")).to_be_focused()
    await expect(page.get_by_role("link", name="Default conversation")).to_contain_text("2 messages")


async def test_stop_keeps_what_was_said_so_far(scripted: Console, talker: Client, unique: str, tmp_path: Path):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await say(page, f"say:begun wait:{tmp_path}/never")
    await expect(messages(page).nth(1)).to_contain_text("begun")
    await page.get_by_role("button", name="Stop").click()
    await expect(messages(page).nth(1)).to_contain_text("stopped")
    await expect(messages(page).nth(1)).to_contain_text("begun")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Message to")).to_be_focused()

    await say(page, f"wait:{tmp_path}/never-either")
    await expect(page.get_by_text("Thinking")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(messages(page)).to_have_count(3)
    await expect(messages(page).nth(2)).to_contain_text("stopped")
    stored = (await talker.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
    assert [message["mark"] for message in stored] == [None, "cancelled", "cancelled"]


async def test_a_message_that_is_stopped_on_its_way_to_the_gateway_is_stopped_there(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await expect(page.get_by_text(f"Say something to {unique}-agent")).to_be_visible()
    looked = asyncio.Event()

    async def hold_chat(asked: Route) -> None:
        """Hold the message until the page has looked for it in vain."""
        body: Any = asked.request.post_data_json
        if body["service"] == "AP_Chat":
            await looked.wait()
        await asked.continue_()
        if body["service"] == "AP_History":
            await asked.request.response()
            looked.set()

    await page.route("**/tps", hold_chat)
    await say(page, f"wait:{tmp_path}/never")
    await expect(page.get_by_text("Thinking")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(messages(page).first).to_contain_text("stopped")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(messages(page)).to_have_count(1)
    stored = (await talker.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
    assert [message["mark"] for message in stored] == ["cancelled"]
    await page.unroute_all(behavior="wait")


async def early_reply(scripted: Console, talker: Client, unique: str, gate: Path) -> tuple[str, Page]:
    """Begin a conversation whose reply waits at a gate after its first word; return its path and its window."""
    made = (await talker.command("CV_Create", target={"agent": f"{unique}-agent"}, vx={"name": "Shared"})).ok()
    path = f"/console/chat/{unique}-agent/{made.profile[0]['id']}"
    page = await scripted.window(talker, path)
    await expect(page.get_by_role("heading", name="Shared")).to_be_visible()
    await say(page, f"say:early wait:{gate} say:-late")
    await expect(messages(page).nth(1)).to_contain_text("early")
    return path, page


async def test_a_conversation_s_link_opened_in_a_second_window_shows_a_reply_under_way(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    path, first = await early_reply(scripted, talker, unique, tmp_path / "gate")
    second = await scripted.window(talker, path)
    await expect(messages(second).nth(1)).to_contain_text("early")
    await first.reload()
    (tmp_path / "gate").touch()
    for page in (first, second):
        await expect(messages(page).nth(1)).to_contain_text("early-late")
        await expect(messages(page).nth(1)).not_to_have_attribute("aria-busy", "true")
        await expect(messages(page)).to_have_count(2)


async def test_a_reply_that_ends_while_the_page_looks_for_it_is_shown(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    path, first = await early_reply(scripted, talker, unique, tmp_path / "gate")

    async def end_the_run_before(asked: Route) -> None:
        (tmp_path / "gate").touch()
        await expect(messages(first).nth(1)).to_contain_text("early-late")
        await asked.continue_()

    second = await scripted.window(talker, "/console/chat")
    await second.route("**/api/runs/*", end_the_run_before)
    await second.goto(f"{scripted.base}{path}")
    await expect(messages(second).nth(1)).to_contain_text("early-late")
    await expect(messages(second)).to_have_count(2)


async def test_what_another_window_has_said_is_shown_with_the_next_reply_and_when_one_comes_back(
    scripted: Console, talker: Client, unique: str
):
    path = f"/console/chat/{unique}-agent"
    first, second = await scripted.window(talker, path), await scripted.window(talker, path)
    for page in (first, second):
        await expect(page.get_by_text(f"Say something to {unique}-agent")).to_be_visible()
    await first.evaluate("dispatchEvent(new Event('blur'))")
    await say(first, "say:one")
    await expect(messages(first)).to_have_count(2)
    await say(first, "say:two")
    await expect(messages(first)).to_have_count(4)
    await say(second, "say:three")
    for number, said in enumerate(("say:one", "one", "say:two", "two", "say:three", "three")):
        await expect(messages(second).nth(number)).to_contain_text(said)
    await expect(messages(second)).to_have_count(6)
    await first.evaluate(A_MINUTE_LATER)
    await first.evaluate("dispatchEvent(new Event('focus'))")
    await expect(messages(first).nth(5)).to_contain_text("three")
    await expect(messages(first)).to_have_count(6)


async def test_a_reply_under_way_in_another_window_is_followed_by_one_that_comes_back(
    scripted: Console, talker: Client, unique: str, tmp_path: Path
):
    path = f"/console/chat/{unique}-agent"
    first, second = await scripted.window(talker, path), await scripted.window(talker, path)
    await expect(first.get_by_text(f"Say something to {unique}-agent")).to_be_visible()
    await first.evaluate("dispatchEvent(new Event('blur'))")
    await say(second, f"say:early wait:{tmp_path}/gate say:-late")
    await expect(messages(second).nth(1)).to_contain_text("early")
    await first.evaluate(A_MINUTE_LATER)
    await first.evaluate("dispatchEvent(new Event('focus'))")
    await expect(messages(first).nth(1)).to_contain_text("early")
    (tmp_path / "gate").touch()
    await expect(messages(first).nth(1)).to_contain_text("early-late")
    await expect(messages(first)).to_have_count(2)


async def test_a_reply_goes_on_after_a_lost_connection(
    browser: Browser, scripted_server: GatewayProcess, talker: Client, unique: str, tmp_path: Path
):
    async with (
        linked(urlsplit(scripted_server.base).port or 0) as link,
        console_of(browser, scripted_server, f"http://127.0.0.1:{link.port}") as console,
    ):
        page = await console.window(talker, f"/console/chat/{unique}-agent")
        await say(page, f"say:before wait:{tmp_path}/gate say:-while wait:{tmp_path}/after say:-after")
        await expect(messages(page).nth(1)).to_contain_text("before")
        link.cut()
        (tmp_path / "gate").touch()
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        await say(page, "say:another")
        await expect(messages(page).nth(3)).to_contain_text("Waiting for the connection")
        await expect(page.get_by_text("Thinking")).to_have_count(0)
        link.mend()
        await expect(page.get_by_text("Connection lost")).to_be_hidden()
        await expect(messages(page).nth(3)).to_contain_text("Thinking")
        await expect(messages(page).nth(1)).to_contain_text("before-while")
        (tmp_path / "after").touch()
        await expect(messages(page).nth(1).get_by_text(re.compile("^before-while-after$"))).to_be_visible()
        await expect(messages(page).nth(3)).to_contain_text("another")
        await expect(messages(page)).to_have_count(4)
        stored = (await talker.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
        assert [message["content"] for message in stored][1:] == ["before-while-after", "say:another", "another"]


async def test_a_gateway_that_is_killed_in_a_reply_is_told_and_the_message_is_tried_again(
    browser: Browser, tmp_path: Path
):
    gateway = await GatewayProcess(tmp_path / "data", script=SCRIPTED, **SETTINGS).start()
    port = int(gateway.base.rpartition(":")[2])
    try:
        async with gateway.client() as client, console_of(browser, gateway) as console:
            user = await client.register("killed-user")
            await user.agent("mortal")
            page = await console.window(user, "/console/chat/mortal")
            await say(page, f"say:first wait:{tmp_path}/gate say:-second")
            await expect(messages(page).nth(1)).to_contain_text("first")
            await gateway.kill()
            await expect(page.get_by_text("Connection lost")).to_be_visible()
            (tmp_path / "gate").touch()
            await gateway.start(port)
            await expect(page.get_by_text("Connection lost")).to_be_hidden()
            await expect(page.get_by_role("alert")).to_contain_text("code 5003")
            await page.get_by_role("button", name="Try again").click()
            await expect(messages(page).nth(1)).to_contain_text("first-second")
            await expect(messages(page)).to_have_count(2)
            assert len((await user.command("AP_History", target={"agent": "mortal"})).ok().content) == 2
    finally:
        await gateway.stop()


async def test_a_failed_engine_is_told_and_tried_again(scripted: Console, talker: Client, unique: str, tmp_path: Path):
    page = await scripted.window(talker, f"/console/chat/{unique}-agent")
    await say(page, f"failonce:{tmp_path}/failed say:mended")
    await expect(page.get_by_role("alert")).to_contain_text("code 5001")
    await no_serious_violations(page)
    await page.get_by_role("button", name="Try again").click()
    await expect(messages(page).nth(1)).to_contain_text("mended")
    await expect(messages(page)).to_have_count(2)
    await say(page, "fail")
    await page.get_by_role("button", name="Edit the message").click()
    await expect(page.get_by_role("textbox", name="Message to")).to_have_value("fail")


async def test_sources_are_shown_with_bank_and_quote(console: Console, user: Client, unique: str):
    agent, bank = f"{unique}-agent", f"{unique}-bank"
    await user.agent(agent)
    (await user.command("MB_Create", vx={"name": bank, "description": "Notes"})).ok()
    text = "Saturn rises at nine over the northern dome."
    (await user.command("MB_Load", target={"bank": bank, "agent": agent}, vx={"name": "Saturn"}, content=text)).ok()
    page = await console.window(user, f"/console/chat/{agent}")
    await say(page, "When does Saturn rise?")
    source = messages(page).nth(1).get_by_role("listitem")
    await expect(source).to_contain_text(f"{bank} / Saturn")
    await expect(source).to_contain_text(text)
    await no_serious_violations(page)


async def test_an_error_beside_the_messages_leaves_its_text_the_width(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, f"/console/chat/{unique}-agent/cnv_unknown")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("code 3000")
    whole, text = await alert.bounding_box(), await alert.locator(".notice-text").bounding_box()
    assert whole
    assert text
    assert text["width"] > whole["width"] * 2 / 3, (text, whole)


async def test_an_offline_agent_is_explained_and_brought_online(console: Console, user: Client, unique: str):
    agent = f"{unique}-asleep"
    await user.agent(agent, online=False)
    page = await console.window(user, f"/console/chat/{agent}")
    await expect(page.get_by_text(f"{agent} is offline and answers nobody.")).to_be_visible()
    await say(page, "Hello?")
    await expect(page.get_by_role("alert")).to_contain_text("code 3002")
    await page.get_by_role("button", name="Bring it online").click()
    await expect(page.get_by_text("answers nobody")).to_be_hidden()
    await page.get_by_role("button", name="Try again").click()
    await expect(messages(page)).to_have_count(2)
    await expect(page.get_by_role("alert")).to_be_hidden()


async def test_an_agent_that_an_operator_stopped_says_so(console: Console, user: Client, operator: Client, unique: str):
    agent = f"{unique}-stopped"
    await user.agent(agent)
    assert (await operator.request("POST", f"/api/admin/agents/{agent}/stop")).http == 200
    page = await console.window(user, f"/console/chat/{agent}")
    await say(page, "Hello?")
    await expect(page.get_by_role("alert")).to_contain_text("stopped")
    await expect(page.get_by_role("alert")).to_contain_text("operator")


async def test_older_messages_are_loaded_as_one_scrolls_up(console: Console, user: Client, unique: str):
    agent = f"{unique}-long"
    await user.agent(agent)
    for number in range(60):
        (await user.command("AP_Chat", target={"agent": agent}, content=f"Message number {number:03}.")).ok()
    page = await console.window(user, f"/console/chat/{agent}")
    await expect(page.get_by_text("Message number 059.").first).to_be_in_viewport()
    assert await messages(page).count() < 120
    log = page.get_by_role("log", name="Messages")
    await scroll_to_the_beginning(page)
    await expect(messages(page)).to_have_count(120)
    texts = await messages(page).all_inner_texts()
    numbers = [int(found[1]) for text in texts[::2] if (found := re.search(r"Message number (\d+)\.", text))]
    assert numbers == list(range(60))

    await log.evaluate("(log) => { log.scrollTop = 0; }")
    await say(page, "One more.")
    await page.get_by_role("button", name="new message").click()
    await expect(page.get_by_text("One more.").first).to_be_in_viewport()


async def test_a_watch_that_begins_before_the_first_answer_reads_no_more(console: Console, user: Client, unique: str):
    agent = f"{unique}-long"
    await user.agent(agent)
    for number in range(30):
        (await user.command("AP_Chat", target={"agent": agent}, content=f"Message number {number:03}.")).ok()
    page = await console.window(user)
    reads: list[Any] = []
    read, watched = asyncio.Event(), asyncio.Event()

    async def hold_watch(asked: Route) -> None:
        await read.wait()
        await asked.continue_()
        await asked.request.response()
        watched.set()

    async def hold_history(asked: Route) -> None:
        """Hold the messages until the page's watch has begun, and some time longer, so that the page hears of it."""
        body: Any = asked.request.post_data_json
        if body["service"] == "AP_History":
            reads.append(body["page"])
            read.set()
            await watched.wait()
            await asyncio.sleep(0.5)
        await asked.continue_()

    await page.route("**/console/watch*", hold_watch)
    await page.route("**/tps", hold_history)
    await page.goto(f"{console.base}/console/chat/{agent}")
    await expect(page.get_by_text("Message number 029.").first).to_be_in_viewport()
    assert reads == [{"limit": 50}]
    await page.unroute_all(behavior="wait")


async def test_conversations_are_begun_renamed_searched_copied_and_destroyed(
    console: Console, user: Client, unique: str
):
    agent = f"{unique}-agent"
    await user.agent(agent, profile="The comet returns in seventy years.")
    page = await console.window(user, f"/console/chat/{agent}")
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.get_by_role("heading", name="Untitled conversation")).to_be_visible()
    await say(page, "Tell me of the zebra.")
    await expect(messages(page)).to_have_count(2)

    async def choose(item: str) -> None:
        await page.get_by_role("button", name="More on this conversation").click()
        await page.get_by_role("menuitem", name=item).click()

    await choose("Rename")
    await cancel(page)
    await choose("Rename")
    await page.get_by_label("Title").fill("Zoo")
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_role("heading", name="Zoo")).to_be_visible()
    await choose("Copy into a new conversation")
    await expect(page.get_by_role("heading", name="Zoo (fork)")).to_be_visible()
    await expect(messages(page)).to_have_count(2)

    await page.get_by_label("Search in conversations").fill("zebra")
    found = page.get_by_role("list", name="Messages found").get_by_role("link")
    await expect(found.first).to_contain_text("Tell me of the zebra.")
    await found.first.click()
    await expect(page.get_by_text("Tell me of the zebra.").last).to_be_in_viewport()
    await expect(page).to_have_url(re.compile("seq=1"))
    await expect(page.get_by_role("button", name="new message")).to_be_hidden()
    await page.get_by_label("Search in conversations").fill("")

    await page.get_by_role("navigation", name="Conversations").get_by_role("link", name="Zoo (fork)").click()
    await choose("Destroy")
    await expect(page.get_by_role("dialog")).to_contain_text("2 messages")
    await page.get_by_role("button", name="Destroy").click()
    await expect(page.get_by_role("heading", name="Default conversation")).to_be_visible()
    await expect(page.get_by_role("link", name="Zoo (fork)")).to_have_count(0)
    titles = [item["title"] for item in (await user.command("CV_List", target={"agent": agent})).ok().profile]
    assert titles == ["Zoo"]


async def test_enter_sends_and_shift_enter_makes_a_line(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, "/console/chat")
    await page.get_by_role("link", name=f"{unique}-agent").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("textbox", name="Message to").focus()
    await page.keyboard.type("first line")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("second line")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Default conversation")).to_contain_text("2 messages")
    stored = (await user.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
    assert stored[0]["content"] == "first line\nsecond line"


async def test_what_is_being_written_is_kept_and_a_text_that_is_too_long_is_told(
    console: Console, user: Client, unique: str
):
    agent = f"{unique}-agent"
    await user.agent(agent)
    made = (await user.command("CV_Create", target={"agent": agent}, vx={"name": "Other"})).ok().profile[0]
    page = await console.window(user, f"/console/chat/{agent}/{made['id']}")
    field = page.get_by_role("textbox", name="Message to")
    await field.fill("A draft")
    await page.get_by_role("link", name="Default conversation").click()
    await expect(field).to_have_value("")
    await expect(field).to_be_focused()
    await field.fill("🌕" * 32_001)
    await expect(page.get_by_text("1 character too long")).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.get_by_role("link", name="Other").click()
    await expect(field).to_have_value("A draft")
    await field.press("Enter")
    await expect(messages(page)).to_have_count(2)


async def test_a_long_title_fits_a_phone(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    title = "A title of many words, " * 8
    made = (await user.command("CV_Create", target={"agent": f"{unique}-agent"}, vx={"name": title.strip()})).ok()
    path = f"/console/chat/{unique}-agent/{made.profile[0]['id']}"
    page = await console.window(user, path, viewport=PHONE)
    await expect(page.get_by_role("heading", name="A title of many words")).to_be_visible()
    await fits_its_width(page)
    await page.get_by_role("link", name="Conversations").click()
    shown = page.get_by_role("link", name="A title of many words").get_by_title(title.strip())
    lines = "(shown) => shown.clientHeight / parseFloat(getComputedStyle(shown).lineHeight)"
    assert round(await shown.evaluate(lines)) == 2


async def test_a_conversation_that_is_not_there_takes_no_messages(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, f"/console/chat/{unique}-agent/cnv_none")
    await expect(page.get_by_role("alert")).to_contain_text("code 3000")
    await expect(page.get_by_role("heading", name="Conversation", exact=True)).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message to")).to_be_disabled()
    await expect(page.get_by_placeholder("Nothing can be sent here.")).to_be_visible()


async def test_a_conversation_is_shown_with_its_own_agent_whichever_one_the_link_names(
    console: Console, user: Client, unique: str
):
    own, other = f"{unique}-own", f"{unique}-other"
    for agent in (own, other):
        await user.agent(agent)
    made = (await user.command("CV_Create", target={"agent": own}, vx={"name": "Its own"})).ok().profile[0]
    page = await console.window(user, f"/console/chat/{other}/{made['id']}?find=some")
    await expect(page).to_have_url(f"{console.base}/console/chat/{own}/{made['id']}?find=some")
    await expect(page.get_by_role("heading", name="Its own")).to_be_visible()
    await expect(page.get_by_text(f"with {own}", exact=True)).to_be_visible()
    await expect(page.get_by_role("textbox", name=f"Message to {own}")).to_be_visible()


async def test_an_agent_that_can_t_be_read_has_a_heading(console: Console, user: Client, unique: str):
    name = "a" * 300
    page = await console.window(user, f"/console/chat/{name}")
    await expect(page.get_by_role("alert").first).to_contain_text("code 1003")
    await expect(page.get_by_role("heading", name=f"Chat with {name}", level=1)).to_be_visible()
    await no_serious_violations(page)


async def test_an_agent_that_is_not_there_is_told_once_and_takes_no_messages(
    console: Console, user: Client, unique: str
):
    page = await console.window(user, "/console/chat")
    async with page.expect_response(lambda response: '"CV_List"' in (response.request.post_data or "")) as listed:
        await page.goto(f"{console.base}/console/chat/{unique}-ghost")
    await (await listed.value).finished()
    await expect(page.get_by_text(f"There is no agent {unique}-ghost that you see")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message to")).to_be_disabled()
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    await no_serious_violations(page)


async def test_chat_on_a_phone_and_in_the_dark(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, "/console/chat", viewport=PHONE, color_scheme="dark")
    await page.get_by_role("link", name=f"{unique}-agent").click()
    await fits_its_width(page)
    await page.get_by_role("link", name="Default conversation").click()
    await say(page, "A " + "very" * 60 + " long word")
    await expect(messages(page)).to_have_count(2)
    await fits_its_width(page)
    await no_serious_violations(page)
    await page.get_by_role("link", name="Conversations").click()
    await page.get_by_role("link", name="All agents").click()
    await expect(page.get_by_role("link", name=f"{unique}-agent")).to_be_visible()
    await no_serious_violations(page)


async def test_a_hebrew_message_reads_from_the_right(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, f"/console/chat/{unique}-agent")
    await say(page, "שלום?")
    await expect(page.get_by_role("link", name="Default conversation")).to_contain_text("2 messages")
    await expect(messages(page)).to_have_count(2)
    first, last = (
        await messages(page)
        .first.locator(".text")
        .evaluate(
            """(text) => [0, 4].map((at) => {
            const range = document.createRange();
            range.setStart(text.firstChild, at);
            range.setEnd(text.firstChild, at + 1);
            return range.getBoundingClientRect().left;
        })"""
        )
    )
    assert last < first, "the question mark stands before the question"
