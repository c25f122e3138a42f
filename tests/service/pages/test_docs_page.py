"""The documentation page, in a real browser, over a real socket."""

import re
import socket
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import pytest
from playwright.async_api import Page, expect
from sanic import Sanic
from sanic.response import JSONResponse, json
from yarl import URL

from routes.pages.docs import docs_blueprint

SAMPLE = {
    "openapi": "3.0.3",
    "info": {
        "title": "Sample gateway",
        "version": "2026-03-19",
        "description": "Try `curl http://127.0.0.1:8000/greetings`.",
    },
    "servers": [{"url": "http://127.0.0.1:8000"}],
    "paths": {
        "/greetings": {
            "post": {
                "summary": "Send a greeting",
                "requestBody": {
                    "content": {"application/json": {"schema": {"type": "object"}, "example": {"say": "hello"}}}
                },
                "responses": {"200": {"description": "It was sent."}},
            }
        }
    },
}


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    """Serve the page and a small OpenAPI document; return the address."""
    app = Sanic("docs-page")
    app.config.AUTO_EXTEND = False
    app.config.MOTD = False
    app.config.TOUCHUP = False  # it rewrites Sanic's methods, which works once per process
    app.blueprint(docs_blueprint())

    @app.get("/api/tps/openapi.json")
    async def sample(_request: object) -> JSONResponse:
        return json(SAMPLE)

    listener = socket.create_server(("127.0.0.1", 0))  # Sanic reads port 0 as its default, 8000
    server = await app.create_server(sock=listener, return_asyncio_server=True)
    assert server is not None
    await server.startup()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    closed = server.close()
    assert closed is not None
    await closed
    Sanic.unregister_app(app)


async def test_the_page_shows_every_operation_and_asks_no_other_host(origin: str, page: Page) -> None:
    requested: list[str] = []
    failures: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: failures.append(str(error)))

    await page.goto(f"{origin}/docs")
    operation = page.get_by_text("Send a greeting")
    await operation.wait_for()
    await operation.click()
    await page.get_by_role("button", name="Try it out").click()
    await page.get_by_role("button", name="Execute").wait_for()
    await page.wait_for_load_state("networkidle")

    assert failures == []
    others = [url for url in requested if urlsplit(url).scheme != "data" and not url.startswith(f"{origin}/")]
    assert others == []
    paths = {urlsplit(url).path for url in requested}
    assert {"/docs", "/docs/assets/swagger-ui-bundle.js", "/api/tps/openapi.json"} <= paths


async def test_examples_have_the_address_of_the_gateway_that_shows_them(origin: str, page: Page) -> None:
    await page.goto(f"{origin}/docs")
    await page.get_by_text(f"curl {origin}/greetings").wait_for()


async def test_the_page_is_dark_where_the_system_is(origin: str, page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.goto(f"{origin}/docs")
    title = page.get_by_role("heading", name="Sample gateway")
    light, dark = "rgb(59, 65, 81)", "rgb(28, 32, 34)"
    await expect(page.locator("html")).to_have_css("background-color", dark)
    await expect(title).not_to_have_css("color", light)
    await page.emulate_media(color_scheme="light")
    await expect(page.locator("html")).not_to_have_css("background-color", dark)
    await expect(title).to_have_css("color", light)


async def test_the_page_leads_back_and_offers_no_choice_of_one(origin: str, page: Page) -> None:
    await page.goto(f"{origin}/docs")
    await page.get_by_text("Send a greeting").wait_for()
    await expect(page.get_by_role("combobox")).to_have_count(0)
    links = page.get_by_role("navigation", name="Parley").get_by_role("link")
    assert [await link.get_attribute("href") for link in await links.all()] == ["/", "/console"]
    async with aiohttp.ClientSession(origin) as client:
        icon = await page.locator("link[rel=icon]").get_attribute("href")
        assert icon is not None
        async with client.get(icon) as answer:
            assert (answer.status, answer.content_type) == (200, "image/svg+xml")


async def test_the_page_ignores_a_document_named_in_its_address(origin: str, page: Page) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))

    await page.goto(f"{origin}/docs?url=http://127.0.0.2:9/other.json")
    await page.get_by_text("Send a greeting").wait_for()

    assert [url for url in requested if "127.0.0.2" in url and not url.startswith(origin)] == []


async def test_the_page_forbids_foreign_and_inline_scripts(origin: str) -> None:
    async with aiohttp.ClientSession(origin) as client, client.get("/docs") as response:
        html = await response.text()
        assert response.status == 200
        assert response.content_type == "text/html"
        policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src" not in policy
    assert "<script>" not in html
    assert "://" not in html


async def test_a_versioned_asset_is_kept_for_good_and_a_plain_one_is_asked_for_again(origin: str) -> None:
    path = "/docs/assets/swagger-ui.css"
    async with aiohttp.ClientSession(origin) as client:
        async with client.get(path) as plain:
            tag = plain.headers["ETag"]
            assert plain.headers["Cache-Control"] == "no-cache"
            assert plain.content_type == "text/css"
        async with client.get("/docs") as page:
            found = re.search(rf"{re.escape(path)}\?v=([0-9a-f]+)", await page.text())
            assert found is not None
        async with client.get(path, params={"v": found[1]}) as versioned:
            assert "immutable" in versioned.headers["Cache-Control"]
        async with client.get(path, params={"v": "another"}) as stale:
            assert stale.headers["Cache-Control"] == "no-cache"
        async with client.get(path, headers={"If-None-Match": f'"other", {tag}'}) as held:
            assert held.status == 304
            assert await held.read() == b""


@pytest.mark.parametrize("name", ["VERSION", "page.html", "..%2fswagger-ui%2fVERSION", "%2e%2e"])
async def test_only_the_page_s_own_files_are_served(origin: str, name: str) -> None:
    address = URL(f"{origin}/docs/assets/{name}", encoded=True)
    async with aiohttp.ClientSession() as client, client.get(address) as response:
        assert response.status == 404
