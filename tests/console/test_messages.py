"""How messages are drawn: agents' Markdown, users' texts as they were typed, quotes as they were said."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.support.console import PHONE, Console, console_of, fits_its_width, no_serious_violations
from tests.support.console_acts import SCRIPTED, messages, say
from tests.support.gateway import Client, running

MARKDOWN = """\
# Planets

The **Sun** is a *star*; ~~Pluto~~ `Ceres` is none. See [the list](https://planets.test/list) or
https://planets.test/all, ![a picture](https://planets.test/p.png), [mail](mailto:sun@planets.test).

1. Mercury
   - no moon
     - at all
2. Venus

| planet | moons |
|:-------|------:|
| Mars   |     2 |

> A quote
> of two lines

---

```python
moons = {"Mars": 2}
print(moons)
```

[not](javascript:alert(1)) [a](/console/keys) [link](data:text/html,x) <b>bold</b> <script>alert(1)</script>
"""


@pytest.fixture(scope="module")
async def reader_and_console(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Client, Console]]:
    """A user with the agent `reader`, which answers with the texts of files, in the domain `hall`."""
    data = tmp_path_factory.mktemp("messages") / "data"
    async with running(data, script=SCRIPTED, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("writer")
        await user.agent("reader")
        (await user.command("DM_Create", target={"agent": "reader"}, vx={"name": "hall", "description": "A hall"})).ok()
        async with console_of(browser, gateway) as console:
            yield user, console


def file_of(folder: Path, name: str, text: str) -> str:
    """Write a text into a file; return the word with which the agent says it."""
    (folder / name).write_text(text, encoding="utf-8")
    return f"read:{folder / name}"


async def conversation(user: Client) -> str:
    """Begin a conversation; return its path."""
    made = (await user.command("CV_Create", target={"agent": "reader"})).ok().profile[0]
    return f"/console/chat/reader/{made['id']}"


async def addresses(message: Locator) -> list[str | None]:
    return [await link.get_attribute("href") for link in await message.get_by_role("link").all()]


@pytest.mark.parametrize("place", ["chat", "zone"])
async def test_an_agent_s_reply_is_drawn_as_markdown(
    reader_and_console: tuple[Client, Console], tmp_path: Path, place: str
):
    user, console = reader_and_console
    path = await conversation(user) if place == "chat" else "/console/zones/hall/lobby?reply=reader"
    page = await console.window(user, path, permissions=["clipboard-read", "clipboard-write"])
    await say(page, file_of(tmp_path, "reply", MARKDOWN))
    await expect(messages(page)).to_have_count(2)
    reply = messages(page).last
    await expect(reply.get_by_role("heading", name="Planets")).to_be_visible()
    for tag, text in (("strong", "Sun"), ("em", "star"), ("s", "Pluto"), ("p code", "Ceres")):
        await expect(reply.locator(f".markdown {tag}")).to_have_text(text)
    await expect(reply.locator("ol > li").first.locator("ul ul")).to_have_text("at all")
    await expect(reply.get_by_role("table").get_by_role("row")).to_have_text(["planetmoons", "Mars2"])
    await expect(reply.locator("blockquote")).to_have_text("A quoteof two lines")
    await expect(reply.locator("blockquote br")).to_have_count(1)
    await expect(reply.locator("hr")).to_have_count(1)
    planets = "https://planets.test"
    shown = [f"{planets}/list", f"{planets}/all", f"{planets}/p.png", "mailto:sun@planets.test"]
    assert await addresses(reply) == shown
    for link in await reply.get_by_role("link").all():
        assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
    await expect(reply).to_contain_text("[not](javascript:alert(1)) [a](/console/keys) [link](data:text/html,x)")
    await expect(reply).to_contain_text("<b>bold</b> <script>alert(1)</script>")
    await expect(reply.locator("b, script, img")).to_have_count(0)
    await expect(reply.locator(".code")).to_contain_text("python")
    await reply.get_by_role("button", name="Copy").click()
    await expect(reply.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == 'moons = {"Mars": 2}\nprint(moons)'
    await no_serious_violations(page)
    await page.reload()
    await expect(messages(page).last.locator("strong", has_text="Sun")).to_be_visible()


async def test_a_wide_reply_fits_a_phone(reader_and_console: tuple[Client, Console], tmp_path: Path):
    user, console = reader_and_console
    page = await console.window(user, await conversation(user), viewport=PHONE, color_scheme="dark")
    wide = f"| {' | '.join(['a-long-word'] * 20)} |\n|{'---|' * 20}\n\n```\n{'x' * 500}\n```\n\n- {'y' * 500}\n"
    await say(page, file_of(tmp_path, "wide", MARKDOWN + wide))
    await expect(messages(page)).to_have_count(2)
    await fits_its_width(page)
    await no_serious_violations(page)


async def test_what_a_user_writes_stands_as_it_was_typed(reader_and_console: tuple[Client, Console], tmp_path: Path):
    user, console = reader_and_console
    page = await console.window(user, await conversation(user))
    (tmp_path / "gate").touch()
    await say(page, f"say:done wait:{tmp_path}/gate")
    await expect(messages(page)).to_have_count(2)
    typed = "say:**a**  say:2*3*4 say:https://planets.test/x\nsay:#\n```sh\nsay:1\n```"
    await say(page, typed)
    own = messages(page).nth(2)
    await expect(own.locator(".text")).to_have_text("say:**a**  say:2*3*4 say:https://planets.test/x\nsay:#")
    await expect(own.locator(".message-text :is(strong, em, h2)")).to_have_count(0)
    assert await addresses(own) == ["https://planets.test/x"]
    await expect(own.locator(".code")).to_contain_text("sh")
    await expect(own.get_by_role("button", name="Copy")).to_be_visible()


async def test_a_reply_under_way_keeps_what_it_has_drawn(reader_and_console: tuple[Client, Console], tmp_path: Path):
    user, console = reader_and_console
    page = await console.window(user, await conversation(user))
    first = file_of(tmp_path, "first", "A **bold** word.\n\n```js\nlet one;\n```\n\n- one\n- tw")
    then = file_of(tmp_path, "then", "o **th")
    last = file_of(tmp_path, "last", "ree**\n\n[A reference][r]\n\n[r]: https://planets.test/r\n")
    await say(page, f"{first} wait:{tmp_path}/gate {then} wait:{tmp_path}/end {last}")
    reply = messages(page).nth(1)
    await expect(reply.locator("li")).to_have_text(["one", "tw"])
    await reply.evaluate("(reply) => { window.drawn = [...reply.querySelectorAll('p, strong, pre, ul, li')]; }")
    (tmp_path / "gate").touch()
    await expect(reply.locator("li").last).to_have_text("two **th")
    assert await page.evaluate("window.drawn.every((node) => node.isConnected)")
    (tmp_path / "end").touch()
    await expect(reply.locator("li strong")).to_have_text("three")
    await expect(reply).not_to_have_attribute("aria-busy", "true")
    await expect(reply.get_by_role("link")).to_have_text("A reference")


GROWING = """async (text) => {
    let parsed = 0;
    let real;
    Object.defineProperty(globalThis, "markdownit", {configurable: true, get: () => (options) => {
        const parser = real(options);
        const parse = parser.parse.bind(parser);
        parser.parse = (part, env) => { parsed += part.length; return parse(part, env); };
        return parser;
    }, set(given) { real = given; }});
    const {Markdown} = await import("/console/assets/counted/app/components/markdown.js");
    const {h, render} = globalThis.preact;
    const place = document.createElement("div");
    for (let end = 1; end <= text.length; end += 5) {
        render(h(Markdown, {text: text.slice(0, end), writing: true}), place);
    }
    const whileWriting = parsed;
    render(h(Markdown, {text}), place);
    return {parsed: whileWriting, text: place.textContent, elements: place.querySelectorAll("*").length};
}"""


@pytest.mark.parametrize("block", ["Some **bold** words in a paragraph.\n\n", "- an *item* of a list\n", "| a | b |\n"])
async def test_a_long_reply_is_not_read_anew_with_each_word(reader_and_console: tuple[Client, Console], block: str):
    user, console = reader_and_console
    page = await console.window(user, "/console/agents")
    text = ("| c | d |\n|---|---|\n" if block.startswith("|") else "") + block * (12_000 // len(block))
    grown: Any = await page.evaluate(GROWING, text)
    assert grown["parsed"] < 400 * len(text)  # all of it each time would be 1,200 times its length
    assert grown["elements"] > 500


DRAWN = """async (text) => {
    const {Markdown} = await import("/console/assets/drawn/app/components/markdown.js");
    const {h, render} = globalThis.preact;
    const place = document.createElement("div");
    document.body.append(place);
    render(h(Markdown, {text}), place);
    const drawn = {text: place.textContent, elements: place.querySelectorAll("*").length};
    place.remove();
    return drawn;
}"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name)
        for name, text in {
            "brackets": "[" * 10_000,
            "links": "[" * 10_000 + "a" + "](b)" * 10_000,
            "quotes": ">" * 10_000 + " end",
            "stars": "*" * 10_000,
            "strong in strong": "**a " * 2_000 + "b" + "**" * 2_000,
            "lists in lists": "\n".join(" " * 2 * depth + "- a" for depth in range(300)),
            "cells": "|a" * 5_000 + "\n" + "|-" * 5_000 + "\n" + "|b\n" * 2_000,
            "a long text": "**word** `code` " * 31_250,
        }.items()
    ],
)
async def test_hostile_text_is_shown_whole_and_stops_nothing(reader_and_console: tuple[Client, Console], text: str):
    user, console = reader_and_console
    page = await console.window(user, "/console/agents")
    drawn: Any = await page.evaluate(DRAWN, text)
    assert drawn["text"].count("a") == text.count("a")
    assert drawn["text"].count("end") == text.count("end")
    assert drawn["elements"] < 25_000


async def test_quotes_stand_as_they_were_said(console: Console, user: Client, unique: str):
    agent = f"{unique}-agent"
    await user.agent(agent)
    page = await console.window(user, f"/console/chat/{agent}")
    await say(page, "The volume of the crate is 2*3*4 and its key __init__ or [red](https://planets.test/red).")
    await expect(messages(page)).to_have_count(2)
    await say(page, "What is the volume of the crate?")
    await expect(messages(page)).to_have_count(4)
    reply = messages(page).last
    await expect(reply.locator(".message-text")).to_contain_text("2*3*4 and its key __init__ or [red](https")
    await expect(reply.locator(".message-text :is(strong, em)")).to_have_count(0)
    await no_serious_violations(page)
