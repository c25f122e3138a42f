"""Files from registries are the reviewed ones: vendored files and lock files have checksums."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT

CONSOLE = CHECKOUT / "console"
VENDORED = [CONSOLE / "swagger-ui", *sorted((CONSOLE / "vendor").iterdir())]


@pytest.mark.parametrize("folder", VENDORED, ids=lambda folder: folder.name)
def test_vendored_files_are_those_of_the_committed_checksums(folder: Path):
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    ours = {"SHA256SUMS", "VERSION"}
    assert sums.keys() == {file.name for file in folder.iterdir()} - ours
    assert "LICENSE" in sums
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_vendored_files_are_of_the_makefile_s_versions():
    makefile = (CHECKOUT / "Makefile").read_text()
    for folder in VENDORED:
        name = folder.name.replace("-", "_").upper()
        version = re.search(rf"^{name}_VERSION := (\S+)$", makefile, re.MULTILINE)
        assert version is not None
        assert f" {version[1]}, unchanged files" in (folder / "VERSION").read_text()


@pytest.mark.parametrize("target", ["swagger-ui", "console-vendor"])
def test_a_package_of_another_checksum_is_not_unpacked(tmp_path: Path, target: str):
    checkout, commands = tmp_path / "checkout", tmp_path / "bin"
    for folder in (checkout, commands):
        folder.mkdir()
    (checkout / "Makefile").write_bytes((CHECKOUT / "Makefile").read_bytes())
    npm = commands / "npm"
    npm.write_text(  # a registry that hands out another package
        "#!/bin/sh\nset -e\nmkdir /$0.d/package && touch /$0.d/package/swagger-ui.css\n"
        'tar -czf "$4/swagger-ui-dist.tgz" -C /$0.d package\n'
    )
    npm.chmod(0o755)
    (commands / "npm.d").mkdir()
    path = {"PATH": f"{commands}:{os.environ['PATH']}"}
    made = subprocess.run(
        ["make", target], cwd=checkout, env=os.environ | path, capture_output=True, text=True, check=False
    )
    assert made.returncode != 0
    assert "nothing was unpacked" in made.stderr
    assert not (checkout / "console").exists()


@pytest.mark.parametrize("lock", sorted(CHECKOUT.glob("requirements/*.lock")), ids=lambda lock: lock.name)
def test_a_lock_file_has_hashes_for_all_and_names_no_index(lock: Path):
    text = lock.read_text()
    pinned = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.lstrip().startswith("#")]
    assert pinned
    assert [line for line in pinned if "==" not in line or "--hash=sha256:" not in line] == []
    assert "://" not in text


def test_every_environment_is_made_from_a_lock_file():
    makefile = (CHECKOUT / "Makefile").read_text()
    for line in re.findall(r".*pip install.*", makefile):
        assert "--require-hashes -r " in line
