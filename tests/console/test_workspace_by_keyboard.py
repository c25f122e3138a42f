"""The pages of banks, domains and webhooks by keyboard alone; the focus stays where an act was done."""

from playwright.async_api import Page, expect

from tests.support.console import Console
from tests.support.console_acts import says
from tests.support.gateway import Client
from tests.support.receiver import receiving
from tests.support.workspaces import opened


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def test_a_memory_is_searched_for_and_censored(console: Console, user: Client, unique: str):
    bank = f"{unique}-bank"
    await user.agent(f"{unique}-scout")
    (await user.command("MB_Create", vx={"name": bank, "description": "d"})).ok()
    for name in ("Moon", "Mars"):
        (await user.command("MB_Load", target={"bank": bank}, vx={"name": name}, content=f"{name} is far away.")).ok()
    page = await console.window(user, f"/console/banks/{bank}")
    await page.get_by_role("tab", name="Memories").focus()
    await press(page, "ArrowRight")
    await expect(page.get_by_role("tab", name="Permissions")).to_be_focused()
    await expect(page.get_by_role("table", name="Agents")).to_be_visible()
    await press(page, "ArrowLeft", "Tab")
    await expect(page.get_by_label("Search the texts")).to_be_focused()
    await page.keyboard.type("moon")
    await press(page, "Enter")
    found = page.get_by_role("list", name="Found memories")
    await expect(found.get_by_role("listitem")).to_have_count(1)
    await page.get_by_label("Search the texts").fill("")
    await press(page, "Enter")
    memories = page.get_by_role("list", name="Memories")
    await expect(memories.get_by_role("listitem")).to_have_count(2)

    await page.get_by_role("button", name="Censor: Mars").focus()
    await press(page, "Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await press(page, "Escape")
    await expect(page.get_by_role("button", name="Censor: Mars")).to_be_focused()
    await press(page, "Enter")
    await expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_focused()
    await press(page, "Tab", "Enter")
    await says(page, "1 memory censored.")
    await expect(memories.get_by_text("Its text was erased for good.")).to_be_visible()
    await expect(memories).to_be_focused()
    await press(page, "Tab")
    await expect(memories.get_by_role("link").first).to_be_focused()


async def test_a_member_is_kicked_and_the_focus_stays_at_the_members(
    console: Console, user: Client, nobody: Client, unique: str
):
    work = await opened(user, await nobody.register(f"{unique}-guest-user"), f"{unique}-work")
    page = await console.window(user, f"/console/domains/{work.domain}")
    await page.get_by_role("button", name=f"Kick: {work.guest_agent}").focus()
    await press(page, "Enter")
    await expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_focused()
    await press(page, "Tab", "Enter")
    await says(page, f"{work.guest_agent} was removed.")
    members = page.get_by_role("region", name="Members")
    await expect(members.get_by_role("link")).to_have_text([work.owner_agent])
    await expect(members).to_be_focused()


async def test_a_delivery_is_opened_and_sent_again(console: Console, user: Client):
    async with receiving() as receiver:
        body = {"url": receiver.url, "events": ["webhook.test"]}
        id = (await user.request("POST", "/api/webhooks/endpoints", json=body)).body["id"]
        page = await console.window(user, f"/console/webhooks/{id}")
        await page.get_by_role("button", name="Send a test event").focus()
        await press(page, "Enter")
        await expect(page.get_by_role("dialog").get_by_label("Type")).to_be_focused()
        await press(page, "Tab", "Tab", "Enter")
        delivery = page.get_by_role("list", name="Deliveries").get_by_role("button", name="webhook.test")
        await expect(delivery).to_contain_text("succeeded")
        await delivery.focus()
        await press(page, "Enter")
        await expect(delivery).to_have_attribute("aria-expanded", "true")
        again = page.get_by_role("button", name="Deliver again")
        await expect(again).to_be_visible()
        await again.focus()
        await press(page, "Enter")
        await says(page, "The event is delivered again.")
        await receiver.got(2)
        await expect(delivery).to_have_count(2)
