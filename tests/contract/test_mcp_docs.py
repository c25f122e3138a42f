"""The examples in docs/mcp.md run, on a fresh gateway."""

import asyncio
import json
import re
import sys
from pathlib import Path

from tests.gateway import CHECKOUT, running

TEXT = (CHECKOUT / "docs/mcp.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


async def output_of(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


async def test_the_examples_of_users_and_of_clients_run(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await user.agent("scout", profile="The Moon is 384,400 km away.")
        variables = f'set -eu\nJSON="Content-Type: application/json"\nAUTH="Authorization: Bearer {user.token}"\n'
        shell = block("sh").replace("http://127.0.0.1:8000", gateway.base)
        installed, invoked = (await output_of("bash", "-c", variables + shell.replace("}'\n", "}'\necho\n"))).split(
            "\n"
        )[:2]
        assert json.loads(installed)["name"] == "home"
        assert "Europe/Paris" in json.loads(invoked)["content"][0]["text"]
        script = block("python").replace("http://127.0.0.1:8000", gateway.base)
        script += f"\nasyncio.run(main({user.token!r}))\n"
        assert "384,400 km" in await output_of(sys.executable, "-c", script)
