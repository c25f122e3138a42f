"""`parley banks load`: which files become memories, and what is said of the others."""

import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley_client import AsyncParley
from tests.support.client_world import registered
from tests.support.command_line import CommandLine
from tests.support.flaky_proxy import flaky
from tests.support.gateway import GatewayProcess
from tests.support.terminal import on_a_terminal


@pytest.fixture
async def user(gateway: GatewayProcess, unique: str) -> AsyncIterator[AsyncParley]:
    """A user with an agent and a bank."""
    async with await registered(gateway.base, f"{unique}-user", f"{unique}-agent") as client:
        await client.banks.create(f"{unique}-bank", agent=f"{unique}-agent")
        yield client


@pytest.fixture
async def parley(user: AsyncParley, gateway: GatewayProcess, tmp_path: Path, unique: str) -> CommandLine:
    """The command line of the same user."""
    command_line = CommandLine(tmp_path, gateway.base)
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """An empty folder."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def load(notes: Path, unique: str) -> tuple[str, ...]:
    """The command that loads the folder."""
    return ("banks", "load", f"{unique}-bank", str(notes), "--agent", f"{unique}-agent")


async def texts_of(user: AsyncParley, bank: str) -> dict[str, str]:
    return {memory.name: memory.text or "" async for memory in user.banks.read(bank)}


async def test_a_folder_is_loaded_with_a_progress_bar_on_a_terminal_and_without_one_elsewhere(
    parley: CommandLine, notes: Path, load: tuple[str, ...]
) -> None:
    for name, text in (
        ("a.md", "Iron rusts."),
        ("b.md", "  "),
        ("c.md", "# Long\n\n" + "Gold does not rust. " * 2_000),
    ):
        (notes / name).write_text(text)
    ran = await parley(*load, "--json")
    assert (ran.status, ran.err) == (0, "b.md is empty, and was left out.\n")
    names = [memory["name"] for memory in ran.records]
    assert names[:3] == ["a.md", "c.md/1", "c.md/2"]  # over 32,000 characters: a document in parts

    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "parley_client", *load),
        env=parley.environment | {"TERM": "xterm"},
        stdout=asyncio.subprocess.PIPE,
        stderr=theirs,
    )
    out, _ = await process.communicate()
    bar = os.read(ours, 65_536).decode()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert "/3" in bar
    assert "c.md" in bar
    assert [line.split()[1] for line in out.decode().splitlines()[1:]] == names


async def test_a_file_whose_memory_is_censored_is_named_and_the_others_are_loaded(
    parley: CommandLine, user: AsyncParley, notes: Path, load: tuple[str, ...], unique: str
) -> None:
    (notes / "a.md").write_text("Iron rusts.")
    assert (await parley(*load)).status == 0
    await user.banks.censor(f"{unique}-bank", name="a.md")
    (notes / "b.md").write_text("Tin cries.")
    ran = await parley(*load, "--json")
    assert (ran.status, [memory["name"] for memory in ran.records]) == (1, ["b.md"])
    assert ran.err.splitlines()[0].startswith("a.md was not loaded: 3002: ")


async def test_a_wrong_brand_ends_the_loading(parley: CommandLine, notes: Path, load: tuple[str, ...]) -> None:
    (notes / "a.md").write_text("Iron rusts.")
    ran = await parley("--brand", "Other", *load)
    assert (ran.status, ran.out) == (11, "")
    assert "1006:" in ran.err
    assert "Check --url and --brand" in ran.err


async def test_a_file_that_can_t_be_loaded_is_named_with_the_reason_and_the_others_are_loaded(
    parley: CommandLine, user: AsyncParley, notes: Path, load: tuple[str, ...], unique: str
) -> None:
    for name, content in {
        "a.md": b"Iron rusts.",
        "binary.md": b"\xff\xfeI\x00",
        "empty.md": b"",
        "long.md": b"x" * 500_001,
        "n" * 210 + ".md": b"Its name has over 200 characters.",
        "nul.md": b"Gold\0 does not.",
        "z.md": b"Tin cries.",
    }.items():
        (notes / name).write_bytes(content)
    (notes / os.fsdecode(b"latin-\xe4.md")).write_text("Its name is not UTF-8.")
    (notes / "gone.md").symlink_to("nowhere")
    os.mkfifo(notes / "pipe.md")
    ran = await parley(*load, "--json")
    assert (ran.status, [memory["name"] for memory in ran.records]) == (1, ["a.md", "z.md"])
    assert await texts_of(user, f"{unique}-bank") == {"a.md": "Iron rusts.", "z.md": "Tin cries."}
    *told, summary = ran.err.splitlines()
    assert summary == "Loaded: 2 of 10 files; not loaded: 7; empty: 1."
    assert "binary.md was not loaded: it is not UTF-8 text." in told
    assert "empty.md is empty, and was left out." in told
    assert "gone.md was not loaded: No such file or directory." in told
    assert "latin-\\udce4.md was not loaded: its name is not UTF-8." in told
    assert "long.md was not loaded: it has over 500,000 characters, the most of a document." in told
    assert "nul.md was not loaded: 1003: Invalid value of content: a text must not contain NUL." in told
    assert "pipe.md was not loaded: it is no regular file." in told
    assert sum(line.startswith("nnn") and ".md was not loaded: 1003: " in line for line in told) == 1
    assert len(told) == 8
    table = await parley(*load)
    assert (table.status, [line.split()[1] for line in table.out.splitlines()]) == (1, ["name", "a.md", "z.md"])
    assert table.err == ran.err


async def test_what_is_said_of_a_file_stands_on_a_line_above_the_bar_and_steers_no_terminal(
    parley: CommandLine, notes: Path, load: tuple[str, ...]
) -> None:
    (notes / "a\x1b[31m\nb.md").write_bytes(b"\xff")
    (notes / "empty.md").touch()
    (notes / "moon\nlight.md").write_text("The Moon shines.")
    command = (sys.executable, "-m", "parley_client", *load)
    environment = parley.environment | {"TERM": "xterm"}
    status, shown = await asyncio.to_thread(on_a_terminal, command, [], environment)
    assert status == 1
    assert "\x1b[2Ka␛[31m␊b.md was not loaded: it is not UTF-8 text.\n" in shown
    assert "\x1b[2Kempty.md is empty, and was left out.\n" in shown
    assert " ━━━" in shown.partition("empty.md is empty")[2]
    assert shown.endswith("\nLoaded: 1 of 3 files; not loaded: 1; empty: 1.\n")


async def test_what_its_user_may_not_read_is_named(parley: CommandLine, notes: Path, load: tuple[str, ...]) -> None:
    (notes / "a.md").write_text("Iron rusts.")
    (notes / "secret.md").write_text("Lead to gold")
    (notes / "secret.md").chmod(0)
    (notes / "closed").mkdir(mode=0)
    # root reads everything, except without its capabilities
    powerless = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
    process = await asyncio.create_subprocess_exec(
        *(*powerless, sys.executable, "-m", "parley_client", *load),
        env=parley.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, [line.split()[1] for line in out.decode().splitlines()]) == (1, ["name", "a.md"])
    assert err.decode().splitlines() == [
        f"{notes / 'closed'} was not read: Permission denied.",
        "secret.md was not loaded: Permission denied.",
        "Loaded: 1 of 2 files; not loaded: 1; folders not read: 1.",
    ]


async def test_markdown_is_loaded_by_any_of_its_suffixes_and_without_a_byte_order_mark(
    parley: CommandLine, user: AsyncParley, notes: Path, load: tuple[str, ...], unique: str
) -> None:
    (notes / "deep" / "er").mkdir(parents=True)
    (notes / "README.MD").write_text("Iron rusts.")
    (notes / "deep" / "er" / "gold.markdown").write_bytes(b"\xef\xbb\xbfGold\r\ndoes not.\r\n")
    (notes / "tin.txt").write_text("Tin cries.")
    ran = await parley(*load)
    assert (ran.status, ran.err) == (0, "")
    wanted = {"README.MD": "Iron rusts.", "deep/er/gold.markdown": "Gold\ndoes not.\n"}
    assert await texts_of(user, f"{unique}-bank") == wanted


async def test_a_folder_without_markdown_is_told_of(parley: CommandLine, notes: Path, load: tuple[str, ...]) -> None:
    ran = await parley(*load)
    assert (ran.status, ran.err) == (0, f"{notes} has no Markdown files (.md, .markdown).\n")
    notes.rmdir()
    gone = await parley(*load)
    assert (gone.status, gone.out, "does not exist" in gone.err) == (2, "", True)


async def test_a_refusal_that_holds_for_all_files_ends_the_loading(
    parley: CommandLine, notes: Path, load: tuple[str, ...]
) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_text("Iron rusts.")
    ran = await parley(*load[:-1], "no-such-agent")
    first, second = ran.err.splitlines()
    assert (ran.status, ran.out, first[:5]) == (13, "", "3000:")
    assert second == "Loaded: 0 of 2 files. Stopped at a.md, which was not loaded."


async def test_a_gateway_that_goes_away_ends_the_loading_and_what_was_loaded_is_shown(
    parley: CommandLine, gateway: GatewayProcess, notes: Path, load: tuple[str, ...]
) -> None:
    for name in ("a.md", "b.md", "c.md", "d.md"):
        (notes / name).write_text("Iron rusts.")
    (notes / "b.md").write_bytes(b"\xff")
    async with flaky(gateway.base) as proxy:
        proxy.passes = 1
        loading = asyncio.create_task(parley(*load, PARLEY_URL=proxy.base))
        await proxy.held.wait()
    ran = await loading
    assert (ran.status, [line.split()[1] for line in ran.out.splitlines()]) == (3, ["name", "a.md"])
    refused, lost, stopped = ran.err.splitlines()
    assert (refused, lost.partition(":")[0]) == ("b.md was not loaded: it is not UTF-8 text.", "No connection")
    assert stopped == "Loaded: 1 of 4 files; not loaded: 1. Stopped at c.md, which may be loaded or not."
