"""The page of API keys: made with scopes, shown once, refused for what they are not for, revoked."""

from playwright.async_api import Page, expect

from tests.support.console import PHONE, Console, fits_its_width, no_serious_violations
from tests.support.console_acts import confirm, says
from tests.support.gateway import Answer, Client
from tests.support.operator import set_plan


async def allow(page: Page, kind: str, *names: str) -> None:
    """Limit the new key to some names of a kind, with the keyboard."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label(kind, exact=True).select_option("some")
    field = dialog.get_by_role("combobox", name=f"Allowed {kind.lower()}")
    for name in names:
        await field.fill(name)
        await field.press("Enter")
        await expect(dialog.get_by_role("button", name=f"Remove {name}")).to_be_visible()


async def with_key(client: Client, key: str, service: str, **body: object) -> Answer:
    return await client.as_user().command(service, headers={"X-Api-Key": key}, **body)


async def test_a_key_with_scopes_is_refused_for_what_it_may_not_do_and_then_revoked(
    console: Console, user: Client, unique: str
):
    allowed, other = f"{unique}-allowed", f"{unique}-other"
    for agent in (allowed, other):
        await user.agent(agent, profile="The telescope is open on Friday.")
    page = await console.window(user, "/console/keys")
    await expect(page.get_by_text("No keys yet")).to_be_visible()
    await no_serious_violations(page)
    await page.get_by_role("button", name="New API key").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("site chat")
    await dialog.get_by_label("Expires").select_option("other")
    await dialog.get_by_label("Days").fill("7")
    await dialog.get_by_label("Requests a day").fill("20")
    await allow(page, "Services", "AP_Chat", "AP_R*")
    await allow(page, "Agents", allowed)
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("there is no service 'AP_R*'")
    await dialog.get_by_role("button", name="Remove AP_R*").click()
    await allow(page, "Services", "AP_List")
    await dialog.get_by_role("button", name="Create").click()
    shown = dialog.locator("code")
    await expect(shown).to_contain_text("plk_")
    key = await shown.inner_text()
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Done").click()
    assert key not in await page.content()

    (await with_key(user, key, "AP_Chat", target={"agent": allowed}, content="When is it open?")).ok()
    listed = (await with_key(user, key, "AP_List")).ok()
    assert [agent["name"] for agent in listed.profile] == [allowed]
    (await with_key(user, key, "AP_Chat", target={"agent": other}, content="And you?")).refused(2003, 403)
    (await with_key(user, key, "AP_Destroy", target={"agent": allowed})).refused(2003, 403)

    row = page.get_by_role("row").filter(has_text="site chat")
    await expect(row).to_contain_text("AP_Chat")
    await expect(row).to_contain_text(allowed)
    await page.reload()
    await expect(row).to_contain_text("just now")
    await row.get_by_role("button", name="Revoke").click()
    await confirm(page, "Revoke")
    await says(page, "site chat was revoked.")
    await expect(row).to_have_count(0)
    (await with_key(user, key, "AP_List")).refused(2001, 401)


async def test_a_name_that_is_typed_but_not_added_counts_when_the_key_is_created(
    console: Console, user: Client, unique: str
):
    agent = f"{unique}-scout"
    await user.agent(agent)
    await user.agent(f"{unique}-other")
    page = await console.window(user, "/console/keys")
    await page.get_by_role("button", name="New API key").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("site chat")
    await dialog.get_by_label("Agents", exact=True).select_option("some")
    await dialog.get_by_role("combobox", name="Allowed agents").fill(agent)
    await dialog.get_by_role("button", name="Create").click()
    key = await dialog.locator("code").inner_text()
    listed = (await with_key(user, key, "AP_List")).ok()
    assert [listed_agent["name"] for listed_agent in listed.profile] == [agent]


async def test_a_key_stays_shown_after_a_double_click_and_a_click_beside_it(console: Console, user: Client):
    page = await console.window(user, "/console/keys")
    await page.get_by_role("button", name="New API key").first.dblclick()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("hasty")
    create = dialog.get_by_role("button", name="Create")
    await create.scroll_into_view_if_needed()
    place = await create.bounding_box()
    assert place is not None
    at = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    await page.mouse.click(*at)
    await expect(dialog.locator("code")).to_contain_text("plk_")
    await page.mouse.down(click_count=2)
    await page.mouse.up(click_count=2)
    await page.mouse.click(5, 5)
    await expect(dialog.locator("code")).to_contain_text("plk_")
    await dialog.get_by_role("button", name="Done").click()
    await expect(dialog).to_have_count(0)


async def test_a_key_that_only_reads_changes_nothing(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-scout")
    page = await console.window(user, "/console/keys", viewport=PHONE, color_scheme="dark")
    await page.get_by_role("button", name="New API key").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("reports")
    await dialog.get_by_label("Reads only").check()
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.locator("code")).to_contain_text("plk_")
    key = await dialog.locator("code").inner_text()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("row").filter(has_text="reports")).to_contain_text("reads only")
    await fits_its_width(page)
    await no_serious_violations(page)
    (await with_key(user, key, "AP_Read", target={"agent": f"{unique}-scout"})).ok()
    (await with_key(user, key, "AP_LogOff", target={"agent": f"{unique}-scout"})).refused(2003, 403)


async def test_a_free_plan_is_told_what_to_do(console: Console, user: Client):
    await set_plan(user, user.name, "free")
    page = await console.window(user, "/console/keys", viewport=PHONE)
    await expect(page.get_by_text("Your plan has no API keys")).to_be_visible()
    await expect(page.get_by_text("Ask the operator of this gateway")).to_be_visible()
    await expect(page.get_by_role("button", name="New API key")).to_have_count(0)
    await fits_its_width(page)
    await no_serious_violations(page)


async def test_a_key_s_actions_stay_in_view_on_a_narrow_screen(console: Console, user: Client):
    assert (await user.request("POST", "/api/api-keys", json={"name": "a key"})).http == 201
    page = await console.window(user, "/console/keys", viewport={"width": 900, "height": 700})
    await expect(page.get_by_role("button", name="Revoke")).to_be_in_viewport(ratio=1)
