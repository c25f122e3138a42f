"""Behind nginx with its defaults, events arrive when they happen. Skipped where nginx is not installed."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Client, GatewayProcess
from tests.support.wire import events_of, streamed

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass {gateway}; }}
    }}
}}
"""
"""A beginner's configuration, with paths for files added."""


@pytest.fixture
async def proxied_user(scripted_server: GatewayProcess, unique: str, tmp_path: Path) -> AsyncIterator[Client]:
    """A user of the scripted gateway behind nginx."""
    assert NGINX
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=tmp_path, port=port, gateway=scripted_server.base))
    errors = tmp_path / "error.log"
    nginx = await asyncio.create_subprocess_exec(NGINX, "-p", tmp_path, "-e", errors, "-c", configuration)
    try:
        async with scripted_server.client() as client, asyncio.timeout(30):
            while True:
                try:
                    (_, writer) = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    assert nginx.returncode is None, errors.read_text()
                    await asyncio.sleep(0.05)
            writer.close()
            yield await Client(client.http, f"http://127.0.0.1:{port}").register(f"{unique}-user")
    finally:
        nginx.terminate()
        await nginx.wait()


async def test_the_pieces_of_a_reply_arrive_one_by_one(proxied_user: Client, gate: Gate, unique: str):
    await proxied_user.agent(f"{unique}-agent")
    async with streamed(proxied_user, "AP_Chat", content=f"say:first wait:{gate} say:second") as response:
        events = events_of(response)
        first = await asyncio.wait_for(anext(events), 30)
        assert (first.name, first.data) == ("delta", {"text": "first"})
        gate.open()  # not before, so the first piece has arrived without the rest
        assert [event.name async for event in events][-1] == "response"


async def test_a_zone_s_messages_arrive_while_its_stream_goes_on(proxied_user: Client, unique: str):
    await proxied_user.agent(f"{unique}-agent")
    (await proxied_user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "Work"})).ok()
    (await proxied_user.command("DM_Select", target={"domain": f"{unique}-domain"})).ok()
    async with streamed(proxied_user, "ZN_Stream") as response:
        events = events_of(response)
        for said in ("first", "second"):
            (await proxied_user.command("ZN_Post", content=said)).ok()
            assert (await asyncio.wait_for(anext(events), 30)).data["message"]["content"] == said
