"""`python server.py` with arguments."""

from pathlib import Path

import pytest

from config.settings import VARIABLES
from config.version import VERSION
from tests.support.gateway import ran_apart


@pytest.mark.parametrize("argument", ["--help", "-h"])
async def test_help_lists_every_setting_with_its_default_even_where_settings_are_wrong(tmp_path: Path, argument: str):
    status, out, err = await ran_apart(tmp_path, argument, PARLEY_PORT="eighty")
    assert (status, err) == (0, "")
    assert out.startswith("usage: python server.py")
    for variable in VARIABLES:
        assert f"  {variable} (default: " in out
    assert "PARLEY_PORT (default: 8000)" in out
    assert "PARLEY_CONFIG" in out
    assert "config/defaults.toml" in out


@pytest.mark.parametrize("argument", ["--version", "-V"])
async def test_the_version_is_told(tmp_path: Path, argument: str):
    assert await ran_apart(tmp_path, argument) == (0, f"Parley {VERSION}\n", "")


@pytest.mark.parametrize("arguments", [("--prot", "80"), ("serve",), ("--develop",), ("",)])
async def test_unknown_arguments_are_refused_and_nothing_starts(tmp_path: Path, arguments: tuple[str, ...]):
    status, out, err = await ran_apart(tmp_path, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"Parley can't start: unrecognized arguments: {' '.join(arguments)}")
    assert "usage: python server.py" in err
    assert len(err.splitlines()) == 1
