"""The client installs into an empty environment, without anything of the server; needs the package index."""

import json
import os
import re
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.gateway import CHECKOUT, GatewayProcess

CLIENT = CHECKOUT / "clients" / "python"
OF_THE_SERVER = {"sanic", "pykka", "aiosqlite", "asyncpg", "parley", "mcp"}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with nothing but the client."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", CLIENT], check=True)
    return folder


def printed(environment: Path, program: str, *arguments: str | Path) -> str:
    """Run a program of an environment in its folder, where nothing of the checkout is; return what it prints."""
    command = (environment / "bin" / program, *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=environment).stdout


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_client_installs_alone(empty: Path) -> None:
    listed = json.loads(printed(empty, "python", "-m", "pip", "list", "--format", "json"))
    assert not {package["name"].lower() for package in listed} & OF_THE_SERVER
    assert "doctor" in printed(empty, "parley", "--help")


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_second_quick_start_works_where_the_client_is_alone(empty: Path, gateway: GatewayProcess) -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    program = empty / "quick_start.py"
    program.write_text(block.replace("http://127.0.0.1:8000", gateway.base), encoding="utf-8")
    assert "Radium glows in the dark." in printed(empty, "python", program)


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_wheel_is_typed_licensed_and_holds_the_package_alone(empty: Path, tmp_path: Path) -> None:
    printed(empty, "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, CLIENT)
    (path,) = tmp_path.glob("*.whl")
    with ZipFile(path) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        fields = message_from_string(wheel.read(metadata).decode())
    assert "parley_client/py.typed" in names
    info = metadata.removesuffix("METADATA")
    assert {name.partition("/")[0] for name in names} == {"parley_client", info.rstrip("/")}
    assert not [name for name in names if name.startswith("parley_client/") and not name.endswith((".py", "/py.typed"))]
    assert f"{info}licenses/LICENSE" in names
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in fields.get_all("Classifier", [])
    version = printed(empty, "python", "-c", "import parley_client; print(parley_client.__version__)").strip()
    assert fields["Version"] == version


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_types_of_the_installed_package_are_complete(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"venvPath": str(empty.parent), "venv": empty.name}))
    command = (sys.executable, "-m", "pyright", "--verifytypes", "parley_client", "--ignoreexternal", "--outputjson")
    environment = os.environ | {"PATH": f"{empty / 'bin'}:{os.environ['PATH']}"}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment)
    symbols = json.loads(ran.stdout)["typeCompleteness"]["symbols"]
    used = [symbol for symbol in symbols if symbol["isExported"] and not symbol["name"].startswith("parley_client.cli")]
    assert len(used) > 500
    assert [symbol["name"] for symbol in used if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]] == []
