"""How pages lay out what they show: long names and texts, old times, wide windows, and nothing at all."""

from typing import Any

from playwright.async_api import Locator, expect

from tests.support.console import Console
from tests.support.gateway import Client


async def place_of(found: Locator) -> Any:
    """Return where an element is drawn: {left, top, right, bottom, width, height}."""
    return await found.evaluate("(element) => element.getBoundingClientRect().toJSON()")


async def test_the_longest_names_leave_all_columns_of_a_table_in_view(
    console: Console, operator: Client, nobody: Client, unique: str
):
    def longest(kind: str) -> str:
        return f"{unique}-{kind}-".ljust(64, "W")

    owner = await nobody.register(longest("owner"))
    role = f"/api/admin/users/{owner.name}/role"
    assert (await operator.request("PUT", role, json={"role": "auditor"})).body["role"] == "auditor"
    agent, domain, bank = longest("agent"), longest("domain"), longest("bank")
    await owner.agent(agent)
    text = "A text of some words, which takes the width that is left. " * 3
    (await owner.command("DM_Create", vx={"name": domain, "description": text})).ok()
    (await owner.command("MB_Create", vx={"name": bank, "description": text})).ok()
    page = await console.window(owner)
    for path, label in (
        ("domains", "Domains"),
        (f"domains/{domain}", "Members"),
        ("banks", "Memory banks"),
        (f"banks/{bank}?tab=permissions", "Agents"),
        ("audit", "Audit log"),
        (f"users?prefix={owner.name}", "Users"),
        (f"actors?name={unique}", "Live actors"),
        ("graph", "Relations"),
    ):
        await page.goto(f"{console.base}/console/{path}")
        frame = page.get_by_role("region", name=label, exact=True)
        row = frame.get_by_role("row").filter(has_text="W" * 40).first
        await expect(row).to_be_visible()
        width, shown = await frame.evaluate("(frame) => [frame.scrollWidth, frame.clientWidth]")
        assert width <= shown, f"{label} is {width} px wide in {shown} px"
        assert (await place_of(row))["height"] < 200, f"a name of {label} is a tall column"
