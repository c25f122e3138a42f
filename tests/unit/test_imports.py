"""The direction of imports, the order of folders in actors/, and the size of files (docs/architecture.md)."""

import ast
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

from persistence.sqlite.migrate import MIGRATIONS

CHECKOUT = Path(__file__).resolve().parents[2]

# The imports that each part may make of others. A test notices a part that is missing here.
MAY_IMPORT = {
    "server": {"options", "config", "routes", "actors", "persistence"},
    "options": {"config", "routes", "actors", "persistence"},
    "routes": {"actors", "persistence"},
    "actors": {"persistence"},
    "persistence": set[str](),
    "config": set[str](),
    "deploy": set[str](),
}
# Programs of their own, which read the settings as server.py does; nothing imports them.
PROGRAMS = {"persistence/erase.py": {"config"}}
OUTSIDE = {"tests", "bench", "clients", "examples"}  # they may import every part, and pykka to compare with it

# Libraries that one part keeps to itself.
KEPT_TO = {
    "sanic": ("server.py", "routes/"),
    "sanic_routing": ("routes/",),
    "pykka": ("actors/runtime/",),
    "aiosqlite": ("persistence/",),
    "asyncpg": ("persistence/",),
    "sqlite3": ("persistence/",),
    "nats": ("actors/runtime/cluster/",),
}

UNIT = ("persistence.store", "Unit")
"""A unit of changes, which routes leave to commands (docs/architecture.md)."""

SQL = re.compile(
    r"\b(SELECT|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|TRIGGER)|PRAGMA|WHERE|JOIN"
    r"|UNION|HAVING|(ORDER|GROUP)\s+BY|ON\s+CONFLICT|BEGIN\s+IMMEDIATE|SAVEPOINT)\b"
    r"|\bVALUES\s*\(|\bLIMIT\s+[?:]"
)
"""Words of SQL; text for people has none of them in capitals."""


def schema() -> set[str]:
    """Name the columns of the real schema as `table.column`, and its tables whose names are no everyday words."""
    with closing(sqlite3.connect(":memory:")) as database:
        for migration in sorted(MIGRATIONS.glob("*.sql")):
            database.executescript(migration.read_text(encoding="utf-8"))
        columns = database.execute(
            "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns"
            " WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'"
        ).fetchall()
    return {f"{table}.{column}" for table, column in columns} | {table for table, _ in columns if "_" in table}


SCHEMA = schema()


# A module or folder of actors/ imports only what stands before it.
ORDER = (
    *("errors", "ids", "wire", "plans", "names", "sealing", "throttle", "slices", "addresses"),
    *("egress", "text", "retrieval", "engines", "idempotency", "runtime"),
    *(
        "webhooks",
        "sessions",
        "tools",
        "library",
        "conversations",
        "quotas",
        "agents",
        "banks",
        "domains",
        "users",
    ),
    *("node", "core", "calls", "commands", "jobs"),
)

LINES = 350
"""Maximum number of lines of a Python file of the product."""

# What is still to be cut up or turned round; these lists only ever shrink.
TOO_LONG: set[str] = set()
UPHILL: set[str] = set()
IN_CIRCLES: set[str] = set()


def broken_rules(checkout: Path) -> list[str]:
    """Return every broken rule in the Python files of the parts."""
    return [
        f"{file.relative_to(checkout)}:{line} {fault}"
        for part in MAY_IMPORT
        for file in [*checkout.glob(f"{part}.py"), *sorted(checkout.glob(f"{part}/**/*.py"))]
        for line, fault in faults_in(file, checkout)
    ]


def faults_in(file: Path, checkout: Path) -> Iterator[tuple[int, str]]:
    place = file.relative_to(checkout).as_posix()
    part = file.relative_to(checkout).parts[0].removesuffix(".py")
    allowed = MAY_IMPORT[part] | PROGRAMS.get(place, set()) | {part}
    tree = ast.parse(file.read_bytes(), filename=place)
    for node in ast.walk(tree):
        for imported in imports_of(node):
            if imported in (MAY_IMPORT.keys() | OUTSIDE) - allowed:
                yield node_line(node), f"imports {imported}"
            if imported in KEPT_TO and not place.startswith(KEPT_TO[imported]):
                yield node_line(node), f"imports {imported}"
        match node:
            case ast.ImportFrom(module=module, names=names) if part == "routes":
                if any((module, name.name) == UNIT for name in names):
                    yield node.lineno, "imports Unit"
            case (
                ast.Attribute(attr="ask")
                | ast.Attribute(value=ast.Name(id="call") | ast.Attribute(attr="call"), attr="carry_out")
            ) if part == "routes":
                yield node.lineno, "sends a message to an actor"
            case _:
                pass
    if part not in ("persistence", "config"):
        for text in texts_of(tree):
            if SQL.search(text.value):
                yield text.lineno, "holds SQL"
            elif text.value in SCHEMA:
                yield text.lineno, f"names {text.value} of the schema"


def concept_of(module: str) -> str:
    """Return the folder of actors/ that holds a module, or the module itself if it is in none."""
    return module.split(".")[1] if module.startswith("actors.") else ""


def modules_imported(file: Path) -> Iterator[tuple[int, str]]:
    """Return each module that a file imports, with its full name and line."""
    for node in ast.walk(ast.parse(file.read_bytes(), filename=str(file))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module
                yield from ((node.lineno, f"{module}.{name.name}") for name in node.names)
            case _:
                pass


def uphill(checkout: Path) -> list[str]:
    """Return the imports in actors/ against the order."""
    found: set[str] = set()
    for file in sorted(checkout.glob("actors/**/*.py")):
        place = file.relative_to(checkout).with_suffix("").as_posix().replace("/", ".")
        for _, module in modules_imported(file):
            if is_module(checkout, module) and rank(concept_of(module)) > rank(concept_of(place)):
                found.add(f"{place} -> {module}")
    return sorted(found)


def is_module(checkout: Path, name: str) -> bool:
    return (checkout / (name.replace(".", "/") + ".py")).exists()


def rank(concept: str) -> int:
    return ORDER.index(concept) if concept in ORDER else -1


def imports_of_tests(checkout: Path) -> list[str]:
    """Return each import of a test module; code shared by tests lies in tests/support/."""
    return [
        f"{file.relative_to(checkout)}:{line} imports {name}"
        for file in sorted(checkout.glob("tests/**/*.py"))
        for line, name in modules_imported(file)
        if re.match(r"tests\.(.+\.)?(test_\w+|conftest)(\.|$)", name)
    ]


def circles(checkout: Path) -> list[str]:
    """Return the modules of the product that import each other in a circle."""
    names = {
        file.relative_to(checkout).with_suffix("").as_posix().replace("/", "."): file
        for part in MAY_IMPORT
        for file in checkout.glob(f"{part}/**/*.py")
    }
    waiting = {
        name: {module for _, module in modules_imported(file)} & names.keys() - {name} for name, file in names.items()
    }
    while ends := [name for name, imported in waiting.items() if not imported & waiting.keys()] or [
        name for name in waiting if not any(name in imported for imported in waiting.values())
    ]:
        for name in ends:
            del waiting[name]
    return sorted(waiting)


def too_long(checkout: Path) -> list[str]:
    """Return the files of the product with too many lines."""
    files = [
        checkout / "server.py",
        *(file for part in MAY_IMPORT for file in sorted(checkout.glob(f"{part}/**/*.py"))),
    ]
    return [
        file.relative_to(checkout).as_posix()
        for file in files
        if file.exists() and len(file.read_text(encoding="utf-8").splitlines()) > LINES
    ]


class Text(NamedTuple):
    """A text in a program, and its line."""

    value: str
    lineno: int


def texts_of(tree: ast.AST) -> list[Text]:
    """Return the string literals of a program, without docstrings and other bare strings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        Text(node.value, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    ]


def imports_of(node: ast.AST) -> list[str]:
    """Return the top-level modules that a node imports; a relative import stays within its own part."""
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


def test_folders_of_actors_import_only_what_stands_before_them() -> None:
    assert set(uphill(CHECKOUT)) == UPHILL


def test_every_module_of_actors_has_its_place_in_the_order() -> None:
    there = {file.stem for file in CHECKOUT.glob("actors/*.py")} | {
        f.parent.name for f in CHECKOUT.glob("actors/*/*.py")
    }
    assert there - {"__init__", "actors"} <= set(ORDER)


def test_the_page_for_contributors_shows_this_order() -> None:
    layout = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("before it in this order:\n\n")[2]
    assert re.findall(r"\w+", layout.partition("\n\n")[0]) == [*ORDER]


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert set(circles(CHECKOUT)) == IN_CIRCLES


def test_no_module_of_tests_imports_another() -> None:
    assert imports_of_tests(CHECKOUT) == []


def test_an_import_of_a_module_of_tests_is_found(tmp_path: Path) -> None:
    write(tmp_path, "tests/crash/test_audit.py", "from tests.crash.test_quotas import read")
    write(tmp_path, "tests/unit/test_a.py", "def f():\n    from tests.unit import test_b")
    write(tmp_path, "tests/unit/test_b.py", "from tests.support.stored import read\nfrom tests.gateways import parts")
    assert imports_of_tests(tmp_path) == [
        "tests/crash/test_audit.py:1 imports tests.crash.test_quotas",
        "tests/crash/test_audit.py:1 imports tests.crash.test_quotas.read",
        "tests/unit/test_a.py:2 imports tests.unit.test_b",
    ]


def test_the_files_that_the_page_on_architecture_names_are_there() -> None:
    page = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:actors|routes|persistence|config|tests)/[\w/]+\.\w+)`", page))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (CHECKOUT / name).exists()] == []


def test_each_library_that_the_product_imports_is_a_dependency_of_its_own() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {distribution(re.split(r"[<>=\[]", one)[0]) for one in project["dependencies"]}
    packages = packages_distributions()
    imported = {
        module.partition(".")[0]
        for part in MAY_IMPORT
        for file in [*CHECKOUT.glob(f"{part}.py"), *CHECKOUT.glob(f"{part}/**/*.py")]
        for _, module in modules_imported(file)
    }
    libraries = imported - sys.stdlib_module_names - MAY_IMPORT.keys()
    assert {name for name in libraries if declared.isdisjoint(map(distribution, packages[name]))} == set()


def distribution(name: str) -> str:
    """Write the name of a distribution as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_file_is_too_long() -> None:
    assert set(too_long(CHECKOUT)) == TOO_LONG


def test_every_part_of_the_checkout_is_checked() -> None:
    packages = {folder.parent.name for folder in CHECKOUT.glob("*/*.py")}
    modules = {file.stem for file in CHECKOUT.glob("*.py")}
    assert (packages | modules) - OUTSIDE - {".venv"} == MAY_IMPORT.keys()


@pytest.mark.parametrize(
    ("place", "source", "fault"),
    [
        ("persistence/users.py", "from actors.errors import NotFound", "imports actors"),
        ("actors/agents/actor.py", "import routes.bus", "imports routes"),
        ("actors/agents/actor.py", "from routes import bus", "imports routes"),
        ("actors/engines/recall.py", "def f():\n    import server", "imports server"),
        ("routes/bus/bus.py", "if TYPE_CHECKING:\n    from config.settings import Settings", "imports config"),
        ("routes/bus/bus.py", "from persistence.store import Store, Unit", "imports Unit"),
        ("routes/gateway/keys.py", "call.carry_out(USER, id, message, answer)", "sends a message to an actor"),
        ("routes/gateway/keys.py", "request.call.carry_out(USER, id, message)", "sends a message to an actor"),
        ("routes/gateway/debug.py", "core.directory.ask(USER, id, message)", "sends a message to an actor"),
        ("actors/core.py", "import config", "imports config"),
        ("config/settings.py", "from persistence import database", "imports persistence"),
        ("persistence/opening.py", "from config.settings import Settings", "imports config"),
        ("persistence/erase.py", "from actors.errors import NotFound", "imports actors"),
        ("server.py", "from tests.conftest import gateway", "imports tests"),
        ("actors/agents/actor.py", "from sanic.exceptions import NotFound", "imports sanic"),
        ("persistence/sqlite/writer.py", "import sanic", "imports sanic"),
        ("actors/agents/actor.py", "from pykka import Future", "imports pykka"),
        ("routes/bus/bus.py", "import pykka", "imports pykka"),
        ("actors/banks/actor.py", "import aiosqlite as sql", "imports aiosqlite"),
        ("server.py", "from sqlite3 import IntegrityError", "imports sqlite3"),
        ("actors/banks/actor.py", "QUERY = 'SELECT id FROM bank'", "holds SQL"),
        ("routes/bus/bus.py", "q = f'UPDATE users SET plan = {plan}'", "holds SQL"),
        ("actors/banks/actor.py", "q = '''\n  INSERT OR IGNORE INTO bank VALUES (?)'''", "holds SQL"),
        ("actors/banks/actor.py", "def f(c):\n    return f'{c} AND place > ? ORDER BY place'", "holds SQL"),
        ("routes/bus/bus.py", "condition = 'WHERE id = ?'", "holds SQL"),
        ("server.py", "statement = 'PRAGMA wal_checkpoint'", "holds SQL"),
        ("actors/agents/actor.py", "errors = {'agents.name_key': 1}", "names agents.name_key of the schema"),
        ("routes/bus/bus.py", "table = 'zone_quotes'", "names zone_quotes of the schema"),
    ],
)
def test_the_checker_finds_each_kind_of_fault(tmp_path: Path, place: str, source: str, fault: str) -> None:
    write(tmp_path, place, source)
    (found,) = broken_rules(tmp_path)
    assert found.startswith(f"{place}:")
    assert found.endswith(f" {fault}")


def test_the_checker_accepts_what_is_allowed(tmp_path: Path) -> None:
    write(tmp_path, "server.py", "import config, routes, actors, persistence\nfrom sanic import Sanic")
    write(tmp_path, "routes/bus/bus.py", "import sanic\nfrom actors import agent\nfrom persistence import users")
    write(tmp_path, "actors/runtime/actor.py", "import pykka\nfrom persistence import store\nfrom actors import ids")
    write(tmp_path, "actors/agents/actor.py", "'''Select a bank from many; update set.'''\nfrom . import runtime")
    write(
        tmp_path, "actors/banks/actor.py", "def f():\n    '''See `agents.name_key`: WHERE.'''\n    return 'agent.name'"
    )
    write(tmp_path, "persistence/users.py", "import aiosqlite, sqlite3\nQUERY = 'SELECT 1'")
    write(tmp_path, "tests/test_it.py", "import pykka, config, sqlite3")
    write(tmp_path, "bench/__main__.py", "import pykka")
    assert broken_rules(tmp_path) == []


def test_a_start_imports_no_library_that_only_some_requests_need() -> None:
    code = "import sys, server; print({'openai', 'aiohttp', 'mcp', 'asyncpg', 'nats'} & sys.modules.keys() or '')"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def write(checkout: Path, place: str, source: str) -> None:
    file = checkout / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
