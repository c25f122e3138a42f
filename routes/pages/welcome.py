"""GET /: a welcome with links to the documentation, as a page for browsers and as JSON for programs."""

from typing import cast

import orjson
from sanic import Blueprint, HTTPResponse, Request

from routes.http.accept import weight_of
from routes.pages.docs import CONSOLE, Asset, load_asset, with_versions
from routes.pages.static import etag, static_answer, version_of

_ASSETS = {
    "welcome/welcome.css": "text/css; charset=utf-8",
    "welcome/icon.svg": "image/svg+xml",
}
_HEADERS = {
    # Caches must tell answers apart by Accept; the page loads only its own style and icon.
    "Vary": "Accept",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_CONSOLE_LINK = '<a class="start" href="/console">Open the console</a>\n'
_HTML = "text/html"
_JSON = "application/json"


def welcome_assets() -> list[Asset]:
    """Return the files of the page, which the documentation's blueprint serves."""
    return [load_asset(CONSOLE / file, content_type) for file, content_type in _ASSETS.items()]


def welcome_blueprint(version: str, brand: str, *, console: bool = True) -> Blueprint:
    """Return the route of GET and HEAD `/`, with a link to the console if there is one."""
    bus = f"/demo/v1/{brand}/tps"
    html = (CONSOLE / "welcome" / "page.html").read_text(encoding="utf-8")
    html = html.replace("{version}", version).replace("{bus}", bus)
    html = html.replace("{console}", _CONSOLE_LINK if console else "")
    page = with_versions(html, welcome_assets())
    links = {"docs": "/docs", "health": "/api/health", "openapi": "/api/tps/openapi.json", "bus": bus}
    links |= {"console": "/console"} if console else {}
    told = orjson.dumps({"name": "Parley", "version": version, "links": links})
    blueprint = Blueprint("welcome")

    @blueprint.route("/", methods=("GET", "HEAD"))
    async def welcome(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        body, content_type = (page, f"{_HTML}; charset=utf-8") if wants_page(request) else (told, _JSON)
        return await static_answer(request, body, content_type, _HEADERS | {"ETag": etag(version_of(body))})

    return blueprint


def wants_page(request: Request) -> bool:
    """Return whether a client names HTML in Accept and does not prefer JSON.

    Browsers name it. Programs that send `*/*` or nothing get JSON.
    """
    accepted = cast("str", request.headers.get("accept", ""))
    html = weight_of(accepted, _HTML)
    return html > 0 and html >= weight_of(accepted, _JSON)
