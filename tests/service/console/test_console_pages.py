"""The console's page and files (docs/contract.md, "The console")."""

import re

import aiohttp
import pytest
from yarl import URL

from tests.support.gateway import CHECKOUT, Client

VIEWS = ("/console", "/console/", "/console/agents", "/console/agents/a.b", "/console/zones/dom.ain/lobby?q=1#x")
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


async def test_every_view_is_the_same_page_with_a_strict_policy(sanic_client: Client):
    answers = [await sanic_client.request("GET", view) for view in VIEWS]
    assert {answer.http for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    for answer in answers:
        headers = answer.headers
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy == POLICY
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-cache"
        assert headers["X-Request-Id"]
        assert "Set-Cookie" not in headers


async def test_the_page_has_no_script_or_style_inline_and_names_no_other_host(sanic_client: Client):
    page = (await sanic_client.request("GET", "/console")).body
    assert "://" not in page
    assert "{" not in page
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page, re.IGNORECASE)
    for tag in re.findall(r"<script[^>]*>", page):
        assert " src=" in tag


async def test_every_file_that_the_page_names_is_there_and_kept_for_a_year(sanic_client: Client):
    page = (await sanic_client.request("GET", "/console")).body
    named = re.findall(r'(?:src|href)="(/console/assets/[^"]+)"', page)
    assert named
    for path in named:
        answer = await sanic_client.request("GET", path)
        assert answer.http == 200, path
        assert "immutable" in answer.headers["Cache-Control"]
        assert "max-age=31536000" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_modules_import_only_files_that_are_served(sanic_client: Client):
    page = (await sanic_client.request("GET", "/console")).body
    found = re.search(r"/console/assets/[0-9a-f]{16}", page)
    assert found is not None
    for module in sorted((CHECKOUT / "console" / "app").rglob("*.js")):
        path = f"{found[0]}/{module.relative_to(CHECKOUT / 'console').as_posix()}"
        answer = await sanic_client.request("GET", path)
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        imported = re.findall(r"""(?:from|import\()\s*["'](\.[^"']+)["']""", module.read_text())
        for name in imported:
            assert (module.parent / name).resolve().is_file(), (module, name)


async def test_a_file_under_another_version_is_served_and_asked_for_again(sanic_client: Client):
    path = "/console/assets/older/vendor/preact/preact.umd.js"
    answer = await sanic_client.request("GET", path)
    assert (answer.http, answer.headers["Cache-Control"]) == (200, "no-cache")
    held = {"If-None-Match": answer.headers["ETag"]}
    assert (await sanic_client.request("GET", path, headers=held)).http == 304


async def test_a_page_that_the_browser_holds_is_not_sent_again(sanic_client: Client):
    tag = (await sanic_client.request("GET", "/console")).headers["ETag"]
    assert (await sanic_client.request("GET", "/console/keys", headers={"If-None-Match": tag})).http == 304


@pytest.mark.parametrize("path", ["/console", "/console/agents", "/console/assets/x/vendor/htm/htm.umd.js"])
async def test_head_answers_the_same_headers_and_no_body(sanic_client: Client, path: str):
    async def ask(method: str) -> tuple[int, dict[str, str], bytes]:
        async with aiohttp.ClientSession(sanic_client.base) as http, http.request(method, path) as response:
            kept = ("Content-Type", "Content-Length", "ETag", "Cache-Control")
            return response.status, {name: response.headers[name] for name in kept}, await response.read()

    status, headers, body = await ask("HEAD")
    assert (status, headers) == (await ask("GET"))[:2]
    assert (status, body) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "app/page.html",
        "vendor/preact/VERSION",
        "vendor/preact/SHA256SUMS",
        "app/../../server.py",
        "app/..%2f..%2fserver.py",
        "..%2f..%2fserver.py",
        "%2e%2e/server.py",
        "welcome/welcome.css",
        "app/",
        "app",
        "app/%00.js",
    ],
)
async def test_only_the_console_s_own_files_are_served(sanic_client: Client, path: str):
    address = URL(f"{sanic_client.base}/console/assets/x/{path}", encoded=True)
    async with aiohttp.ClientSession() as http, http.get(address) as response:
        body = await response.text()
        assert response.status in (400, 404) or response.content_type == "text/html", body
        assert "import" not in body


@pytest.mark.parametrize("path", ["/console", "/console/agents", "/console/assets/x/vendor/htm/htm.umd.js"])
async def test_other_methods_are_refused(sanic_client: Client, path: str):
    for method in ("POST", "PUT", "DELETE"):
        answer = await sanic_client.request(method, path, json={})
        assert (answer.http, answer.code) == (405, 1006)
