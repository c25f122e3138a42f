"""What holds of every page of the console, in every theme and width."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.gateway import CHECKOUT, Client
from tests.support.memories import grant, load

ROUTES = CHECKOUT / "console" / "app" / "routes.js"
PATHS = [path.split("/:")[0] for path in re.findall(r"path: \"(/[^\"]+)\"", ROUTES.read_text(encoding="utf-8"))]


async def fill(auditor: Client, unique: str) -> list[str]:
    """Give a user something of each kind; return the paths of these things."""
    agent, domain, bank = f"{unique}-agent", f"{unique}-domain", f"{unique}-bank"
    target = {"agent": agent}
    await auditor.agent(agent)
    (await auditor.command("AP_Chat", target=target, content="Hello, who are you?")).ok()
    (await auditor.command("DM_Create", target=target, vx={"name": domain, "description": "A domain"})).ok()
    (await auditor.command("MB_Create", target=target, vx={"name": bank, "description": "A bank"})).ok()
    (await auditor.command("MB_Load", target={"bank": bank}, vx={"name": "sun"}, content="The Sun is far away.")).ok()
    assert (await auditor.request("POST", "/api/api-keys", json={"name": "a key"})).http == 201
    return [
        f"/console/chat/{agent}",
        f"/console/agents/{agent}",
        f"/console/domains/{domain}",
        f"/console/zones/{domain}/lobby",
        f"/console/banks/{bank}",
        "/console/explorer/AP_Chat",
        f"/console/graph/{auditor.name}",
        f"/console/users/{auditor.name}",
    ]


async def test_a_page_is_called_as_its_link_in_the_navigation(console: Console, auditor: Client):
    page = await console.window(auditor)
    links = page.get_by_role("navigation", name="Console").get_by_role("link")
    names = await links.all_inner_texts()
    assert len(names) == len(PATHS)
    for name in names[1:]:  # the home page greets its user
        await links.get_by_text(name, exact=True).click()
        await expect(page.get_by_text("Loading", exact=True)).to_have_count(0)  # the page itself is there
        await expect(page.get_by_role("heading", level=1)).to_have_text(name)


@pytest.mark.timeout(300)  # some 20 pages, each looked at by axe
@pytest.mark.parametrize(
    "context",
    [
        pytest.param({}, id="light"),
        # each page's own tests look at it in the dark or on a phone, too
        pytest.param({"viewport": PHONE, "color_scheme": "dark"}, id="dark phone", marks=pytest.mark.soak),
    ],
)
async def test_no_page_shuts_anybody_out(console: Console, auditor: Client, unique: str, context: dict[str, Any]):
    paths = [*PATHS, *await fill(auditor, unique)]
    page = await console.window(auditor, **context)
    for path in paths:
        await page.goto(console.base + path)
        await expect(page.get_by_role("heading", level=1, include_hidden=True)).to_have_count(1)
        await expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
        await expect(page.get_by_role("heading", name=re.compile("not found|failed"))).to_have_count(0)
        try:
            await no_serious_violations(page)
            await fits_its_width(page)
        except AssertionError as error:
            console.faults.append(f"{path}: {error}")


async def test_the_longest_names_fit_a_phone(console: Console, nobody: Client, user: Client, unique: str):
    def longest(kind: str, size: int = 64) -> str:
        return f"{unique}-{kind}-".ljust(size, "W")

    owner = await nobody.register(longest("owner"))
    agent, domain, bank = longest("agent"), longest("domain"), longest("bank")
    await owner.agent(agent, access="public")
    (await owner.command("DM_Create", vx={"name": domain, "description": "A domain"})).ok()
    (await owner.command("MB_Create", vx={"name": bank, "description": "A bank"})).ok()
    (await load(owner, bank, longest("memory", 200), "Gold is heavy.")).ok()
    (await owner.command("AP_Chat", target={"agent": agent}, content="Is gold heavy?")).ok()
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": longest("offered"), "description": "A bank"})).ok()
    (await grant(user, longest("offered"), agent, "read")).ok()
    page = await console.window(owner, viewport=PHONE)
    for path, name in (
        (f"agents/{agent}", "Offers"),
        (f"domains/{domain}", "Members"),
        (f"banks/{bank}", "Memories"),
        (f"chat/{agent}/default", "1 source"),
    ):
        await page.goto(f"{console.base}/console/{path}")
        await expect(page.get_by_text(name).first).to_be_visible()
        await fits_its_width(page)
    for part in (page.get_by_role("log").get_by_role("strong"), page.get_by_role("log").get_by_role("link")):
        for found in await part.all():
            box = await found.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= PHONE["width"], await found.inner_text()
