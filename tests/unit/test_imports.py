"""The direction of imports (docs/architecture.md): server -> routes -> actors -> persistence."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

# What each part may import of the others. A part that is not here is a test away from being noticed.
MAY_IMPORT = {
    "server": {"config", "routes", "actors", "persistence", "tuning", "version"},
    "routes": {"actors", "persistence"},
    "actors": {"persistence"},
    "persistence": set[str](),
    "config": set[str](),
    "tuning": set[str](),
    "version": set[str](),
}
OUTSIDE = {"tests", "bench"}  # they may import every part, and pykka to compare with it

# Libraries that one part keeps to itself.
KEPT_TO = {
    "sanic": ("server.py", "routes/"),
    "sanic_routing": ("routes/",),
    "pykka": ("actors/runtime.py",),
    "aiosqlite": ("persistence/",),
    "sqlite3": ("persistence/",),
}
SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|CREATE\s+TABLE\s|PRAGMA\s)"
)


def broken_rules(checkout: Path) -> list[str]:
    """Read every Python file of the parts and say where a rule is broken."""
    return [
        f"{file.relative_to(checkout)}:{line} {fault}"
        for part in MAY_IMPORT
        for file in [*checkout.glob(f"{part}.py"), *sorted(checkout.glob(f"{part}/**/*.py"))]
        for line, fault in faults_in(file, checkout)
    ]


def faults_in(file: Path, checkout: Path) -> Iterator[tuple[int, str]]:
    place = file.relative_to(checkout).as_posix()
    part = file.relative_to(checkout).parts[0].removesuffix(".py")
    for node in ast.walk(ast.parse(file.read_bytes(), filename=place)):
        for imported in imports_of(node):
            if imported in (MAY_IMPORT.keys() | OUTSIDE) - MAY_IMPORT[part] - {part}:
                yield node_line(node), f"imports {imported}"
            if imported in KEPT_TO and not place.startswith(KEPT_TO[imported]):
                yield node_line(node), f"imports {imported}"
        if part != "persistence" and is_sql(node):
            yield node_line(node), "holds SQL"


def is_sql(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(SQL.match(node.value))


def imports_of(node: ast.AST) -> list[str]:
    """Name the top-level modules that a node imports; a relative import stays within its own part."""
    match node:
        case ast.Import(names=names):
            return [name.name.partition(".")[0] for name in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module.partition(".")[0]]
        case _:
            return []


def node_line(node: ast.AST) -> int:
    assert isinstance(node, ast.stmt | ast.expr)
    return node.lineno


def test_imports_go_one_way_and_libraries_stay_in_their_part() -> None:
    assert broken_rules(CHECKOUT) == []


def test_every_part_of_the_checkout_is_checked() -> None:
    packages = {folder.parent.name for folder in CHECKOUT.glob("*/*.py")}
    modules = {file.stem for file in CHECKOUT.glob("*.py")}
    assert (packages | modules) - OUTSIDE - {".venv"} == MAY_IMPORT.keys()


@pytest.mark.parametrize(
    ("place", "source", "fault"),
    [
        ("persistence/users.py", "from actors.errors import NotFound", "imports actors"),
        ("actors/agent.py", "import routes.bus", "imports routes"),
        ("actors/agent.py", "from routes import bus", "imports routes"),
        ("actors/engines/recall.py", "def f():\n    import server", "imports server"),
        ("routes/bus.py", "if TYPE_CHECKING:\n    from config.settings import Settings", "imports config"),
        ("actors/core.py", "import config", "imports config"),
        ("config/settings.py", "from persistence import database", "imports persistence"),
        ("server.py", "from tests.conftest import gateway", "imports tests"),
        ("actors/agent.py", "from sanic.exceptions import NotFound", "imports sanic"),
        ("persistence/writer.py", "import sanic", "imports sanic"),
        ("actors/agent.py", "from pykka import Future", "imports pykka"),
        ("routes/bus.py", "import pykka", "imports pykka"),
        ("actors/bank.py", "import aiosqlite as sql", "imports aiosqlite"),
        ("server.py", "from sqlite3 import IntegrityError", "imports sqlite3"),
        ("actors/bank.py", "QUERY = 'SELECT id FROM bank'", "holds SQL"),
        ("routes/bus.py", "q = f'UPDATE users SET plan = {plan}'", "holds SQL"),
        ("actors/bank.py", "q = '''\n  INSERT OR IGNORE INTO bank VALUES (?)'''", "holds SQL"),
    ],
)
def test_the_checker_finds_each_kind_of_fault(tmp_path: Path, place: str, source: str, fault: str) -> None:
    write(tmp_path, place, source)
    (found,) = broken_rules(tmp_path)
    assert found.startswith(f"{place}:")
    assert found.endswith(f" {fault}")


def test_the_checker_accepts_what_is_allowed(tmp_path: Path) -> None:
    write(tmp_path, "server.py", "import config, routes, actors, persistence\nfrom sanic import Sanic")
    write(tmp_path, "routes/bus.py", "import sanic\nfrom actors import agent\nfrom persistence import users")
    write(tmp_path, "actors/runtime.py", "import pykka\nfrom persistence import store\nfrom actors import ids")
    write(tmp_path, "actors/agent.py", "'''Select a bank from many; update set.'''\nfrom . import runtime")
    write(tmp_path, "persistence/users.py", "import aiosqlite, sqlite3\nQUERY = 'SELECT 1'")
    write(tmp_path, "tests/test_it.py", "import pykka, config, sqlite3")
    write(tmp_path, "bench/__main__.py", "import pykka")
    assert broken_rules(tmp_path) == []


def test_a_gateway_with_the_default_engine_does_not_load_the_openai_client() -> None:
    code = "import sys, server; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=False).returncode == 0


def write(checkout: Path, place: str, source: str) -> None:
    file = checkout / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
