"""The gateway whose log's disk is full: it starts, serves and stops as ever."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import aiohttp

from tests.support.gateway import SERVER
from tests.support.nats import free_port


async def test_a_gateway_whose_stdout_takes_nothing_starts_serves_and_stops(tmp_path: Path):
    port = free_port()
    settings = {"PARLEY_PORT": str(port), "PARLEY_DATA_DIR": str(tmp_path / "data")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")} | settings
    full = os.open("/dev/full", os.O_WRONLY)
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVER), env=environment, stdout=full, stderr=PIPE
    )
    os.close(full)
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            while gateway.returncode is None:
                try:
                    async with client.get("/api/health", timeout=aiohttp.ClientTimeout(5)) as answer:
                        assert answer.status == 200
                        break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.1)
            assert gateway.returncode is None, "it serves"
            async with client.post("/demo/v1/Svc/tps", json={"service": "US_Read"}) as answer:
                assert answer.status == 401
            gateway.terminate()
            _, errors = await gateway.communicate()
            assert (gateway.returncode, b"Traceback" in errors) == (0, False), errors
            assert b"lines of requests are lost" in errors
    finally:
        if gateway.returncode is None:
            gateway.kill()
            await gateway.wait()
