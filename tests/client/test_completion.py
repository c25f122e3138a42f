"""Completion of `parley` in a real bash."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with `parley` on its path, and with profiles."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "parley"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m parley_client "$@"\n')
    program.chmod(0o755)
    (tmp_path / "parley").mkdir()
    kept = {name: {"url": None, "key": None} for name in ("default", "desk", "work")}
    (tmp_path / "parley" / "profiles.json").write_text(json.dumps(kept))
    return tmp_path


async def bash(home: Path, script: str) -> str:
    """Run a script in an interactive bash, which reads ~/.bashrc; return what it prints."""
    environment = CommandLine(home, "http://127.0.0.1:9").environment
    process = await asyncio.create_subprocess_exec(
        *("bash", "--noprofile", "-i", "-c", script),
        env=environment | {"PATH": f"{home / 'bin'}:{environment['PATH']}"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def completed(home: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of these words, by the function that is installed for `parley`."""
    given = " ".join(f"'{word}'" for word in ("parley", *words))
    script = (
        f"COMP_WORDS=({given}); COMP_CWORD={len(words)}; "
        "$(complete -p parley | sed 's/.*-F \\([^ ]*\\).*/\\1/') parley; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return (await bash(home, script)).split()


async def test_completion_is_installed_and_completes_commands_options_and_profiles(home: Path) -> None:
    assert "completion installed" in await bash(home, "parley --install-completion")
    assert "_PARLEY_COMPLETE=complete_bash" in await bash(home, "parley --show-completion")
    assert await completed(home, "web") == ["webhooks"]
    assert await completed(home, "webhooks", "l") == ["listen"]
    assert await completed(home, "webhooks", "listen", "--fo") == ["--forward-to"]
    assert await completed(home, "admin", "users", "re") == ["resume", "reset-secret"]
    assert await completed(home, "admin", "users", "role", "lovelace", "au") == ["auditor"]
    assert await completed(home, "--profile", "de") == ["default", "desk"]
