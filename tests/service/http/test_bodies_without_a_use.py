"""Bodies of requests that need none are received and dropped, and leave nothing in the log."""

import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.gateway import BUS, Client, GatewayProcess, running
from tests.support.wire import connected, until_closed

PAGE = "https://app.example.org"
PRIVATE = "pls_pasted"
"""A part of a path that the log must not repeat."""
PAGES = (
    "/",
    "/api/health",
    f"/api/health?{PRIVATE}",
    "/api/tps/openapi.json",
    "/api/tps/openapi.yaml",
    f"/console/{PRIVATE}",
    "/docs",
    f"/docs/assets/page.js?{PRIVATE}",
    "/metrics",
)
BODIES = {
    "empty": b"Content-Length: 0\r\n\r\n",
    "short": b"Content-Length: 2\r\n\r\n{}",
    "chunked": b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """A gateway of its own, because these tests read its log."""
    async with running(tmp_path / "data", PARLEY_CORS_ORIGINS=PAGE) as gateway:
        yield gateway


async def answered(gateway: GatewayProcess, line: str, body: bytes, *fields: str) -> bytes:
    """Send a request that ends its connection; return the status line, read once all of it is logged."""
    lines = [f"{line} HTTP/1.1", "Host: gateway", "Connection: close", *fields]
    async with connected(gateway.base) as (reader, writer):
        writer.write("\r\n".join(lines).encode() + b"\r\n" + body)
        return (await until_closed(reader)).partition(b"\r\n")[0]


async def require_clean_log(gateway: GatewayProcess) -> None:
    assert await gateway.stop() == 0
    for unwanted in ("ERROR", "not consumed", PRIVATE):
        assert unwanted not in gateway.logged()


async def test_a_page_asked_for_with_a_body_is_answered_and_leaves_no_error_and_no_path_in_the_log(
    gateway: GatewayProcess,
):
    for path in PAGES:
        for method in ("GET", "HEAD"):
            for name, body in BODIES.items():
                status = await answered(gateway, f"{method} {path}", body)
                assert status == b"HTTP/1.1 200 OK", (method, path, name)
    await require_clean_log(gateway)


async def test_a_preflight_with_a_body_leaves_no_error_in_the_log(gateway: GatewayProcess):
    fields = (f"Origin: {PAGE}", "Access-Control-Request-Method: POST")
    for path in (BUS, f"/a2a/{PRIVATE}"):
        for body in BODIES.values():
            assert b" 204 " in await answered(gateway, f"OPTIONS {path}", body, *fields)
    await require_clean_log(gateway)


@pytest.mark.parametrize("path", ["/api/health", "/console/agents", "/docs"])
async def test_such_a_body_has_the_limits_of_all_bodies(sanic_client: Client, path: str):
    large = await sanic_client.request("GET", path, data=io.BytesIO(b"x" * 1_100_000))
    large.refused(1004, 413)
    packed = await sanic_client.request("GET", path, data=b"x", headers={"Content-Encoding": "gzip"})
    packed.refused(1008, 415)
    assert (await sanic_client.request("GET", path, data=io.BytesIO(b"x" * 1_000_000))).http == 200
