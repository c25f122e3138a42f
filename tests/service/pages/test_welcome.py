"""`/` names the gateway and links to the documentation: a page for browsers, JSON for programs."""

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp
import pytest
from playwright.async_api import Page

from config.version import VERSION
from tests.support.gateway import Client

HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
"""The Accept headers of Firefox and Chromium."""
LINKS = {
    "docs": "/docs",
    "health": "/api/health",
    "openapi": "/api/tps/openapi.json",
    "bus": "/demo/v1/Svc/tps",
    "console": "/console",
}


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "*/*",
        "application/json, text/html;q=0.5",
        "text/html;q=0, */*",
        "text/html;q=nan",
        "text/plain",
        "",
        "not a media type",
    ],
)
async def test_programs_are_told_name_version_and_where_to_go_on_as_json(sanic_client: Client, accept: str):
    answer = await sanic_client.request("GET", "/", headers={"Accept": accept})
    assert answer.http == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Vary"] == "Accept"
    assert answer.body == {"name": "Parley", "version": VERSION, "links": LINKS}


async def test_a_client_that_says_nothing_of_what_it_accepts_gets_json(sanic_client: Client):
    host, port = urlsplit(sanic_client.base).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head = b"".join(iter(lambda: connection.recv(65_536), b"")).partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 200 ")
    assert b"content-type: application/json" in head


async def test_what_the_json_leads_to_is_there(sanic_client: Client):
    links = (await sanic_client.request("GET", "/")).body["links"]
    for path in (links["docs"], links["health"], links["openapi"], links["console"]):
        assert (await sanic_client.request("GET", path)).http == 200
    assert (await sanic_client.request("POST", links["bus"], json={"service": "AP_List"})).code == 2000


@pytest.mark.parametrize("accept", [HTML, "text/html", "application/json;q=0.5, text/html", "TEXT/HTML ; Q=0.1"])
async def test_browsers_get_a_page_that_allows_nothing_but_its_own_style_and_icon(sanic_client: Client, accept: str):
    answer = await sanic_client.request("GET", "/", headers={"Accept": accept})
    assert answer.http == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Vary"] == "Accept"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert VERSION in answer.body
    assert "POST /demo/v1/Svc/tps" in answer.body
    for path in ("/console", "/docs", "/api/health"):
        assert f'href="{path}"' in answer.body
    for foreign in ("<script", "<style", "style=", "://", "{"):
        assert foreign not in answer.body


@pytest.mark.parametrize("accept", [HTML, "application/json"])
async def test_head_answers_the_same_headers_and_no_body(sanic_client: Client, accept: str):
    async def ask(method: str) -> tuple[int, Mapping[str, str], bytes]:
        async with (
            aiohttp.ClientSession(sanic_client.base) as client,
            client.request(method, "/", headers={"Accept": accept}) as response,
        ):
            kept = ("Content-Type", "Content-Length", "ETag", "Vary", "Cache-Control")
            return response.status, {name: response.headers[name] for name in kept}, await response.read()

    status, headers, body = await ask("HEAD")
    assert (status, headers) == (await ask("GET"))[:2]
    assert status == 200
    assert body == b""
    assert int(headers["Content-Length"]) > 0


async def test_a_welcome_that_the_client_holds_is_not_sent_again(sanic_client: Client):
    page = await sanic_client.request("GET", "/", headers={"Accept": HTML})
    held = {"Accept": HTML, "If-None-Match": page.headers["ETag"]}
    assert (await sanic_client.request("GET", "/", headers=held)).http == 304
    assert (await sanic_client.request("GET", "/", headers=held | {"Accept": "application/json"})).http == 200


async def test_other_methods_are_refused_with_those_that_are_there(sanic_client: Client):
    answer = await sanic_client.request("POST", "/", json={})
    assert (answer.http, answer.code) == (405, 1006)
    assert {method.strip() for method in answer.headers["Allow"].split(",")} == {"GET", "HEAD"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_fits_a_phone_keeps_contrast_and_leads_to_the_documentation(
    sanic_client: Client, page: Page, scheme: str
):
    requested: list[str] = []
    failures: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: failures.append(str(error)))
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.set_viewport_size({"width": 320, "height": 640})

    await page.goto(sanic_client.base + "/")
    await page.wait_for_load_state("networkidle")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 320
    assert await page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    for element in ("body", ".start", "li a", "li span", "pre", "small"):
        assert await page.evaluate(CONTRAST, element) >= 4.5, element
    background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 3 * 128) == (scheme == "dark")

    await page.get_by_role("link", name="Read the API documentation").click()
    await page.locator("#api .info .title").wait_for()
    assert failures == []
    assert [url for url in requested if not url.startswith((sanic_client.base, "data:"))] == []


CONTRAST = """selector => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(selector);
  let behind = element;
  while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
  const both = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}"""
"""Return the contrast of an element's text with its background, as WCAG 2 computes it."""
