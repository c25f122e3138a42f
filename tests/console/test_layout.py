"""How pages lay out what they show: long names and texts, old times, wide windows, and nothing at all."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.support.console import PHONE, Console, console_of
from tests.support.gateway import Client, running
from tests.support.memories import made_bank


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
    began = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    agent, domain, bank = longest("agent"), longest("domain"), longest("bank")
    await owner.agent(agent)
    text = "A text of some words, which takes the width that is left. " * 3
    (await owner.command("DM_Create", vx={"name": domain, "description": text})).ok()
    (await owner.command("MB_Create", vx={"name": bank, "description": text})).ok()
    page = await console.window(owner)
    for path, label in (
        ("domains", "Domains"),
        (f"domains/{domain}", "Members"),
        ("banks", "Banks"),
        (f"banks/{bank}?tab=permissions", "Agents"),
        (f"audit?since={began}", "Audit log"),
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


async def test_the_address_of_an_audit_entry_is_not_hidden_by_the_column_beside_it(console: Console, operator: Client):
    path = "/api/webhooks/endpoints/whe_00000000000000000000000000000000"
    (await operator.request("PATCH", path, json={"active": False})).refused(3000, 404)
    page = await console.window(operator, "/console/audit?service=changeWebhookEndpoint")
    row = page.get_by_role("row").filter(has_text="refused, 3000").first
    address, details = await place_of(row.locator(".mono")), await place_of(row.get_by_role("cell").last)
    assert address["right"] <= details["left"]


async def test_the_cells_of_a_row_begin_at_its_top(console: Console, auditor: Client, unique: str):
    await auditor.agent(f"{unique}-agent")
    (await auditor.command("AP_LogOff", target={"agent": f"{unique}-agent"})).ok()
    page = await console.window(auditor, "/console/audit?service=AP_LogOff")
    row = page.get_by_role("row").filter(has_text=f"{unique}-agent")
    await row.locator(".target").last.evaluate("(target) => { target.append(' and more words'.repeat(20)); }")
    assert (await place_of(row.locator("time")))["top"] - (await place_of(row))["top"] < 16


async def test_an_attempt_s_error_has_room(console: Console, user: Client):
    body = {"url": "http://127.0.0.1:9/hook", "events": ["webhook.test"]}
    id = (await user.request("POST", "/api/webhooks/endpoints", json=body)).body["id"]
    page = await console.window(user, f"/console/webhooks/{id}")
    await page.get_by_role("button", name="Send a test event").click()
    await page.get_by_role("dialog").get_by_role("button", name="Send").click()
    delivery = page.get_by_role("list", name="Deliveries").get_by_role("button", name="webhook.test")
    await expect(delivery).to_contain_text("1 attempt")
    await delivery.click()
    error = page.get_by_role("table", name="Attempts").get_by_text("The server refused the connection.")
    assert (await place_of(error))["height"] < 30, "the error stands on more than one line"


async def test_a_time_that_is_told_by_its_age_grows_older(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    await made_bank(user, unique)
    page = await console.window(user)
    await page.clock.install()
    await page.goto(f"{console.base}/console/banks")
    age = page.get_by_role("table", name="Banks").get_by_role("time")
    await expect(age).to_have_text("just now")
    await page.clock.fast_forward("20:00")
    await expect(age).to_have_text(re.compile(r"^2[0-9] min ago$"))


async def test_a_fact_s_time_has_its_day(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user)
    for path, label in (("", "User since"), (f"/agents/{unique}-agent", "Created")):
        await page.goto(f"{console.base}/console{path}")
        fact = page.locator(".facts > div").filter(has=page.get_by_text(label, exact=True)).get_by_role("definition")
        await expect(fact).to_have_text(re.compile(r"\b20\d\d\b.*\d\d:\d\d:\d\d"))


@pytest.fixture
async def empty(browser: Browser, tmp_path: Path) -> AsyncIterator[Console]:
    """The console of a gateway without anything but a new user, because public domains are listed for everybody."""
    async with running(tmp_path / "data") as gateway, console_of(browser, gateway) as console:
        async with gateway.client() as client:
            await client.register("newcomer")
        yield console


@pytest.mark.parametrize(("path", "thing"), [("chat", "agent"), ("zones", "domain")])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
async def test_who_has_nothing_is_told_so_once_and_where_it_is_read(
    empty: Console, path: str, thing: str, viewport: Any
):
    page = await empty.window("newcomer", f"/console/{path}", **({"viewport": viewport} if viewport else {}))
    make = page.get_by_role("link", name=f"New {thing}")
    await expect(make).to_be_visible()
    await expect(page.get_by_text(f"No {thing}s yet")).to_have_count(1)
    await expect(page.get_by_text("Choose a")).to_have_count(0)
    middle = (await place_of(make))["left"] + (await place_of(make))["width"] / 2
    main = await place_of(page.get_by_role("main"))
    assert abs(middle - (main["left"] + main["right"]) / 2) < 150, "it stands in the list"


async def test_a_text_s_line_breaks_are_shown(console: Console, user: Client, unique: str):
    text = "First paragraph.\n\nSecond paragraph."
    await user.agent(f"{unique}-agent", description=text)
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": text})).ok()
    page = await console.window(user, f"/console/agents/{unique}-agent")
    shown = page.get_by_text("First paragraph.")
    assert await shown.inner_text() == text
    await page.goto(f"{console.base}/console/domains/{unique}-domain")
    assert await shown.inner_text() == text


async def test_an_unknown_domain_is_told_in_the_width_of_the_page(console: Console, user: Client):
    page = await console.window(user, "/console/zones/no-such-domain")
    told = await place_of(page.get_by_text("There is no domain no-such-domain that you see"))
    main = await place_of(page.get_by_role("main"))
    assert abs((told["left"] + told["right"]) / 2 - (main["left"] + main["right"]) / 2) < 20


async def test_the_tiles_of_the_live_page_leave_none_alone(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live")
    tiles = page.locator(".live-tiles > div")
    await expect(tiles).to_have_count(8)
    tops = await tiles.evaluate_all("(all) => all.map((tile) => tile.offsetTop)")
    assert {tops.count(top) for top in tops} in ({4}, {8})


async def test_a_chart_spans_the_chosen_time_from_its_first_second_on(console: Console, auditor: Client):
    page = await console.window(auditor, "/console/live?window=300", locale="en-GB")
    written = await page.evaluate(
        """() => new Promise((resolve) => {
            const [written, write] = [[], CanvasRenderingContext2D.prototype.fillText];
            CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
                if (written.push(text) === 1) requestAnimationFrame(() => resolve(written));
                write.call(this, text, ...more);
            };
        })"""
    )
    clocks = [text.split(":") for text in written if re.fullmatch(r"\d\d:\d\d:\d\d", text)]
    times = [int(hour) * 3600 + int(minute) * 60 + int(second) for hour, minute, second in clocks]
    assert 120 <= (times[-1] - times[0]) % 86_400 <= 300


@pytest.mark.parametrize(
    ("path", "back"), [("agents", "Agents"), ("domains", "Domains"), ("banks", "Banks"), ("users", "Users")]
)
async def test_what_is_not_there_leads_back_to_its_list(console: Console, auditor: Client, path: str, back: str):
    page = await console.window(auditor, f"/console/{path}/no-such-thing")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("code 3000")
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    await alert.get_by_role("link", name=f"Back to {back}").click()
    await expect(page).to_have_url(f"{console.base}/console/{path}")


async def test_a_graph_s_notices_stand_apart_and_its_names_stay_in_their_boxes(
    console: Console, auditor: Client, unique: str
):
    page = await console.window(auditor, "/console/graph")
    form = await place_of(page.get_by_role("form", name="Another user"))
    nothing = page.locator(".empty")
    await expect(nothing).to_contain_text("holds nothing")
    assert (await place_of(nothing))["top"] - form["bottom"] >= 12
    await page.goto(f"{console.base}/console/graph/no-such-user")
    assert (await place_of(page.get_by_role("alert")))["top"] - form["bottom"] >= 12

    await auditor.agent(f"{unique[:2]}{'W' * 60}{unique[-2:]}")
    await page.goto(f"{console.base}/console/graph")
    node = page.get_by_role("group", name="Who holds whom").get_by_role("button", name="agent")
    box, name = await place_of(node.locator("rect")), await place_of(node.locator("text").last)
    await expect(node).to_contain_text("WW…")
    assert name["right"] < box["right"]


async def test_an_endpoint_s_description_has_its_share_of_the_width(console: Console, user: Client):
    body = {"url": "https://hooks.example.com/parley", "description": "Tells the team of everything that happens here"}
    assert (await user.request("POST", "/api/webhooks/endpoints", json=body)).http == 201
    page = await console.window(user, "/console/webhooks")
    line = page.get_by_role("table", name="Endpoints").get_by_text(body["description"])
    assert (await place_of(line))["height"] < 30, "it is broken into lines beside an empty column"
