"""The bus explorer: forms from the schema of each command, answers, streams, and what it copies."""

import ast
import asyncio
import inspect
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from playwright.async_api import Browser, Page, expect

from actors.commands.table import COMMANDS
from parley_client import Parley
from tests.support.console import PHONE, WAIT_MS, Console, console_of, fits_its_width, no_serious_violations
from tests.support.gateway import CHECKOUT, PASSWORD, Client, running
from tests.support.operator import set_plan

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
SCRIPTED = CHECKOUT / "tests" / "gateways" / "scripted.py"
NOTICES_COPIED = """(button) => {
    globalThis.copied = new Promise((resolve) => {
        const look = () => button.textContent.includes("Copied") && resolve();
        new MutationObserver(look).observe(button, { subtree: true, childList: true, characterData: true });
    });
}"""
"""Whatever the machine's pace, because a button says it for two seconds only."""

NASTY = """it's "$HOME" `id` $(id) \\n \\ %s {x} #!& é 🌕 '''\n--data @/etc/hostname"""


def field(page: Page, path: str):
    return page.locator(f'[name="{path}"]')


async def send(page: Page) -> None:
    await page.get_by_role("button", name="Send", exact=True).click()


async def copied(page: Page, label: str) -> str:
    """Copy with a button; return what is in the clipboard once that button says so."""
    button = page.get_by_role("button", name=label)
    await button.evaluate(NOTICES_COPIED)
    await button.click()
    await page.evaluate("globalThis.copied")
    return await page.evaluate("navigator.clipboard.readText()")


async def output_of(*command: str, key: str | None) -> str:
    """Run a pasted text as its reader would, with the key in the environment."""
    path = os.pathsep.join([str(CHECKOUT / "clients" / "python" / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path} | ({"PARLEY_API_KEY": key} if key else {})
    ran = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment
    )
    out, err = await asyncio.wait_for(ran.communicate(), 60)
    assert ran.returncode == 0, err.decode()
    return out.decode()


async def test_a_command_is_found_filled_in_and_sent(console: Console, user: Client, unique: str):
    page = await console.window(user, "/console/explorer")
    commands = page.get_by_role("navigation", name="Commands")
    await expect(commands.get_by_role("listitem")).to_have_count(len(COMMANDS))
    await page.get_by_label("Search commands").fill("make an agent")
    await expect(page.get_by_text("No command found. Try fewer words.")).to_be_visible()
    await page.get_by_label("Search commands").fill("ap_ crea")
    await commands.get_by_role("link", name="AP_Create").click()
    await expect(page.get_by_role("heading", name="AP_Create")).to_be_visible()

    await field(page, "vx.name").fill(f"{unique}-made")
    await expect(field(page, "vx.description")).to_have_attribute("required", "")
    await field(page, "vx.description").fill("Made in the explorer")
    await field(page, "vx.access").select_option("public")
    await send(page)
    await expect(page.get_by_text("Success 200")).to_be_visible()
    await expect(page.get_by_role("region", name="Body of the answer")).to_contain_text('"Made in the explorer"')
    made = (await user.command("AP_Read", target={"agent": f"{unique}-made"})).ok().profile[0]
    assert made["access"] == "public"
    await no_serious_violations(page)


async def test_the_window_s_title_names_the_command(console: Console, user: Client):
    page = await console.window(user, "/console/explorer")
    await expect(page).to_have_title("Bus explorer · Parley")
    await page.get_by_role("link", name="AP_List").click()
    await expect(page).to_have_title("AP_List · Bus explorer · Parley")


async def test_an_answer_shows_what_is_left_of_the_quota(console: Console, user: Client):
    await set_plan(user, user.name, "builder")
    page = await console.window(user, "/console/explorer/US_Read")
    await send(page)
    answer = page.get_by_role("region", name="Answer")
    await expect(answer.get_by_role("status")).to_contain_text("Success 200")
    left = (await user.command("US_Read")).profile[0]["quota"]["remaining"] + 1
    await expect(answer.get_by_role("status")).to_contain_text(f'"day";r={left}')
    await expect(answer.get_by_role("status")).to_contain_text("X-Request-Id")


async def test_the_link_holds_the_values_but_never_a_password(console: Console, user: Client):
    page = await console.window(user, "/console/explorer/US_Update?vx.description=From+the+link")
    await expect(field(page, "vx.description")).to_have_value("From the link")
    await field(page, "vx.profile").fill("It's 100 % & more")
    await field(page, "vx.secret").fill("a secret password")
    await expect(field(page, "vx.secret")).to_have_attribute("type", "password")
    await page.wait_for_url("**/US_Update?*more*")
    assert parse_qs(urlsplit(page.url).query) == {
        "vx.description": ["From the link"],
        "vx.profile": ["It's 100 % & more"],
    }
    await page.get_by_role("button", name="JSON", exact=True).click()
    written = json.loads(await page.get_by_label("Request as JSON").input_value())
    assert written["vx"]["secret"] == "a secret password"
    await page.wait_for_url("**/US_Update?*raw*")
    assert "password" not in page.url
    again = await console.window(user, page.url.removeprefix(console.base))
    read = json.loads(await again.get_by_label("Request as JSON").input_value())
    assert read == {"vx": {"description": "From the link", "profile": "It's 100 % & more"}}
    await again.get_by_role("button", name="Form", exact=True).click()
    await expect(field(again, "vx.profile")).to_have_value("It's 100 % & more")
    await expect(field(again, "vx.secret")).to_have_value("")


async def test_a_page_with_long_texts_can_be_loaded_again(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    page = await console.window(user, "/console/explorer/AP_Create")
    for path, text in (("vx.description", "é" * 3500), ("vx.profile", "漢" * 3500), ("vx.name", "short")):
        await field(page, path).fill(text)
    await expect(page).to_have_url(re.compile("vx.name=short"))
    await page.reload()
    await expect(field(page, "vx.name")).to_have_value("short")

    (await user.command("MB_Create", vx={"name": f"{unique}-bank", "description": "Notes"})).ok()
    await page.goto(f"{console.base}/console/banks/{unique}-bank")
    search = page.get_by_label("Search the texts")
    await search.click()
    await page.keyboard.insert_text("漢" * 3000)
    await search.press("Enter")
    await expect(page.get_by_text("Nothing found in this bank")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Nothing found in this bank")).to_be_visible()


async def test_a_refusal_shows_code_and_note_and_leads_to_the_documentation(
    console: Console, browser: Browser, user: Client
):
    page = await console.window(user, "/console/explorer/AP_Read?target.agent=nobody-of-that-name")
    await send(page)
    refusal = page.get_by_role("alert")
    await expect(refusal).to_contain_text("Code 3000")
    await expect(refusal).to_contain_text("no such agent")
    await expect(page.get_by_text("Refused 404")).to_be_visible()
    await no_serious_violations(page)
    link = await refusal.get_by_role("link").get_attribute("href")
    docs = await browser.new_page()  # Swagger UI complains of names with "_" in links
    await docs.goto(f"{console.base}{link}")
    # Swagger UI takes a while to draw all commands
    await expect(docs.get_by_text("On the bus: service is AP_Read.")).to_be_visible(timeout=2 * WAIT_MS)
    await docs.close()


async def test_a_text_that_is_no_json_object_is_not_sent(console: Console, user: Client):
    page = await console.window(user, "/console/explorer/US_Read?mode=json")
    await page.get_by_label("Request as JSON").fill('["no object"]')
    await expect(page.get_by_text("A request is a JSON object")).to_be_visible()
    await send(page)
    await expect(page.get_by_text("No answer yet")).to_be_visible()
    await page.get_by_label("Request as JSON").fill('{"target": {"agnet": "x"}}')
    await send(page)
    await expect(page.get_by_role("alert")).to_contain_text("Code 1003")


async def test_a_link_to_one_command_never_sends_another(console: Console, user: Client, unique: str):
    victim = f"{unique}-victim"
    await user.agent(victim, select=False)
    raw = quote(json.dumps({"service": "AP_Destroy", "target": {"agent": victim}}))
    page = await console.window(user, f"/console/explorer/AP_List?mode=json&raw={raw}", **CLIPBOARD)
    await expect(page.get_by_text("This page sends AP_List")).to_be_visible()
    await send(page)
    await expect(page.get_by_text("No answer yet")).to_be_visible()
    await page.get_by_label("Request as JSON").fill(json.dumps({"service": "AP_List", "target": {"agent": victim}}))
    assert '{"service":"AP_List",' in await copied(page, "Copy as curl")
    assert f'client.agents.list(agent="{victim}")' in await copied(page, "Copy as Python")
    await send(page)
    await expect(page.get_by_text("Success 200")).to_be_visible()
    (await user.command("AP_Read", target={"agent": victim})).ok()


async def test_nothing_is_copied_while_the_json_is_invalid(console: Console, user: Client):
    page = await console.window(user, "/console/explorer/US_Read?mode=json")
    copies = page.get_by_role("button", name=re.compile("^Copy as (curl|Python)$"))
    await page.get_by_label("Request as JSON").fill("{")
    for at in range(2):
        await expect(copies.nth(at)).to_be_disabled()
    await page.get_by_label("Request as JSON").fill("{}")
    for at in range(2):
        await expect(copies.nth(at)).to_be_enabled()


async def test_removing_is_asked_about_first(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-gone", select=False)
    page = await console.window(user, f"/console/explorer/AP_Destroy?target.agent={unique}-gone")
    await send(page)
    await page.get_by_role("button", name="Cancel").click()
    (await user.command("AP_Read", target={"agent": f"{unique}-gone"})).ok()
    await send(page)
    await page.get_by_role("dialog").get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Success 200")).to_be_visible()
    (await user.command("AP_Read", target={"agent": f"{unique}-gone"})).refused(3000, 404)


async def test_the_copied_curl_and_python_do_the_same_as_pasted(console: Console, user: Client, unique: str):
    agent = f"{unique}-copied"
    await user.agent(agent)
    page = await console.window(user, f"/console/explorer/AP_Chat?target.agent={agent}", **CLIPBOARD)
    await field(page, "content").fill(NASTY)
    curl = await copied(page, "Copy as curl")
    answered = json.loads(await output_of("sh", "-c", curl, key=user.token))
    assert answered["content"][0]["content"] == NASTY
    await page.wait_for_url("**&content=*")
    await page.reload()
    await expect(field(page, "content")).to_have_value(NASTY)
    await output_of(sys.executable, "-c", await copied(page, "Copy as Python"), key=user.token)
    await page.get_by_label("Stream the answer").check()
    streamed = await output_of("sh", "-c", await copied(page, "Copy as curl"), key=user.token)
    assert "event: response" in streamed
    await output_of(sys.executable, "-c", await copied(page, "Copy as Python"), key=user.token)
    history = (await user.command("AP_History", target={"agent": agent})).ok().content
    assert [message["content"] for message in history if message["role"] == "user"] == [NASTY] * 4


async def test_a_copied_program_has_a_placeholder_for_the_password(console: Console, user: Client):
    page = await console.window(user, "/console/explorer/US_LogOn", **CLIPBOARD)
    await field(page, "target.user").fill(user.name)
    await field(page, "vx.secret").fill(PASSWORD)
    for label in ("Copy as curl", "Copy as Python"):
        text = await copied(page, label)
        assert PASSWORD not in text
        assert "YOUR_PASSWORD" in text
    curl = await copied(page, "Copy as curl")
    answered = json.loads(await output_of("sh", "-c", curl.replace("YOUR_PASSWORD", PASSWORD), key=None))
    assert answered["content"][0]["token"]


async def test_the_python_of_every_command_fits_the_client(console: Console, user: Client):
    page = await console.window(user, "/console/explorer")
    await expect(page.get_by_role("link", name="AP_Chat")).to_be_visible()
    programs = await page.evaluate("""async () => {
        const assets = document.querySelector("script[type=module]").src.replace("app.js", "pages/explorer/");
        const { asPython } = await import(assets + "request.js");
        const { loadCommands } = await import(assets + "schema.js");
        const value = ({ type, choices }) => choices ? choices[0] : type === "integer" ? 1 : "some text";
        const part = (path) => path.split(".");
        const program = (command) => {
            const body = {};
            for (const member of command.members) {
                const [name, inner] = part(member.path);
                if (inner) body[name] = { ...body[name], [inner]: value(member) };
                else body[name] = value(member);
            }
            return asPython(command, body, { origin: "http://127.0.0.1:1", brand: "Svc", after: "7" });
        };
        return Object.fromEntries((await loadCommands()).map((command) => [command.service, program(command)]));
    }""")
    assert programs.keys() == COMMANDS.keys()
    client = Parley("http://127.0.0.1:1")
    for service, program in programs.items():
        calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
        (call,) = [node for node in calls if ast.unparse(node.func).startswith("client.")]
        _, group, name = ast.unparse(call.func).split(".")
        method = getattr(getattr(client, group), name)
        inspect.signature(method).bind(**{str(given.arg): None for given in call.keywords})
        members = {path.rpartition(".")[2] for path in COMMANDS[service].uses}
        assert {given.arg for given in call.keywords} - {"after"} == members - {"after"}, service
    client.close()


async def test_pieces_are_shown_as_they_come_and_can_be_stopped(browser: Browser, tmp_path: Path):
    gate, never = tmp_path / "gate", tmp_path / "never"
    async with (
        running(tmp_path / "data", script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise") as gateway,
        gateway.client() as nobody,
        console_of(browser, gateway) as console,
    ):
        user = await nobody.register("stream-user")
        await user.agent("streamer")
        page = await console.window(user, "/console/explorer/AP_Chat?stream=yes&target.agent=streamer")
        reply = page.get_by_role("log", name="Text of the reply")
        await field(page, "content").fill(f"say:first wait:{gate} say:last")
        await send(page)
        await expect(reply).to_have_text("first")
        await expect(page.get_by_text("streaming", exact=True)).to_be_visible()
        gate.touch()
        await expect(reply).to_have_text("firstlast")
        await expect(page.get_by_text("Success 200")).to_be_visible()
        await page.get_by_role("tab", name="Events (3)").click()
        await expect(page.get_by_role("log", name="Events")).to_contain_text("8.end".replace("8", "9"))
        await no_serious_violations(page)

        await field(page, "content").fill(f"say:begun wait:{never}")
        await send(page)
        await expect(reply).to_have_text("begun")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("stopped by you")).to_be_visible()
        never.touch()


async def test_a_followed_zone_shows_its_events_until_it_is_stopped(console: Console, user: Client, unique: str):
    await user.agent(f"{unique}-zoner")
    domain = f"{unique}-domain"
    (await user.command("DM_Create", vx={"name": domain, "description": "For the explorer"})).ok()
    page = await console.window(user, f"/console/explorer/ZN_Stream?target.domain={domain}")
    await send(page)
    await expect(page.get_by_text("Nothing has happened yet.")).to_be_visible()
    for text in ("one", "two"):
        (await user.command("ZN_Post", target={"domain": domain}, content=f"say {text}")).ok()
        await expect(page.get_by_role("log", name="Events")).to_contain_text(f'"content":"say {text}"')
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("stopped by you")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


async def test_the_explorer_by_keyboard_in_the_dark_and_on_a_phone(console: Console, user: Client):
    page = await console.window(user, "/console/explorer", color_scheme="dark")
    await page.get_by_label("Search commands").focus()
    await page.keyboard.type("us_read")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="US_Read")).to_be_visible()
    await page.get_by_role("button", name="Send", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Success 200")).to_be_visible()
    await no_serious_violations(page)

    phone = await console.window(user, "/console/explorer", viewport=PHONE)
    await phone.get_by_role("link", name="AP_Create").click()
    await fits_its_width(phone)
    await phone.get_by_role("button", name="Fill in an example").click()
    await no_serious_violations(phone)
    await phone.get_by_label("vx.name").focus()
    await phone.keyboard.press("Control+Enter")
    await expect(phone.get_by_role("heading", name="Answer")).to_be_in_viewport()
    await phone.get_by_role("link", name="Commands").click()
    await expect(phone.get_by_role("link", name="AP_Create")).to_be_visible()
    await fits_its_width(phone)


async def test_a_chosen_command_leaves_the_list_in_its_place(console: Console, user: Client):
    page = await console.window(user, "/console/explorer")
    search = page.get_by_label("Search commands")
    before = await search.bounding_box()
    await page.get_by_role("link", name="AP_Chat").click()
    await expect(page.get_by_role("heading", name="AP_Chat")).to_be_visible()
    assert await search.bounding_box() == before
