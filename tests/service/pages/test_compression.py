"""Pages, their files and the OpenAPI document in gzip (RFC 9110, 8.4.1.3 and 12.5.3)."""

import gzip

import aiohttp
import pytest
from multidict import CIMultiDictProxy

from tests.support.gateway import Client

PATHS = (
    "/docs/assets/swagger-ui-bundle.js",
    "/docs/assets/swagger-ui.css",
    "/console/assets/x/vendor/preact/preact.umd.js",
    "/api/tps/openapi.json",
    "/api/tps/openapi.yaml",
)


async def ask(client: Client, path: str, **headers: str) -> tuple[int, CIMultiDictProxy[str], bytes]:
    """Return status, headers and body as they are on the wire."""
    async with (
        aiohttp.ClientSession(client.base, auto_decompress=False, skip_auto_headers=["Accept-Encoding"]) as http,
        http.get(path, headers=headers) as response,
    ):
        return response.status, response.headers, await response.read()


@pytest.mark.parametrize("path", PATHS)
async def test_large_texts_come_in_gzip_to_those_who_take_it(sanic_client: Client, path: str):
    status, plain, body = await ask(sanic_client, path)
    assert (status, plain.get("Content-Encoding")) == (200, None)
    status, packed, sent = await ask(sanic_client, path, **{"Accept-Encoding": "br, gzip;q=0.5"})
    assert (status, packed["Content-Encoding"], gzip.decompress(sent)) == (200, "gzip", body)
    assert len(sent) < len(body) / 2
    assert plain["Vary"] == packed["Vary"] == "Accept-Encoding"
    assert plain["ETag"] != packed["ETag"]
    for accepted, tag in (("identity", plain["ETag"]), ("gzip", packed["ETag"])):
        held = await ask(sanic_client, path, **{"Accept-Encoding": accepted, "If-None-Match": tag})
        assert (held[0], held[2]) == (304, b"")


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", "x-gzip", "gzip;q=high"])
async def test_others_get_the_text_itself(sanic_client: Client, accepted: str):
    _, headers, _ = await ask(sanic_client, PATHS[0], **{"Accept-Encoding": accepted})
    assert "Content-Encoding" not in headers


async def test_pictures_and_small_answers_stay_as_they_are(sanic_client: Client):
    for path in ("/docs/assets/icon.svg", "/", "/docs"):
        _, headers, _ = await ask(sanic_client, path, **{"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in headers
