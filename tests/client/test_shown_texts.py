"""What `parley` shows of texts that others wrote, and what it takes where there is no input."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from parley_client import AsyncParley
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess

EVIL = "a\x1b[2Jb\x1b]52;c;Y29weQ==\x07\x9b31m\x7f\r\nmallory: c"
"""It clears the screen, writes to the clipboard, changes the colour, and looks like two messages."""
SHOWN = "a␛[2Jb␛]52;c;Y29weQ==␇\N{REPLACEMENT CHARACTER}31m\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def parley(tmp_path: Path, gateway: GatewayProcess) -> CommandLine:
    return CommandLine(tmp_path, gateway.base)


async def test_texts_steer_no_terminal(parley: CommandLine, gateway: GatewayProcess) -> None:
    async with AsyncParley(gateway.base) as client:
        await client.users.create("eve", PASSWORD)
        await client.log_on("eve", PASSWORD)
        await client.agents.create("eves-scout", EVIL, profile=f"The code is {EVIL}.")
        await client.agents.log_on("eves-scout")
        await client.domains.create("eves-place", "A place.", agent="eves-scout")
        await client.zones.post(EVIL, domain="eves-place")
    assert (await parley("login", "eve")).status == 0
    async with parley.going("zones", "follow", "eves-place", "--after", "0") as going:
        assert await going.lines(2) == [f"eve: {SHOWN}", "  mallory: c"]
    chat, table, whole = await asyncio.gather(
        parley("chat", "eves-scout", "What is the code?"),
        parley("agents", "list"),
        parley("agents", "list", "--json"),
    )
    assert f"The code is {SHOWN}" in chat.out
    assert SHOWN in chat.err  # the source
    assert SHOWN in table.out
    assert not any("\x1b" in shown or "\x9b" in shown for shown in (chat.out, chat.err, table.out, whole.out))
    assert whole.records[0]["description"] == EVIL


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("login eve", 2), ("chat scout", 2), ("banks censor lore atoms", 1), ("chat scout Hello", 12)],
)
def test_a_closed_input_is_an_empty_one(parley: CommandLine, arguments: str, status: int) -> None:
    del parley.environment["PARLEY_PASSWORD"]
    command = ["/bin/sh", "-c", f"exec {sys.executable} -m parley_client {arguments} <&-"]
    ran = subprocess.run(command, env=parley.environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False), ran.stderr
