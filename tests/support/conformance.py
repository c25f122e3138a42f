"""Run the official MCP conformance kit against a gateway: `python -m tests.support.conformance [VERSION ...] [-v]`.

It needs npx and the network, so it is not part of the test suite. The kit can't send a credential: a proxy adds one.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

from tests.support.gateway import Client, running

KIT = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
VERSIONS = ("2025-11-25", "2026-07-28")
EXPECTED = Path(__file__).with_suffix(".yaml")
_OF_ONE_CONNECTION = ("transfer-encoding", "content-length", "connection", "keep-alive")


@asynccontextmanager
async def proxy(user: Client) -> AsyncIterator[str]:
    """Pass requests on to the gateway with a user's API key; keep everything else, Host and Origin included.

    The kit calls the first tool, US_LogOff, which would end a session.
    """
    key = (await user.request("POST", "/api/api-keys", json={"name": "conformance"})).body["key"]

    async def passed_on(request: web.Request) -> web.StreamResponse:
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _OF_ONE_CONNECTION]
        headers.append(("X-Api-Key", key))
        async with user.http.request(
            request.method, user.base + request.path_qs, headers=headers, data=await request.read()
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_ONE_CONNECTION}
            passed = web.StreamResponse(status=answer.status, headers=kept)
            await passed.prepare(request)
            with suppress(ConnectionError):  # the kit leaves streams, which have no end
                async for piece in answer.content.iter_any():
                    await passed.write(piece)
            return passed

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", passed_on)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def conforms(url: str, version: str, results: Path, *, verbose: bool) -> bool:
    """Run the kit for one version of the protocol; return whether only the expected checks failed."""
    process = await asyncio.create_subprocess_exec(
        *("npx", "-y", "-p", "node@22", "-p", KIT, "conformance", "server"),
        *("--url", url, "--suite", "all", "--spec-version", version, "--expected-failures", str(EXPECTED)),
        *("--output-dir", str(results)),
        cwd=results,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    report = said if verbose else said.partition("=== SUMMARY ===")[2].strip() or said
    sys.stdout.write(f"== {version}: {'passed' if process.returncode == 0 else 'FAILED'}\n{report}\n")
    return process.returncode == 0


async def main(versions: list[str], *, verbose: bool) -> int:
    """Run the kit for each version; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            running(Path(folder) / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
            gateway.client() as http,
        ):
            user = await http.register("conformance")
            async with proxy(user) as base:
                passed = [await conforms(f"{base}/mcp", version, Path(folder), verbose=verbose) for version in versions]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the official MCP conformance kit against a gateway.")
    parser.add_argument("versions", nargs="*", default=list(VERSIONS), help=f"default: {', '.join(VERSIONS)}")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the kit's own report")
    asked = parser.parse_args()
    sys.exit(asyncio.run(main(asked.versions, verbose=asked.verbose)))
