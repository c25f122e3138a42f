"""`parley chat` as one types in it, line after line."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley_client import AsyncParley
from tests.support.client_world import registered
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess
from tests.support.terminal import END_OF_INPUT, on_a_terminal

UP = "\x1b[A"
LONG = " ".join(["Käse"] * 1_200)
"""A line of 5,999 characters and 7,199 bytes."""


@pytest.fixture
async def client(gateway: GatewayProcess, unique: str) -> AsyncIterator[AsyncParley]:
    """A user with an agent."""
    async with await registered(gateway.base, f"{unique}-user", f"{unique}-agent") as client:
        yield client


@pytest.fixture
async def parley(gateway: GatewayProcess, tmp_path: Path, client: AsyncParley, unique: str) -> CommandLine:
    """The command line of that user."""
    command_line = CommandLine(tmp_path, gateway.base)
    command_line.environment["TERM"] = "xterm"
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


async def typed(parley: CommandLine, agent: str, *lines: tuple[str, str]) -> str:
    """Chat on a terminal: type each line after its prompt; return all that is shown."""
    chat = (sys.executable, "-m", "parley_client", "chat", agent)
    keys = [*((prompt, f"{line}\n") for prompt, line in lines), ("> ", END_OF_INPUT)]
    status, shown = await asyncio.to_thread(on_a_terminal, chat, keys, parley.environment)
    assert status == 0, shown
    return shown


async def said(client: AsyncParley, agent: str) -> list[str]:
    """Return what the user has said to an agent."""
    return [message.content async for message in client.agents.history(agent) if message.role == "user"]


async def test_a_long_line_is_sent_whole(parley: CommandLine, client: AsyncParley, unique: str) -> None:
    await typed(parley, f"{unique}-agent", ("> ", LONG))
    assert await said(client, f"{unique}-agent") == [LONG]


async def test_the_last_line_comes_back_by_the_up_arrow(parley: CommandLine, client: AsyncParley, unique: str) -> None:
    await typed(parley, f"{unique}-agent", ("> ", "Again"), ("> ", f"{UP} and again"))
    assert await said(client, f"{unique}-agent") == ["Again", "Again and again"]


async def test_a_long_line_is_refused_where_the_terminal_would_cut_it(
    parley: CommandLine, client: AsyncParley, tmp_path: Path, unique: str
) -> None:
    (tmp_path / "readline.py").write_text("raise ImportError")
    parley.environment["PYTHONPATH"] += f":{tmp_path}"
    shown = await typed(parley, f"{unique}-agent", ("> ", LONG), ("> ", "Hello\\"), ("... ", "world"))
    assert "can't be sent from here" in shown
    assert await said(client, f"{unique}-agent") == ["Hello\nworld"]


async def test_a_refused_message_is_told_of_and_the_next_one_asked_for(
    parley: CommandLine, client: AsyncParley, unique: str
) -> None:
    await client.agents.log_off(f"{unique}-agent")
    shown = await typed(parley, f"{unique}-agent", ("> ", "Hello"), ("> ", "Are you there?"))
    assert shown.count("3002: ") == 2


async def test_a_credential_that_is_refused_ends_a_chat(parley: CommandLine, client: AsyncParley, unique: str) -> None:
    parley.environment["PARLEY_API_KEY"] = (await client.keys.create("reader", scopes={"read_only": True})).key
    chat = (sys.executable, "-m", "parley_client", "chat", f"{unique}-agent")
    status, shown = await asyncio.to_thread(on_a_terminal, chat, [("> ", "Hello\n")], parley.environment)
    assert (status, "2003: " in shown) == (12, True)


async def test_a_line_of_blanks_is_forgotten(parley: CommandLine, client: AsyncParley, unique: str) -> None:
    await typed(parley, f"{unique}-agent", ("> ", "  "), ("> ", "\\"), ("... ", ""), ("> ", "after"))
    assert await said(client, f"{unique}-agent") == ["after"]
