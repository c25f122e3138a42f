"""The console's page, the same for every address below /console, and its files."""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from sanic import Blueprint, HTTPResponse, Request
from sanic.exceptions import NotFound

from routes.pages.docs import CONSOLE
from routes.pages.static import etag, static_answer, version_of

PREFIX = "/console"
_ASSETS = f"{PREFIX}/assets"
_FOLDERS = ("app", "vendor")
_PAGE = "page.html"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""The files that are served, by the ends of their names."""

_PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_FILE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}


class File(NamedTuple):
    """A file of the console in memory."""

    body: bytes
    media_type: str
    etag: str


def console_pages() -> Blueprint:
    """Return the routes of the console's page and files."""
    files = dict(sorted(_files()))
    version = sha256(b"".join(path.encode() + file.etag.encode() for path, file in files.items())).hexdigest()[:16]
    html = (CONSOLE / "app" / _PAGE).read_text(encoding="utf-8")
    page = html.replace("{assets}", f"{_ASSETS}/{version}").encode()
    page_headers = _PAGE_HEADERS | {"ETag": etag(version_of(page))}
    blueprint = Blueprint("console")

    @blueprint.get(PREFIX)
    async def show_console(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        return await static_answer(request, page, "text/html; charset=utf-8", page_headers)

    @blueprint.get(f"{PREFIX}/<view:path>")
    async def show_view(request: Request, view: str) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        del view  # the page's script reads it
        return await static_answer(request, page, "text/html; charset=utf-8", page_headers)

    @blueprint.get(f"{_ASSETS}/<asked:str>/<path:path>")
    async def serve_file(  # pyright: ignore[reportUnusedFunction]
        request: Request, asked: str, path: str
    ) -> HTTPResponse:
        file = files.get(path)
        if file is None:
            raise NotFound(f"no file {path}")
        # the modules of a page name one another relative to their version, so another one is still answered
        caching = "public, max-age=31536000, immutable" if asked == version else "no-cache"
        headers = _FILE_HEADERS | {"Cache-Control": caching, "ETag": file.etag}
        return await static_answer(request, file.body, file.media_type, headers)

    return blueprint


def _files() -> Iterator[tuple[str, File]]:
    """Read the files of the console, by their paths."""
    for folder in _FOLDERS:
        for file in (CONSOLE / folder).rglob("*"):
            media_type = _MEDIA_TYPES.get(file.suffix)
            if media_type is not None:
                body = file.read_bytes()
                yield file.relative_to(CONSOLE).as_posix(), File(body, media_type, etag(version_of(body)))
