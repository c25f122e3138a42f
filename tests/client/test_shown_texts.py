"""What `parley` shows of texts that others wrote, and what it takes where there is no input."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parley_client import AsyncParley
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess
from tests.support.terminal import on_a_terminal

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


async def test_an_output_that_is_not_utf_8_has_what_it_can_take(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    create = ("agents", "create", f"{unique}-agent", "--description", "Käse → 🧀")
    assert (await parley(*create)).status == 0
    latin = {"PYTHONIOENCODING": "latin-1"}
    for arguments in (("agents", "list"), ("agents", "list", "--json")):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "parley_client", *arguments),
            env=parley.environment | latin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        if "--json" in arguments:
            assert json.loads(out)["description"] == "Käse → 🧀"
        else:
            assert "Käse ? ?" in out.decode("latin-1")


@pytest.mark.parametrize("is_error", [False, True])
async def test_a_reader_that_has_gone_ends_it_without_a_word(
    parley: CommandLine, gateway: GatewayProcess, unique: str, is_error: bool
) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    assert (await parley("agents", "create", f"{unique}-agent", "--description", "Finds things")).status == 0
    ours, theirs = os.pipe()
    os.close(ours)

    async def status_and_rest(arguments: str) -> tuple[int | None, bytes]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "parley_client", *arguments.split()),
            env=parley.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if is_error else theirs,
            stderr=theirs if is_error else asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode, out if is_error else err

    output = ("agents list", "agents list --json", "doctor", "webhooks listen --json", "top --help", "banks")
    errors = ("agents lst", "banks recall no-such-bank atoms", "--url nonsense agents list", "banks censor lore atoms")
    try:
        for arguments in errors if is_error else output:
            assert await status_and_rest(arguments) == (141, b""), arguments
    finally:
        os.close(theirs)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("login eve", 2), ("chat scout", 2), ("banks censor lore atoms", 1), ("chat scout Hello", 12)],
)
def test_a_closed_input_is_an_empty_one(parley: CommandLine, arguments: str, status: int) -> None:
    del parley.environment["PARLEY_PASSWORD"]
    command = ["/bin/sh", "-c", f"exec {sys.executable} -m parley_client {arguments} <&-"]
    ran = subprocess.run(command, env=parley.environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False), ran.stderr


@pytest.mark.parametrize(("term", "shown"), [("dumb", "One\nTwo\n"), ("xterm", "One\n\x1b[2mTwo\x1b[0m\n")])
async def test_lines_are_styled_only_on_terminals_that_can(tmp_path: Path, term: str, shown: str) -> None:
    program = "from parley_client.cli.output import tell; tell('One'); tell('Two', dim=True)"
    environment = CommandLine(tmp_path, "http://127.0.0.1:9").environment | {"TERM": term}
    ran = await asyncio.to_thread(on_a_terminal, (sys.executable, "-c", program), [], environment, with_styles=True)
    assert ran == (0, shown)
