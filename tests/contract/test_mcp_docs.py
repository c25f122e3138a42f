"""The example of a client in docs/mcp.md runs, on a fresh gateway; those with curl are run by test_pages.py."""

import asyncio
import re
import sys
from pathlib import Path

from tests.gateway import CHECKOUT, running
from tests.pages import ADDRESS


async def test_the_example_of_a_client_runs(tmp_path: Path):
    text = (CHECKOUT / "docs/mcp.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await user.agent("scout", profile="The Moon is 384,400 km away.")
        script = found[1].replace(ADDRESS, gateway.base) + f"\nasyncio.run(main({user.token!r}))\n"
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
    assert process.returncode == 0
    assert "384,400 km" in output.decode()
