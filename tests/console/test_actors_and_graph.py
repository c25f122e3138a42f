"""Live actors, one actor's state and messages, and who holds whom."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.gateway import Client


@pytest.fixture
async def holder(user: Client, unique: str) -> Client:
    """A user with an agent, a domain and a bank."""
    own = {"agent": f"{unique}-agent"}
    await user.agent(own["agent"])
    (await user.command("DM_Create", target=own, vx={"name": f"{unique}-domain", "description": "ours"})).ok()
    (await user.command("MB_Create", target=own, vx={"name": f"{unique}-bank"})).ok()
    (await user.command("AP_Chat", content="Hello")).ok()
    return user


async def test_actors_are_filtered_sorted_and_live(console: Console, auditor: Client, holder: Client, unique: str):
    page = await console.window(auditor, f"/console/actors?kind=agent&name={unique.upper()}")
    actors = page.get_by_role("table", name="Live actors")
    row = actors.get_by_role("row", name=re.compile(f"^{unique}-agent agent "))
    await expect(row).to_be_visible()
    await expect(actors.get_by_role("row")).to_have_count(2)
    before = int(await row.get_by_role("cell").nth(3).inner_text())
    for _ in range(3):
        (await holder.command("AP_Chat", content="Again")).ok()
    await expect(row.get_by_role("cell").nth(3)).not_to_have_text(str(before))

    await page.get_by_label("Kind").select_option("bank")
    await expect(page).to_have_url(re.compile("kind=bank"))
    await expect(actors.get_by_role("row", name=re.compile(f"^{unique}-bank bank "))).to_be_visible()
    await page.get_by_label("Name begins with").fill("no such name here")
    await expect(page.get_by_text("No live actor fits")).to_be_visible()
    await page.get_by_label("Name begins with").fill("")
    await page.get_by_role("button", name="Handled").click()
    await expect(page).to_have_url(re.compile("sort=-handled"))
    await expect(actors.get_by_role("columnheader", name="Handled")).to_have_attribute("aria-sort", "descending")
    await page.get_by_role("button", name="Handled").click()
    await expect(page).to_have_url(re.compile("sort=handled"))
    await no_serious_violations(page)


async def test_more_actors_are_shown_by_keyboard_without_losing_one_s_place(
    console: Console, auditor: Client, user: Client, unique: str
):
    await asyncio.gather(*(user.agent(f"{unique}-{number}") for number in range(205)))
    page = await console.window(auditor, f"/console/actors?kind=agent&name={unique}")
    rows = page.get_by_role("table", name="Live actors").get_by_role("row")
    await expect(rows).to_have_count(1 + 100)
    more = page.get_by_role("button", name="Show more")
    await more.press("Enter")
    await expect(rows).to_have_count(1 + 200)
    await expect(more).to_be_focused()
    await more.press("Enter")
    await expect(rows).to_have_count(1 + 205)
    await expect(more).to_be_hidden()
    await expect(page.locator("main div").filter(has=rows).and_(page.locator(":focus"))).to_have_count(1)


async def test_one_actor_shows_its_state_and_its_messages_without_texts(
    console: Console, auditor: Client, holder: Client, unique: str
):
    page = await console.window(auditor, f"/console/actors?kind=agent&name={unique}")
    await page.get_by_role("link", name=f"{unique}-agent").click()
    await expect(page.get_by_role("heading", name=f"{unique}-agent", level=1)).to_be_visible()
    state = page.get_by_role("region", name="State", exact=True).last
    await expect(state).to_contain_text(f'owner: "{holder.name}"')
    messages = page.get_by_role("table", name="Last messages")
    await expect(messages.get_by_role("row", name=re.compile("SendChat .*done")).first).to_be_visible()
    (await holder.command("AP_Chat", content="a secret text")).ok()
    await expect(page.get_by_text("a secret text")).to_have_count(0)
    await no_serious_violations(page)
    await page.get_by_role("link", name=f"{holder.name}'s graph").click()
    await expect(page).to_have_url(re.compile(f"/console/graph/{holder.name}$"))


async def test_an_actor_that_is_not_live_is_told_and_noticed_when_it_is(
    console: Console, auditor: Client, user: Client, unique: str
):
    page = await console.window(auditor, "/console/actors/agent/agt_00")
    await expect(page.get_by_text("This actor is not live now")).to_be_visible()
    await no_serious_violations(page)


async def test_the_graph_shows_who_holds_whom_by_mouse_and_keyboard(
    console: Console, auditor: Client, holder: Client, unique: str
):
    page = await console.window(auditor, "/console/graph")
    await expect(page.get_by_text(f"{auditor.name} holds nothing")).to_be_visible()
    await page.get_by_label("User", exact=True).fill(holder.name)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/console/graph/{holder.name}$"))
    picture = page.get_by_role("group", name=f"Who holds whom around {holder.name}")
    await expect(picture.get_by_role("button")).to_have_count(4)
    await expect(page.get_by_text("4 entities, 3 relations.")).to_be_visible()
    relations = page.get_by_role("table", name="Relations")
    await expect(relations.get_by_role("row")).to_have_count(1 + 3)
    for line in (
        f"{unique}-agent agent founder {unique}-domain domain",
        f"{unique}-agent agent admin {unique}-bank bank",
    ):
        await expect(relations.get_by_role("row", name=line)).to_be_visible()
    await no_serious_violations(page)

    bank = picture.get_by_role("button", name=f"bank {unique}-bank")
    await bank.focus()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("chosen=bnk_"))
    await expect(bank).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("heading", name=f"Relations of {unique}-bank")).to_be_visible()
    await expect(relations.get_by_role("row", name=f"{unique}-agent agent founder")).to_have_count(0)
    await page.get_by_role("link", name="Its actor").click()
    await expect(page.get_by_role("heading", name=f"{unique}-bank", level=1)).to_be_visible()

    await page.goto(f"{console.base}/console/graph/nobody-of-this-name")
    await expect(page.get_by_role("alert")).to_contain_text("user")


async def test_a_tall_graph_begins_at_its_user(console: Console, auditor: Client, user: Client, unique: str):
    for number in range(30):
        await user.agent(f"{unique}-{number:02}", online=False)
    page = await console.window(auditor, f"/console/graph/{user.name}")
    picture = page.get_by_role("region", name=f"Who holds whom around {user.name}")
    await expect(picture.get_by_role("button", name=f"user {user.name}"[:20])).to_be_in_viewport()


@pytest.mark.parametrize("path", ["actors", "graph/{name}"])
async def test_they_fit_a_phone_and_the_dark(console: Console, auditor: Client, holder: Client, path: str):
    page = await console.window(
        auditor, f"/console/{path.format(name=holder.name)}", viewport=PHONE, color_scheme="dark"
    )
    await expect(page.get_by_role("table").first).to_be_visible()
    await fits_its_width(page)
    await no_serious_violations(page)
