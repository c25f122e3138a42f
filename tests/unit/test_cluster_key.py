"""The master key of `make cluster`: private, and on the disk with its name before anything is sealed with it."""

import os
import stat
from pathlib import Path

import pytest

from deploy.cluster import KEY_FILE, master_key


def test_a_new_key_is_private_and_stays(tmp_path: Path):
    path = tmp_path / KEY_FILE
    key = master_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert master_key(path) == key
    assert os.listdir(tmp_path) == [KEY_FILE]


def test_a_new_key_s_file_is_synced_and_then_its_folder_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[tuple[Path, bool]] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        sync(descriptor)
        synced.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")), (tmp_path / KEY_FILE).exists()))

    monkeypatch.setattr(os, "fsync", noted)
    master_key(tmp_path / KEY_FILE)
    assert synced == [(tmp_path / f"{KEY_FILE}.new", False), (tmp_path, True)]
