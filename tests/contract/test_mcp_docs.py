"""docs/mcp.md is true: its example of a client runs, and its lists equal the code's.

Its examples with curl are run by test_pages.py.
"""

import asyncio
import re
import sys
from pathlib import Path

import yaml

from actors.commands.table import GROUPS
from routes.mcp.groups import WITH_PASSWORD
from tests.support.conformance import EXPECTED, KIT
from tests.support.gateway import CHECKOUT, running
from tests.support.pages import ADDRESS


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


def page() -> str:
    return (CHECKOUT / "docs/mcp.md").read_text(encoding="utf-8")


def test_the_scenarios_that_are_said_not_to_pass_are_those_that_the_kit_may_fail():
    rows = re.findall(r"^\| .* \|$", page().partition("| not passed, because |")[2], re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row.rpartition(" | ")[2])}
    checks: list[str] = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["server"]
    assert told == {check.partition(":")[0] for check in checks}
    assert len(set(checks)) == len(checks)
    assert KIT in page()


def test_the_groups_and_the_tools_that_take_a_password_are_named():
    rows = {match[1]: match[2] for match in re.finditer(r"^\| `(/mcp\S*)` \| (.*) \|$", page(), re.MULTILINE)}
    assert set(re.findall(r"`(\w+)`", rows["/mcp?groups=agent,bank"])) == GROUPS.keys()
    assert set(re.findall(r"`(\w+)`", rows["/mcp?groups=user"])) == WITH_PASSWORD
