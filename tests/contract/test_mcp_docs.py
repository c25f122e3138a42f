"""docs/mcp.md is true: its lists equal the code's. Its examples are run by test_pages.py."""

import re

import yaml

from actors.commands.table import GROUPS
from routes.mcp.groups import WITH_PASSWORD
from tests.support.conformance import EXPECTED, KIT
from tests.support.gateway import CHECKOUT


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
