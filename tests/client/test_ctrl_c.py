"""Ctrl-C ends `parley` with status 130 wherever it comes, without a traceback and with the terminal as it was."""

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import pytest
from aiohttp import web

from parley_client import AsyncParley
from tests.support.client_world import PASSWORD, registered
from tests.support.command_line import CommandLine
from tests.support.flaky_proxy import flaky
from tests.support.gateway import GatewayProcess
from tests.support.provider import DONE, Request, chunk, providing
from tests.support.terminal import CTRL_C, is_left_sane, on_a_terminal

STARTED = (sys.executable, "-m", "parley_client")

INTERRUPTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""


@pytest.fixture
async def parley(gateway: GatewayProcess, tmp_path: Path, unique: str) -> CommandLine:
    """The command line of a user with an agent and a bank."""
    async with await registered(gateway.base, f"{unique}-user", f"{unique}-agent") as client:
        await client.banks.create(f"{unique}-bank", agent=f"{unique}-agent")
    command_line = CommandLine(tmp_path, gateway.base)
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


@pytest.fixture
def load(tmp_path: Path, unique: str) -> tuple[str, ...]:
    """The command that loads a folder with three files into the bank."""
    (tmp_path / "notes").mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / "notes" / name).write_text("Iron rusts.")
    return ("banks", "load", f"{unique}-bank", str(tmp_path / "notes"), "--agent", f"{unique}-agent")


@pytest.mark.parametrize("typed", [CTRL_C, 2 * CTRL_C])
@pytest.mark.parametrize(
    ("arguments", "prompt"),
    [
        ("login {}-user", "Password: "),
        ("banks censor {}-bank atoms", "[y/N] "),
        ("chat {}-nobody", "[Y/n] "),
        ("chat {}-agent", "> "),
    ],
)
async def test_a_question_is_left(parley: CommandLine, unique: str, arguments: str, prompt: str, typed: str) -> None:
    command = (*STARTED, *arguments.format(unique).split())
    environment = {name: value for name, value in parley.environment.items() if name != "PARLEY_PASSWORD"}
    status, shown = await asyncio.to_thread(on_a_terminal, command, [(prompt, typed)], environment | {"TERM": "xterm"})
    assert (status, shown.replace("^C", "").endswith(f"{prompt}\n")) == (130, True), shown


@pytest.mark.parametrize(
    "module", ["typer", "parley_client.cli.webhooks", "parley_client._sync.client", "httpx2", "rich.table"]
)
async def test_modules_are_left_while_they_are_imported(parley: CommandLine, tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS)
    path = f"{tmp_path}{os.pathsep}{parley.environment['PYTHONPATH']}"
    process = await asyncio.create_subprocess_exec(
        *(*STARTED, "agents", "list"),
        env=parley.environment | {"PYTHONPATH": path, "INTERRUPT_AT": module},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert await process.communicate() == (b"", b"")
    assert process.returncode == 130


async def test_an_answer_is_no_longer_waited_for(parley: CommandLine, gateway: GatewayProcess) -> None:
    async with flaky(gateway.base) as proxy:
        proxy.passes = 0
        async with parley.going("agents", "list", PARLEY_URL=proxy.base) as listing:
            await proxy.held.wait()
        assert (await listing.end(), listing.out, listing.err) == (130, [], [])


async def test_it_is_ignored_where_the_caller_ignores_it(parley: CommandLine, gateway: GatewayProcess) -> None:
    async with flaky(gateway.base) as proxy:
        proxy.passes = 0
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", 'trap "" INT; exec "$0" "$@"', *STARTED, "agents", "list"),
            env=parley.environment | {"PARLEY_URL": proxy.base},
            stderr=asyncio.subprocess.PIPE,
        )
        await proxy.held.wait()
        process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err.decode().partition(":")[0]) == (3, "No connection")


async def test_what_was_loaded_is_shown(parley: CommandLine, gateway: GatewayProcess, load: tuple[str, ...]) -> None:
    for as_json in (False, True):
        async with flaky(gateway.base) as proxy:
            proxy.passes = 1
            arguments = (*load, "--json") if as_json else load
            async with parley.going(*arguments, PARLEY_URL=proxy.base) as loading:
                await proxy.held.wait()
            assert await loading.end() == 130
        names = [record["name"] for record in loading.records] if as_json else loading.out[1].split()[1:]
        assert (names, len(loading.out)) == (["a.md"], 1 if as_json else 2)
        assert loading.err == ["Loaded: 1 of 3 files. Stopped at b.md, which may be loaded or not."]


async def test_a_progress_bar_gives_the_cursor_back(
    parley: CommandLine, gateway: GatewayProcess, load: tuple[str, ...]
) -> None:
    ours, theirs = pty.openpty()
    shown = bytearray()
    asyncio.get_running_loop().add_reader(ours, lambda: shown.extend(os.read(ours, 65_536)))
    try:
        async with flaky(gateway.base) as proxy:
            proxy.passes = 1
            process = await asyncio.create_subprocess_exec(
                *(*STARTED, *load),
                env=parley.environment | {"TERM": "xterm", "PARLEY_URL": proxy.base},
                stdout=asyncio.subprocess.PIPE,
                stderr=theirs,
            )
            await proxy.held.wait()
            process.send_signal(signal.SIGINT)
            out, _ = await process.communicate()
        async with asyncio.timeout(20):
            while b"Stopped at b.md" not in shown:
                await asyncio.sleep(0.01)
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, [line.split()[1] for line in out.decode().splitlines()]) == (130, ["name", "a.md"])
    assert b"\x1b[?25l" in shown
    assert is_left_sane(shown.decode())


async def test_a_reply_is_left_and_finished_by_the_gateway(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def slowly(request: Request) -> web.StreamResponse:
        response = await request.begin()
        await response.write(chunk(role="assistant", content="One "))
        await goes_on.wait()
        await response.write(chunk(content="moon.") + chunk("stop") + DONE)
        await response.write_eof()
        return response

    async with providing() as provider:
        provider.on("How many?", slowly)
        gateway = GatewayProcess(
            tmp_path / "data",
            PARLEY_CHAT_ENGINE="openai",
            PARLEY_OPENAI_BASE_URL=provider.base_url,
            PARLEY_OPENAI_MODEL="m",
        )
        await gateway.start()
        parley = CommandLine(tmp_path, gateway.base)
        try:
            assert (await parley("login", "lovelace", "--register")).status == 0
            assert (await parley("agents", "create", "scout", "--description", "Finds things")).status == 0
            status, shown = await asyncio.to_thread(
                on_a_terminal,
                (*STARTED, "chat", "scout", "How many?"),
                [("One ", CTRL_C)],
                parley.environment | {"TERM": "xterm"},
            )
            goes_on.set()
            said, told = shown.splitlines()
            assert (status, said) == (130, "One ^C")
            assert told.startswith("Stopped; the gateway goes on with the reply, and keeps it (run_")
            async with AsyncParley(gateway.base) as client, asyncio.timeout(30):
                await client.log_on("lovelace", PASSWORD)
                while (await client.runs.read(told.partition("(")[2].partition(")")[0])).state == "working":
                    await asyncio.sleep(0.01)
                history = [message.content async for message in client.agents.history("scout")]
            assert history == ["How many?", "One moon."]
        finally:
            assert await gateway.stop() == 0
