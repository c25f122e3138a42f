"""The client installs into an empty environment, without anything of the server; needs the package index."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT

OF_THE_SERVER = {"sanic", "pykka", "aiosqlite", "asyncpg", "parley", "mcp"}


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_client_installs_alone(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", CHECKOUT / "clients" / "python"], check=True)
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True)
    assert not {package["name"].lower() for package in json.loads(listed.stdout)} & OF_THE_SERVER
    helped = subprocess.run([python.with_name("parley"), "--help"], check=True, capture_output=True, text=True)
    assert "doctor" in helped.stdout
