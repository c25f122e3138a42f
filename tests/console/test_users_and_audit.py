"""The pages of users and of the audit log, for operators, auditors and users."""

import re

from playwright.async_api import Page, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.gateway import Client
from tests.support.operator import LISTED, set_plan


async def confirm(page: Page, name: str) -> None:
    """Answer the question that an act asks."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name=name, exact=True).click()
    await expect(dialog).to_be_hidden()


async def test_an_operator_suspends_a_user_whose_open_page_is_logged_out(
    console: Console, operator: Client, user: Client
):
    its_page = await console.window(user)
    page = await console.window(operator, f"/console/users/{user.name}")
    await page.get_by_role("button", name="Suspend").click()
    await no_serious_violations(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.get_by_role("button", name="Suspend")).to_be_focused()
    await page.keyboard.press("Enter")
    await confirm(page, "Suspend")
    await expect(its_page.get_by_text("This user is suspended.")).to_be_visible()
    await expect(page.get_by_text("Suspended since")).to_be_visible()
    await no_serious_violations(page)
    await page.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume")
    await expect(page.get_by_role("button", name="Suspend")).to_be_visible()
    await user.log_on(user.name)


async def test_users_are_found_by_filters_that_the_link_holds(
    console: Console, operator: Client, auditor: Client, unique: str
):
    names = [f"{unique}-{number:02}" for number in range(60)]
    for name in names:
        await operator.register(name)
    assert (await operator.request("POST", f"/api/admin/users/{names[7]}/suspend")).http == 200
    page = await console.window(auditor, "/console")
    await page.get_by_role("navigation", name="Console").get_by_role("link", name="Users").click()
    await page.get_by_label("Name begins with").fill(unique.upper())
    table = page.get_by_role("table", name="Users")
    await expect(table.get_by_role("link", name=names[0])).to_be_visible()
    await expect(table.get_by_role("link", name=f"{unique}-auditor")).not_to_be_attached()
    await table.get_by_role("link", name=names[49]).scroll_into_view_if_needed()
    await expect(table.get_by_role("link", name=f"{unique}-auditor")).to_be_attached()
    await expect(table.get_by_role("row")).to_have_count(62)  # with the heading
    await no_serious_violations(page)

    await page.get_by_label("State").select_option("suspended")
    await expect(table.get_by_role("row")).to_have_count(2)
    await expect(page).to_have_url(re.compile("state=suspended"))
    other = await console.window(auditor, page.url.removeprefix(console.base))
    await expect(other.get_by_role("table", name="Users").get_by_role("row")).to_have_count(2)
    await expect(other.get_by_label("Name begins with")).to_have_value(unique.upper())
    await other.get_by_label("Role", exact=True).select_option("operator")
    await expect(other.get_by_text("No user fits")).to_be_visible()
    await other.get_by_label("Role", exact=True).select_option("Any role")
    await other.get_by_role("link", name=names[7]).click()
    await expect(other.get_by_role("heading", name=names[7])).to_be_visible()
    await expect(other.get_by_text("Auditors see users but can't change them")).to_be_visible()
    await expect(other.get_by_role("button", name="Resume")).to_have_count(0)
    await no_serious_violations(other)


async def test_an_operator_sets_role_and_plan_and_resets_a_password(console: Console, operator: Client, user: Client):
    page = await console.window(operator, f"/console/users/{user.name}")
    await page.get_by_label("Role", exact=True).select_option("auditor")
    await page.get_by_role("button", name="Set role").click()
    await expect(page.get_by_text("has the role auditor")).to_be_visible()
    await page.get_by_label("Plan", exact=True).select_option("enterprise")
    await page.get_by_label("Requests a day").fill("1234")
    await page.get_by_role("button", name="Set plan").click()
    await expect(page.get_by_text("of 1,234")).to_be_visible()
    shown = (await operator.request("GET", f"/api/admin/users/{user.name}")).body
    assert (shown["role"], shown["plan"], shown["quota"]["limit"]) == ("auditor", "enterprise", 1234)

    await page.get_by_role("button", name="Reset password").click()
    await confirm(page, "Reset password")
    await no_serious_violations(page)
    secret = await page.get_by_role("status").filter(has_text="The new password").locator("code").inner_text()
    (await user.command("US_Read")).refused(2001, 401)
    await user.log_on(user.name, secret)
    await page.reload()
    await expect(page.get_by_role("button", name="Reset password")).to_be_visible()
    assert secret not in await page.content()

    await page.goto(f"{console.base}/console/users/{LISTED}")
    await page.get_by_label("Role", exact=True).select_option("user")
    await page.get_by_role("button", name="Set role").click()
    await expect(page.get_by_role("alert")).to_contain_text("PARLEY_OPERATORS")
    await page.goto(f"{console.base}/console/users/{user.name}-none")
    await expect(page.get_by_role("alert")).to_contain_text("code 3000")


async def test_an_operator_stops_and_starts_an_agent(console: Console, operator: Client, user: Client, unique: str):
    agent = f"{unique}-agent"
    await user.agent(agent)
    page = await console.window(operator, f"/console/users/{user.name}")
    await page.get_by_role("button", name=f"Stop {agent}").click()
    await confirm(page, "Stop")
    await expect(page.get_by_role("row", name=agent)).to_contain_text("stopped")
    (await user.command("AP_Chat", target={"agent": agent}, content="Hello")).refused(3002, 409)
    await page.reload()
    await page.get_by_role("button", name=f"Start {agent}").click()
    await confirm(page, "Start")
    await expect(page.get_by_role("row", name=agent)).to_contain_text("allowed")
    (await user.command("AP_Chat", target={"agent": agent}, content="Hello")).ok()


async def test_the_audit_log_of_all_users_loads_as_one_scrolls(console: Console, operator: Client, user: Client):
    for number in range(70):
        (await user.command("US_Update", vx={"description": f"change {number}"})).ok()
    page = await console.window(operator, "/console/audit?service=US_Update")
    table = page.get_by_role("table", name="Audit log")
    mine = table.get_by_role("row").filter(has_text=user.name)
    await expect(mine).to_have_count(50)
    await mine.last.scroll_into_view_if_needed()
    await expect(mine).to_have_count(70)
    await page.get_by_label("Act").fill("suspendUser")
    await expect(mine).to_have_count(0)
    assert (await operator.request("POST", f"/api/admin/users/{user.name}/suspend")).http == 200
    await page.get_by_role("button", name="Refresh").click()
    await expect(table.get_by_role("row").filter(has_text=user.name)).to_contain_text(LISTED)
    await expect(page).to_have_url(re.compile("service=suspendUser"))
    await no_serious_violations(page)
    await page.get_by_role("button", name="Details of suspendUser").first.click()
    await expect(page.get_by_role("dialog", name="suspendUser")).to_contain_text("ses_")
    await no_serious_violations(page)
    await page.get_by_role("button", name="Close").click()
    await page.get_by_label("Whose").select_option("My own")
    await expect(page.get_by_text("No entry fits")).to_be_visible()
    await page.get_by_label("Since").fill("2026-01-02T03:04")
    await expect(page.get_by_label("Since")).to_have_value("2026-01-02T03:04")
    await expect(page).to_have_url(re.compile("since=2026-01-0"))


async def test_users_see_their_own_log_as_far_as_their_plan_goes(console: Console, user: Client):
    (await user.command("US_Update", vx={"description": "a change"})).ok()
    page = await console.window(user, "/console/audit", viewport=PHONE)
    table = page.get_by_role("table", name="Audit log")
    await expect(table.get_by_role("row").filter(has_text="US_Update")).to_contain_text("done")
    await fits_its_width(page)
    await set_plan(user, user.name, "free")
    await page.reload()
    await expect(page.get_by_text("plans scale and enterprise")).to_be_visible()
    await no_serious_violations(page)
    await page.goto(f"{console.base}/console/users")
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
