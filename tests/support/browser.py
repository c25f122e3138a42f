"""The system's Chromium, for tests of pages."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

CHROMIUM_FLAGS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


START_MS = 90_000
"""Milliseconds in which Chromium starts, also on a slow machine."""

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one found is used; the first has no windows around its pages, which takes a third less time."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start Chromium; without it the test is skipped, or fails in CI."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing = "no Chromium on this machine: install it (Debian: apt-get install chromium-headless-shell)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=CHROMIUM_FLAGS, timeout=START_MS)
        yield browser
        await browser.close()
