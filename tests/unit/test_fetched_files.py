"""Files from registries are the reviewed ones: vendored files and lock files have checksums."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT

SWAGGER_UI = CHECKOUT / "console" / "swagger-ui"


def test_swagger_ui_s_files_are_those_of_the_committed_checksums():
    lines = (SWAGGER_UI / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    ours = {"SHA256SUMS", "VERSION"}
    assert sums.keys() == {file.name for file in SWAGGER_UI.iterdir()} - ours
    for name, digest in sums.items():
        assert hashlib.sha256((SWAGGER_UI / name).read_bytes()).hexdigest() == digest, name


def test_a_package_of_another_checksum_is_not_unpacked(tmp_path: Path):
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
        ["make", "swagger-ui"], cwd=checkout, env=os.environ | path, capture_output=True, text=True, check=False
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
