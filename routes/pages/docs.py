"""The API documentation page: Swagger UI over the gateway's OpenAPI document, without requests to other hosts."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sanic import Blueprint, HTTPResponse, Request
from sanic.exceptions import NotFound

from routes.pages.static import etag, static_answer, version_of

CONSOLE = Path(__file__).resolve().parents[2] / "console"

_JAVASCRIPT = "text/javascript; charset=utf-8"
_ASSETS = {
    "swagger-ui/swagger-ui-bundle.js": _JAVASCRIPT,
    "swagger-ui/swagger-ui.css": "text/css; charset=utf-8",
    "docs/page.js": _JAVASCRIPT,
    "docs/page.css": "text/css; charset=utf-8",
    "welcome/icon.svg": "image/svg+xml",
}

_CONSOLE_LINK = '<a href="/console">Console</a>\n'

_PAGE_HEADERS = {
    # Swagger UI sets style attributes and draws its icons from data: addresses; it needs nothing else.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_REVALIDATE = "no-cache"
_FOR_A_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page in memory, with a hash of its content as the version."""

    name: str
    content_type: str
    body: bytes
    version: str

    @property
    def path(self) -> str:
        """Its path."""
        return f"/docs/assets/{self.name}"

    @property
    def address(self) -> str:
        """Its path with its version, so that browsers may cache it permanently."""
        return f"{self.path}?v={self.version}"


def docs_blueprint(more: Iterable[Asset] = (), *, console: bool = True) -> Blueprint:
    """Return the routes of GET /docs, its files and the files of other pages; with a link to a `console`."""
    assets = [load_asset(CONSOLE / file, content_type) for file, content_type in _ASSETS.items()]
    by_name = {asset.name: asset for asset in (*assets, *more)}
    html = (CONSOLE / "docs" / "page.html").read_text(encoding="utf-8")
    page = with_versions(html.replace("{console}", _CONSOLE_LINK if console else ""), assets)
    page_etag = etag(version_of(page))
    blueprint = Blueprint("docs", url_prefix="/docs")

    @blueprint.get("/")
    async def show_page(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        headers = _PAGE_HEADERS | {"Cache-Control": _REVALIDATE, "ETag": page_etag}
        return await static_answer(request, page, "text/html; charset=utf-8", headers)

    @blueprint.get("/assets/<name:str>")
    async def serve_asset(request: Request, name: str) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        asset = by_name.get(name)
        if asset is None:
            raise NotFound(f"no file {name}")
        this_version = request.args.get("v") == asset.version
        headers = {
            "Cache-Control": _FOR_A_YEAR if this_version else _REVALIDATE,
            "ETag": etag(asset.version),
            "X-Content-Type-Options": "nosniff",
        }
        return await static_answer(request, asset.body, asset.content_type, headers)

    return blueprint


def load_asset(file: Path, content_type: str) -> Asset:
    """Return a file of a page."""
    body = file.read_bytes()
    return Asset(file.name, content_type, body, version_of(body))


def with_versions(html: str, assets: Iterable[Asset]) -> bytes:
    """Replace the names of assets in a page by their versioned paths."""
    for asset in assets:
        html = html.replace(f'"{asset.path}"', f'"{asset.address}"')
    return html.encode()
