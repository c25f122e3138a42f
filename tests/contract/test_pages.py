"""The examples of the documentation's pages, each run on a fresh gateway after the README's quick start."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT, running
from tests.support.pages import ADDRESS, run

PAGES = {
    "docs/a2a.md": 2,
    "docs/access.md": 2,
    "docs/ag-ui.md": 1,
    "docs/documents.md": 2,
    "docs/mcp.md": 1,
    "docs/openai.md": 3,
    "docs/skills.md": 1,
    "docs/webhooks.md": 1,
    "docs/workspaces.md": 12,
}
"""Pages with examples, and the least number of examples with shown answers."""


@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_of_a_page_run_after_the_quick_start(page: str, tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_SANDBOX_KEYS_ENABLED="true") as gateway:
        ran = await run(page, gateway, tmp_path, after="README.md")
    assert sum(bool(example.kind) for example in ran) >= PAGES[page]


@pytest.mark.parametrize("page", ["docs/a2a.md", "docs/mcp.md", "docs/openai.md"])
async def test_the_program_of_a_page_runs_as_it_is_with_the_token_of_the_quick_start(page: str, tmp_path: Path):
    found = re.search(r"^```python\n(.*?)^```", (CHECKOUT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await user.agent("scout", profile="The Moon is 384,400 km away.")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            found[1].replace(ADDRESS, gateway.base),
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"TOKEN": user.token or ""},
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    assert "384,400 km" in output.decode()
