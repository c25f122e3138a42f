"""Targets of the Makefile: which are listed, and what an installation for production takes."""

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def made(*arguments: str) -> str:
    """Run make; return its output."""
    command = ("make", "--no-print-directory", *arguments)
    return subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True, timeout=60).stdout


def test_help_lists_every_target_that_has_a_text():
    explained = re.findall(r"^(\S+):.*## ", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(line.split()[0] for line in made("help").splitlines()) == sorted(explained)
    assert {"a2a-kit", "install"} <= {*explained}


@pytest.mark.parametrize(("target", "locks"), [("install", ["runtime"]), ("check", ["dev", "runtime"])])
def test_an_installation_takes_the_packages_of_a_running_gateway_and_no_others(
    target: str, locks: list[str], tmp_path: Path
):
    said = made("--dry-run", target, f"VENV={tmp_path / 'venv'}")
    assert sorted({*re.findall(r"-r requirements/(runtime|dev)\.lock", said)}) == locks
