"""What `import parley_client` and a call of `parley` load: no more than they use, so that they start fast."""

import subprocess
import sys
from pathlib import Path

import pytest

import parley_client
from tests.support.gateway import CHECKOUT

HEAVY = {"asyncio", "httpx2", "rich", "parley_client.records", "parley_client._async", "parley_client._sync"}


def loaded(program: str, folder: Path) -> set[str]:
    """Run a program in a new interpreter; return which of the heavy modules it has loaded."""
    told = f"import sys\ntry:\n    {program}\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    environment = {"PYTHONPATH": str(CHECKOUT / "clients" / "python" / "src"), "XDG_CONFIG_HOME": str(folder)}
    ran = subprocess.run([sys.executable, "-c", told], env=environment, capture_output=True, text=True, check=True)
    return HEAVY & set(ran.stderr.split())


@pytest.mark.parametrize(
    ("program", "modules"),
    [
        ("import parley_client", set[str]()),
        ("from parley_client import ParleyError, encode", set[str]()),
        ("from parley_client.cli.main import app; app(['--version'])", set[str]()),
        ("from parley_client.cli.main import app; app(['admin', '--help'])", {"rich"}),
        (
            "from parley_client import Parley; Parley().close()",
            {"httpx2", "parley_client.records", "parley_client._sync"},
        ),
        (
            "from parley_client import AsyncParley; AsyncParley()",
            {"asyncio", "httpx2", "parley_client.records", "parley_client._async"},
        ),
    ],
)
def test_only_what_is_used_is_loaded(program: str, modules: set[str], tmp_path: Path) -> None:
    assert loaded(program, tmp_path) == modules


def test_the_package_has_each_of_its_names_and_no_other() -> None:
    assert {name for name in parley_client.__all__ if not hasattr(parley_client, name)} == set()
    assert parley_client.__all__ == sorted(parley_client.__all__)
    assert set(parley_client.__all__) <= set(dir(parley_client))
    assert not hasattr(parley_client, "Parlay")
