"""The live page: figures while a load runs, marks, CSV, a hold, and what it says without a connection."""

import asyncio
import csv
import io
import itertools
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import cancel
from tests.support.gateway import Client
from tests.support.operator import SECRET, on_plan

STATE = "Live"
CHARTS = ("Requests", "Event loop lag", "Store", "Actors", "Memory", "Webhook deliveries")


def tile(page: Page, label: str):
    """Return the number under a label at the top of the page."""
    return page.locator("dt", has_text=re.compile(f"^{re.escape(label)}$")).locator("xpath=following-sibling::dd")


async def talk(user: Client) -> None:
    """Chat until cancelled."""
    for number in itertools.count():
        (await user.command("AP_Chat", content=f"Hello for the {number}th time")).ok()
        await asyncio.sleep(0.01)  # leaves the machine to the page


async def test_it_shows_a_load_as_it_runs(console: Console, auditor: Client, user: Client):
    await on_plan(user, "enterprise")
    await user.agent(f"{user.name}-agent")
    page = await console.window(auditor, "/console/live")
    await expect(page.get_by_role("status").get_by_text(STATE, exact=True)).to_be_visible()
    await expect(page.get_by_role("heading", name="Live", level=1)).to_be_visible()

    async with asyncio.TaskGroup() as group:
        load = group.create_task(talk(user))
        services = page.get_by_role("region", name="Services in the last second").get_by_role("table")
        chats = services.get_by_role("row", name=re.compile("^AP_Chat "))
        await expect(chats).to_be_visible()
        await expect(chats).to_contain_text("0: ")
        await expect(tile(page, "Requests/s")).not_to_have_text("0")
        for title in CHARTS:
            await expect(page.get_by_role("figure", name=f"{title} over time").locator("canvas")).to_be_visible()
        await no_serious_violations(page)
        load.cancel()
    await expect(page.get_by_text("No requests in the last second")).to_be_visible()

    memory = (await user.request("GET", "/metrics", headers=SECRET)).body
    resident = float(re.search(r"^process_resident_memory_bytes ([\d.e+]+)$", memory, re.MULTILINE)[1])  # type: ignore[index]
    shown = await tile(page, "Memory").inner_text()
    assert 0.5 < float(shown.removesuffix(" MB")) * 1024**2 / resident < 2


async def acknowledged(user: Client, agents: list[str], seconds: float, per_second: float | None = None) -> int:
    """Chat with each agent for some seconds, as fast as it answers or at a rate in all; return the number of chats."""
    now = asyncio.get_running_loop().time
    end, chats = now() + seconds, 0

    async def talker(number: int, agent: str) -> None:
        nonlocal chats
        due = now() + (0 if per_second is None else number / per_second)
        while now() < end:
            if per_second is not None:
                await asyncio.sleep(due - now())
                due += len(agents) / per_second
            (await user.command("AP_Chat", target={"agent": agent}, content="How are you today?")).ok()
            chats += 1

    await asyncio.gather(*(talker(number, agent) for number, agent in enumerate(agents)))
    return chats


@pytest.mark.soak
async def test_it_goes_on_under_half_of_the_load_that_the_gateway_bears(
    console: Console, auditor: Client, user: Client, unique: str
):
    await on_plan(user, "enterprise")
    agents = [f"{unique}-agent{number}" for number in range(8)]
    for agent in agents:
        await user.agent(agent)
    most = await acknowledged(user, agents, 5) / 5
    page = await console.window(auditor, "/console/live")
    await expect(tile(page, "Memory")).to_be_visible()
    chats = await acknowledged(user, agents, 30, most / 2)
    assert chats >= 0.9 * 30 * most / 2
    async with page.expect_download() as download:
        await page.get_by_role("button", name="CSV").click()
    text = await asyncio.to_thread(Path(await (await download.value).path()).read_text, encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = sum(float(row["AP_Chat_rate"] or 0) for row in rows)
    assert len(rows) >= 25
    assert shown >= 0.8 * chats


async def test_marks_and_all_figures_are_in_the_csv(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live")
    await page.get_by_role("button", name="Mark", exact=True).click()
    await cancel(page)
    await page.get_by_role("button", name="Mark", exact=True).click()
    await page.get_by_label("What happens now").fill('=run 7, "warm" starts')
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Clear mark")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="CSV").click()
    saved = await download.value
    assert re.fullmatch(r"parley-[\dTZ-]+\.csv", saved.suggested_filename)
    text = await asyncio.to_thread(Path(await saved.path()).read_text, encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    assert {row["node"] for row in rows} == {"all"}
    assert [row["mark"] for row in rows if row["mark"]] == ['\'=run 7, "warm" starts']
    for column in ("requests_s", "loop_lag_ms", "units_waiting", "commits_s", "actors", "memory_bytes", "readers"):
        assert all(float(row[column]) >= 0 for row in rows)
    await page.reload()
    await page.get_by_role("button", name="Clear mark").click()
    await expect(page.get_by_role("button", name="Clear mark")).to_have_count(0)


async def test_a_hold_keeps_the_view_and_filters_stand_in_the_link(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live?window=900&service=AP_Read")
    await expect(page.get_by_label("Time", exact=True)).to_have_value("900")
    await expect(page.get_by_label("Latency of", exact=True)).to_have_value("AP_Read")
    await expect(page.get_by_role("heading", name="Latency of AP_Read")).to_be_visible()
    await page.get_by_label("Time", exact=True).select_option("60")
    await expect(page).to_have_url(re.compile("window=60"))
    await page.get_by_role("button", name="Hold").click()
    await expect(page.get_by_role("status").get_by_text("Held")).to_be_visible()
    await page.get_by_role("button", name="Go on").click()
    await expect(page.get_by_role("status").get_by_text(STATE, exact=True)).to_be_visible()


async def test_it_is_for_auditors_and_operators_only(console: Console, user: Client):
    page = await console.window(user, "/console/live")
    await expect(page.get_by_role("heading", name="Live", level=1)).to_have_count(0)
    for name in ("Live", "Actors", "Graph"):
        await expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)


async def test_it_fits_a_phone_and_the_dark(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live", viewport=PHONE, color_scheme="dark")
    await expect(tile(page, "Memory")).to_be_visible()
    await fits_its_width(page)
    await no_serious_violations(page)


async def test_tiles_and_ages_stay_on_one_line(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live")
    values = page.locator(".live-tiles dd")
    await expect(values).to_have_count(8)
    await tile(page, "Loop lag").evaluate("(dd) => { dd.textContent = '0.62 ms'; }")
    tiles = await page.locator(".live-tiles > div").evaluate_all(
        """(all) => all.map((tile) => {
            const [label, value] = tile.children;
            return [label.offsetHeight, value.offsetHeight, tile.scrollWidth <= tile.clientWidth];
        })"""
    )
    assert set(map(tuple, tiles)) == {(*tiles[0][:2], True)}
    await page.goto(f"{console.base}/console/actors")
    age = page.get_by_role("table", name="Live actors").get_by_role("row").nth(1).get_by_role("cell").nth(4)
    assert await age.evaluate("(cell) => getComputedStyle(cell).whiteSpace") == "nowrap"
