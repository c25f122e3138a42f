"""The examples of the documentation's pages, each run on a fresh gateway after the README's quick start."""

from pathlib import Path

import pytest

from tests.support.gateway import running
from tests.support.pages import run

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
