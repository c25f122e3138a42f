"""The README's pictures, of a gateway at work; PARLEY_PICTURES=1 with `pytest -m soak` of this file renews them."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.console import console_of
from tests.support.gateway import CHECKOUT, Client, GatewayProcess
from tests.support.operator import LISTED, operated

pytestmark = pytest.mark.soak

PICTURES = CHECKOUT / "docs" / "pictures"
WINDOW: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"}
FACTS = {
    "founding": "The observatory was founded in 1887 by Maria Whitmore, with money from her brother's shipping line.",
    "telescope": "The great refractor has a lens of 68 centimetres and was the largest of the country until 1903.",
    "fire": "In the winter of 1924 a fire destroyed the library; the logbooks were saved by two night assistants.",
}
TALKERS = 6


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """A gateway of its own, so that the pictures show only what these tests make."""
    async with operated(tmp_path / "data") as started:
        yield started


@pytest.fixture
async def client(gateway: GatewayProcess) -> AsyncIterator[Client]:
    async with gateway.client() as opened:
        yield opened


async def take(page: Page, name: str) -> None:
    """Take a picture; it is kept only where somebody asks for new ones."""
    picture = await page.screenshot(animations="disabled")
    assert picture.startswith(b"\x89PNG")
    if os.environ.get("PARLEY_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / name).write_bytes(picture)


async def test_a_chat_with_sources(browser: Browser, gateway: GatewayProcess, client: Client):
    user = await client.register("lovelace")
    await user.agent("historian", description="Knows the observatory's past.")
    (await user.command("MB_Create", target={"agent": "historian"}, vx={"name": "observatory"})).ok()
    for name, text in FACTS.items():
        (await user.command("MB_Load", target={"bank": "observatory"}, vx={"name": name}, content=text)).ok()
    async with console_of(browser, gateway) as console:
        page = await console.window(user, "/console/chat/historian", **WINDOW)
        questions = (
            "Who founded the observatory?",
            "How large is the lens of the refractor?",
            "What did the fire destroy?",
        )
        for asked, word in zip(questions, ("Whitmore", "68", "library"), strict=True):
            await page.get_by_role("textbox", name="Message to").fill(asked)
            await page.keyboard.press("Enter")
            reply = page.get_by_role("log", name="Messages").get_by_role("article").last
            await expect(reply).to_contain_text(word)
            await expect(reply).to_contain_text("observatory")
        await take(page, "chat.png")


async def test_the_live_page_under_load(browser: Browser, gateway: GatewayProcess, client: Client):
    talkers = [await client.register(f"talker-{number}") for number in range(TALKERS)]
    for number, talker in enumerate(talkers):
        await talker.agent(f"agent-{number}")

    async def talk(talker: Client, chats: int) -> None:
        for number in range(chats):
            (await talker.command("AP_Chat", content=f"Hello, this is message {number}.")).ok()
            if number % 3 == 0:
                (await talker.command("AP_Read")).ok()

    async with console_of(browser, gateway) as console:
        page = await console.window(LISTED, "/console/live?window=60", **WINDOW)
        await expect(page.get_by_role("figure", name="Requests over time").locator("canvas")).to_be_visible()
        await page.get_by_role("button", name="Mark", exact=True).click()
        await page.get_by_label("What happens now").fill("run 7 starts")
        await page.keyboard.press("Enter")
        load = [asyncio.create_task(talk(talker, 400)) for talker in talkers]
        services = page.get_by_role("table", name="Services in the last second")
        await expect(services.get_by_role("row", name=re.compile("^AP_Chat "))).to_be_visible()
        await asyncio.gather(*load)
        await expect(page.get_by_role("heading", name="Latency of AP_Chat")).to_be_visible()
        await take(page, "live.png")
