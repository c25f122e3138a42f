"""`python server.py` with arguments."""

import asyncio
import os
import sys

import pytest

from config.settings import VARIABLES
from config.version import VERSION
from tests.support.gateway import CHECKOUT


async def said(*arguments: str, **settings: str) -> tuple[int, str, str]:
    """Run it; return its exit status, stdout and stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")} | settings
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHECKOUT / "server.py"),
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("argument", ["--help", "-h"])
async def test_help_lists_every_setting_with_its_default_even_where_settings_are_wrong(argument: str):
    status, out, err = await said(argument, PARLEY_PORT="eighty")
    assert (status, err) == (0, "")
    assert out.startswith("usage: python server.py")
    for variable in VARIABLES:
        assert f"  {variable} (default: " in out
    assert "PARLEY_PORT (default: 8000)" in out
    assert "PARLEY_CONFIG" in out
    assert "config/defaults.toml" in out


@pytest.mark.parametrize("argument", ["--version", "-V"])
async def test_the_version_is_told(argument: str):
    assert await said(argument) == (0, f"Parley {VERSION}\n", "")


@pytest.mark.parametrize("arguments", [("--prot", "80"), ("serve",), ("--develop",), ("",)])
async def test_unknown_arguments_are_refused_and_nothing_starts(arguments: tuple[str, ...]):
    status, out, err = await said(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"Parley can't start: unrecognized arguments: {' '.join(arguments)}")
    assert "usage: python server.py" in err
    assert len(err.splitlines()) == 1
