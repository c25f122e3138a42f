"""The page of webhooks: endpoints with their secrets; deliveries that fail, are retried and recovered."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.console import PHONE, Console, console_of, fits_its_width, no_serious_violations
from tests.support.console_acts import LINES, confirm, says
from tests.support.gateway import Client, GatewayProcess, running
from tests.support.operator import SETTINGS
from tests.support.receiver import Receiver, receiving, status, thanks


@pytest.fixture(scope="module")
async def impatient(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway that gives a delivery up after its second attempt."""
    data = tmp_path_factory.mktemp("impatient") / "data"
    webhooks = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_WEBHOOKS_RETRY_DELAYS_S": "0.3"}
    async with running(data, **webhooks, **SETTINGS) as gateway:
        yield gateway


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as started:
        yield started


async def endpoint_of(user: Client, receiver: Receiver, *events: str) -> str:
    body = {"url": receiver.url, "events": list(events)}
    return (await user.request("POST", "/api/webhooks/endpoints", json=body)).body["id"]


def deliveries(page: Page) -> Locator:
    return page.get_by_role("list", name="Deliveries").locator("> li")


async def send_test(page: Page) -> None:
    await page.get_by_role("button", name="Send a test event").click()
    await page.get_by_role("dialog").get_by_label("Data").fill('{"n": 1}')
    await confirm(page, "Send")


async def test_a_delivery_that_failed_is_retried_once_the_receiver_works(
    browser: Browser, impatient: GatewayProcess, receiver: Receiver, unique: str
):
    async with console_of(browser, impatient) as console, impatient.client() as client:
        user = await client.register(f"{unique}-user")
        receiver.answer = status(500)
        id = await endpoint_of(user, receiver, "webhook.test")
        page = await console.window(user, f"/console/webhooks/{id}")
        await expect(page.get_by_text("No deliveries yet")).to_be_visible()
        await send_test(page)
        await says(page, "The event is on its way to 1 endpoint.")
        failed = deliveries(page).first
        await expect(failed).to_contain_text("exhausted")  # without a reload
        await failed.get_by_role("button", name="webhook.test").click()
        attempts = failed.get_by_role("table", name="Attempts")
        await expect(attempts.get_by_role("row")).to_have_count(3)
        await expect(attempts.get_by_role("row").last).to_contain_text("http_status")
        await expect(attempts.get_by_role("row").last).to_contain_text("status 500")
        await no_serious_violations(page)

        receiver.answer = thanks
        await failed.get_by_role("button", name="Retry now").click()
        await says(page, "The event is delivered again.")
        await expect(deliveries(page)).to_have_count(2)
        again = deliveries(page).first
        await expect(again).to_contain_text("succeeded")
        await expect(again.get_by_role("table", name="Attempts")).to_contain_text("200")
        assert [got.event["data"] for got in await receiver.got(3)] == [{"n": 1}] * 3

        await page.get_by_label("State").select_option("exhausted")
        await expect(deliveries(page)).to_have_count(1)
        await expect(page).to_have_url(re.compile("state=exhausted"))
        other = await console.window(user, page.url.removeprefix(console.base))
        await expect(deliveries(other)).to_have_count(1)
        await expect(other.get_by_label("State")).to_have_value("exhausted")


async def test_what_failed_is_recovered(browser: Browser, impatient: GatewayProcess, receiver: Receiver, unique: str):
    async with console_of(browser, impatient) as console, impatient.client() as client:
        user = await client.register(f"{unique}-user")
        receiver.answer = status(503)
        id = await endpoint_of(user, receiver, "webhook.test")
        page = await console.window(user, f"/console/webhooks/{id}", viewport=PHONE)
        for _ in range(2):
            await send_test(page)
        await expect(deliveries(page).filter(has_text="exhausted")).to_have_count(2)
        receiver.answer = thanks
        await page.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Recover what failed").click()
        await no_serious_violations(page)
        await confirm(page, "Recover")
        await says(page, "2 deliveries queued again.")
        await expect(deliveries(page).filter(has_text="succeeded")).to_have_count(2)
        await fits_its_width(page)


async def test_an_endpoint_is_made_paused_rotated_and_deleted(console: Console, user: Client, receiver: Receiver):
    page = await console.window(user, "/console/webhooks", color_scheme="dark")
    await expect(page.get_by_text("No endpoints yet")).to_be_visible()
    await no_serious_violations(page)
    await page.get_by_role("button", name="New endpoint").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("URL").fill(receiver.url)
    await dialog.get_by_label("Events", exact=True).select_option("some")
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Choose at least one event")
    await dialog.get_by_label("quota.*", exact=True).check()
    await expect(dialog.get_by_label("quota.threshold.reached", exact=True)).to_be_disabled()
    await dialog.get_by_label("webhook.test", exact=True).check()
    await no_serious_violations(page)
    await dialog.get_by_role("button", name="Create").click()
    secret = dialog.locator("code")
    await expect(secret).to_contain_text("whsec_")
    await page.mouse.click(5, 5)  # beside the dialog
    first = await secret.inner_text()
    await expect(dialog.get_by_role("button", name="Copy")).to_be_visible()
    await dialog.get_by_role("button", name="Done").click()
    await expect(page.get_by_role("heading", name=receiver.url)).to_be_visible()
    assert first not in await page.content()
    [made] = (await user.request("GET", "/api/webhooks/endpoints")).body["endpoints"]
    assert sorted(made["events"]) == ["quota.*", "webhook.test"]

    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("paused", exact=True)).to_be_visible()
    await send_test(page)
    await says(page, "No active endpoint takes this event.")
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("active", exact=True)).to_be_visible()

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Rotate the secret").click()
    await dialog.get_by_label("The old secret").select_option("now")
    await dialog.get_by_role("button", name="Rotate").click()
    await expect(secret).to_contain_text("whsec_")
    await page.mouse.click(5, 5)
    assert await secret.inner_text() != first
    await dialog.get_by_role("button", name="Done").click()

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await dialog.get_by_label("How").select_option("hard")
    await confirm(page, "Delete")
    await expect(page.get_by_text("No endpoints yet")).to_be_visible()
    assert (await user.request("GET", "/api/webhooks/endpoints")).body["endpoints"] == []


async def test_a_form_takes_nothing_back_that_was_changed_meanwhile(console: Console, user: Client, receiver: Receiver):
    id = await endpoint_of(user, receiver)
    path = f"/api/webhooks/endpoints/{id}"
    page = await console.window(user, f"/console/webhooks/{id}")
    await page.get_by_role("button", name="Change").click()
    await page.get_by_role("dialog").get_by_label("Description").fill("For tests")
    assert (await user.request("PATCH", path, json={"events": ["webhook.test"]})).http == 200
    await confirm(page, "Save")
    (endpoint,) = (await user.request("GET", "/api/webhooks/endpoints")).body["endpoints"]
    assert (endpoint["description"], endpoint["events"]) == ("For tests", ["webhook.test"])


async def test_wrong_input_is_told_with_the_gateway_s_note(console: Console, user: Client, receiver: Receiver):
    page = await console.window(user, "/console/webhooks?tab=deliveries", viewport=PHONE)
    await expect(page.get_by_text("No deliveries yet")).to_be_visible()
    await page.get_by_role("button", name="New endpoint").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("URL").fill("ftp://example.com/")
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("code 1003")
    await dialog.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Send a test event").click()
    await dialog.get_by_label("Data").fill("{no JSON")
    await dialog.get_by_role("button", name="Send").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The data is not JSON")
    await fits_its_width(page)
    await no_serious_violations(page)


async def test_a_change_of_an_endpoint_s_address_leaves_its_description_as_it_is(
    console: Console, user: Client, receiver: Receiver
):
    body = {"url": receiver.url, "description": LINES}
    id = (await user.request("POST", "/api/webhooks/endpoints", json=body)).body["id"]
    page = await console.window(user, f"/console/webhooks/{id}")
    await page.get_by_role("button", name="Change", exact=True).click()
    await page.get_by_role("dialog").get_by_label("URL").fill(f"{receiver.url}?other")
    await confirm(page, "Save")
    (changed,) = (await user.request("GET", "/api/webhooks/endpoints")).body["endpoints"]
    assert (changed["url"], changed["description"]) == (f"{receiver.url}?other", LINES)
