"""A gateway that is started without stdin, stdout or stderr: it starts, serves and stops as ever."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import aiohttp
import pytest

from tests.support.gateway import SERVER
from tests.support.nats import free_port


async def begun(closed: str, data: Path, port: int) -> asyncio.subprocess.Process:
    """Start the gateway by a shell that closes standard streams, with what is left of stdout and stderr in pipes."""
    settings = {"PARLEY_PORT": str(port), "PARLEY_DATA_DIR": str(data)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")} | settings
    command = ("sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, str(SERVER))
    return await asyncio.create_subprocess_exec(*command, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_a_gateway_without_a_standard_stream_starts_serves_and_stops(tmp_path: Path, closed: str):
    port = free_port()
    gateway = await begun(closed, tmp_path / "data", port)
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            while gateway.returncode is None:
                try:
                    async with client.get("/api/health") as answer:
                        assert answer.status == 200
                        break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.1)
            assert gateway.returncode is None, "it serves"
            gateway.terminate()
            _, errors = await gateway.communicate()
            assert (gateway.returncode, errors) == (0, b"")
    finally:
        if gateway.returncode is None:
            gateway.kill()
            await gateway.wait()


async def test_a_refused_start_without_stderr_has_its_exit_status(tmp_path: Path):
    (tmp_path / "data").write_text("a file")
    gateway = await begun("2>&-", tmp_path / "data", free_port())
    try:
        assert await asyncio.wait_for(gateway.wait(), 60) == 2
    finally:
        if gateway.returncode is None:
            gateway.kill()
            await gateway.wait()
