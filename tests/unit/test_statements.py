"""Every statement of persistence/ does the same on SQLite and on PostgreSQL: refusals, rows, types and tables."""

import asyncio
import importlib
import inspect
import json
import pkgutil
import random
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import asyncpg
import pytest

import persistence
from persistence import banks, search_index, users
from persistence.dialect import POSTGRES, SQLITE
from persistence.postgres.constraints import Constraints
from persistence.postgres.migrate import migrate
from persistence.search_index import Frequency, IndexedText
from persistence.sqlite.store import SqliteStore
from persistence.store import FOREIGN_KEY, ROWS, Query, Write, not_null
from tests.support import postgres
from tests.support.statements import ADA, NOTES, SECTIONS, Step

NOT_CALLED = {"persistence.batches", "persistence.memories_not_moved", "persistence.notices", "persistence.store"}
"""Modules whose statements no other store runs, or that make none."""

ORDERED = re.compile(r"ORDER BY(?:[^()]|\([^()]*\))*$")
"""An order of all rows, in no bracket."""

TYPES = {"text", "int8", "int4", "bool", "bytea"}
"""The types of PostgreSQL that become what SQLite answers; a truth becomes a number there."""

NUMBERED_BY_STORE = {("messages", "place"), ("zone_messages", "place")}
"""Columns that may have gaps in one database and not in the other, and that no statement reads."""


class Refusal(Exception):
    """A write was refused, by a constraint or because it touched another number of rows than it named."""


class Database(Protocol):
    """One of the databases that are compared."""

    types: set[str]

    def find(self, sql: str) -> list[tuple[Any, ...]]: ...

    def fetch(self, query: Query[Any]) -> list[tuple[Any, ...]]: ...

    def begin(self) -> None: ...

    def execute(self, sql: str, params: Sequence[Any]) -> int: ...

    def end(self, *, well: bool) -> None: ...


class Sqlite:
    """A file with the schema of the store."""

    def __init__(self, file: Path) -> None:
        asyncio.run(_make(file))
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute("PRAGMA foreign_keys = ON")
        self.types = set[str]()

    def find(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def fetch(self, query: Query[Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(SQLITE.text(query.sql), query.params).fetchall()

    def begin(self) -> None:
        self._connection.execute("BEGIN")

    def execute(self, sql: str, params: Sequence[Any]) -> int:
        try:
            return self._connection.execute(SQLITE.text(sql), params).rowcount
        except sqlite3.IntegrityError as error:
            kind, _, columns = str(error).partition(" constraint failed")
            column = columns.removeprefix(": ").split(",")[0]
            names = {"FOREIGN KEY": FOREIGN_KEY, "UNIQUE": column, "NOT NULL": not_null(column)}
            raise Refusal(names.get(kind, "")) from error

    def end(self, *, well: bool) -> None:
        self._connection.execute("COMMIT" if well else "ROLLBACK")

    def close(self) -> None:
        self._connection.close()


async def _make(file: Path) -> None:
    store = await SqliteStore.open(file)
    await store.close()


class Postgres:
    """A database of the tests' own server, with the schema of the store."""

    def __init__(self, name: str) -> None:
        self._runner = asyncio.Runner()
        self._constraints = Constraints()
        self._connection = self._runner.run(self._open(name))
        self.types = set[str]()

    async def _open(self, name: str) -> asyncpg.Connection:
        cluster = await postgres.shared()
        connection = await asyncpg.connect(await cluster.database(name))
        await migrate(connection)
        return connection

    def find(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._runner.run(self._connection.fetch(sql))]

    def fetch(self, query: Query[Any]) -> list[tuple[Any, ...]]:
        return self._runner.run(self._fetch(query))

    async def _fetch(self, query: Query[Any]) -> list[tuple[Any, ...]]:
        statement = POSTGRES.statement(query.sql)
        prepared = await self._connection.prepare(statement.sql)
        self.types |= {attribute.type.name for attribute in prepared.get_attributes()}
        return [tuple(row) for row in await prepared.fetch(*statement.ordered(query.params))]

    def begin(self) -> None:
        self._runner.run(self._connection.execute("BEGIN"))

    def execute(self, sql: str, params: Sequence[Any]) -> int:
        return self._runner.run(self._execute(sql, params))

    async def _execute(self, sql: str, params: Sequence[Any]) -> int:
        try:
            done = await self._connection.execute(POSTGRES.text(sql), *params)
        except asyncpg.IntegrityConstraintViolationError as error:
            await self._connection.execute("ROLLBACK")  # no read is answered before that
            await self._connection.execute("BEGIN")
            raise Refusal(await self._constraints.refused_by(error, self._connection.fetch)) from error
        return int(done.split()[-1]) if done[-1].isdecimal() else 0

    def end(self, *, well: bool) -> None:
        self._runner.run(self._connection.execute("COMMIT" if well else "ROLLBACK"))

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()


class Outcome(NamedTuple):
    """What a step came to: rows read, or rows touched by each write and the constraint that refused one."""

    step: str
    rows: list[Any]
    refused_by: str | None = None


def run(database: Database, step: Step, *, joined: bool) -> Outcome:
    """Run a step; `joined` writes are run as the statement for many of their kind, where there is one."""
    name = f"{getattr(step.of, '__module__', '')}.{getattr(step.of, '__name__', 'constant')}"
    made = step.made(database.find)
    if isinstance(made, Query):
        rows = [step.alike(made.build(row)) for row in database.fetch(made)]
        return Outcome(name, rows if ORDERED.search(made.sql) else sorted(rows, key=repr))
    touched: list[Any] = []
    database.begin()
    try:
        touched.extend(_write(database, write, joined=joined) for write in made)
    except Refusal as refusal:
        database.end(well=False)
        return Outcome(name, touched, str(refusal))
    database.end(well=True)
    return Outcome(name, touched)


def _write(database: Database, write: Write, *, joined: bool) -> int:
    if joined and write.many is not None:
        return database.execute(write.many, (json.dumps([write.params]),))
    touched = database.execute(write.sql, write.params)
    if write.rows is not None and touched != write.rows:
        raise Refusal(ROWS)
    return touched


Tables = Mapping[str, list[tuple[Any, ...]]]


def tables_of(database: Database, columns: Mapping[str, Sequence[str]]) -> Tables:
    """Read all tables, with the names of terms in place of their numbers, which each store gives by itself."""
    vocabulary = database.find("SELECT number, collection, term FROM vocabulary")
    terms = {number: f"{of} {term}" for number, of, term in vocabulary}
    seen: dict[tuple[str, str], Callable[[Any], Any]] = {
        ("deliveries", "id"): lambda id: id[:20],
        ("messages", "sources"): lambda sources: sources and json.loads(sources),
        ("zone_messages", "sources"): lambda sources: sources and json.loads(sources),
        ("events", "data"): lambda data: sorted(json.loads(data).items()),
        ("vocabulary", "number"): terms.__getitem__,
        ("postings", "term"): terms.__getitem__,
        ("indexed_texts", "terms"): lambda numbers: sorted(terms[number] for number in json.loads(numbers)),
    }
    seen |= dict.fromkeys(NUMBERED_BY_STORE, lambda _: None)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, names in columns.items():
        rows = database.find(f"SELECT {', '.join(names)} FROM {table}")
        looks = [seen.get((table, name), lambda value: value) for name in names]
        found[table] = sorted(
            (tuple(look(value) for look, value in zip(looks, row, strict=True)) for row in rows), key=repr
        )
    return found


def columns_of(database: Database) -> dict[str, list[str]]:
    """List the columns of the tables that both databases have; the check of the store's health is no state."""
    found: dict[str, list[str]] = {}
    for table, column in database.find(
        "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns"
        " WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%' AND tables.name NOT LIKE 'memory_%'"
        " AND tables.name <> 'health'"
    ):
        found.setdefault(table, []).append(column)
    return found


class Run(NamedTuple):
    """The outcomes of each section on one database, and its tables after it."""

    outcomes: dict[str, list[Outcome]]
    tables: dict[str, Tables]
    types: set[str]


def run_all(database: Database, columns: Mapping[str, Sequence[str]], *, joined: bool) -> Run:
    run_so_far = Run({}, {}, database.types)
    for section, steps in SECTIONS.items():
        outcomes = run_so_far.outcomes[section] = []
        for step in steps:
            try:
                outcomes.append(run(database, step, joined=joined))
            except Exception as error:
                error.add_note(f"{type(database).__name__}, {section}: {step.of}")
                raise
        run_so_far.tables[section] = tables_of(database, columns)
    return run_so_far


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Run]:
    """All sections on both databases, each write by itself, and joined."""
    found: dict[tuple[str, bool], Run] = {}
    for joined in (False, True):
        with closing(Sqlite(tmp_path_factory.mktemp("statements") / "test.db")) as sqlite:
            columns = columns_of(sqlite)
            found["sqlite", joined] = run_all(sqlite, columns, joined=joined)
        with closing(Postgres(f"statements_{joined}".lower())) as other:
            found["postgres", joined] = run_all(other, columns, joined=joined)
    return found


Runs = dict[tuple[str, bool], Run]


@pytest.mark.parametrize("joined", [False, True], ids=["alone", "joined"])
@pytest.mark.parametrize("section", SECTIONS)
def test_statements_do_the_same_on_both_databases(runs: Runs, section: str, joined: bool):
    sqlite, other = runs["sqlite", joined], runs["postgres", joined]
    for here, there in zip(sqlite.outcomes[section], other.outcomes[section], strict=True):
        assert repr(here) == repr(there)  # 1, True and 1.0 are equal otherwise
    for table, rows in sqlite.tables[section].items():
        assert repr(rows) == repr(other.tables[section][table]), table


@pytest.mark.parametrize("section", SECTIONS)
def test_a_statement_for_many_writes_does_what_each_does(runs: Runs, section: str):
    assert runs["sqlite", False].tables[section] == runs["sqlite", True].tables[section]


def test_reads_answer_types_that_both_databases_have(runs: Runs):
    assert runs["postgres", False].types == TYPES


def test_each_section_leaves_something_to_compare(runs: Runs):
    for section in SECTIONS:
        outcomes = runs["sqlite", False].outcomes[section]
        assert any(outcome.rows for outcome in outcomes)
        assert any(outcome.refused_by is None for outcome in outcomes)


def public(module: Any) -> Iterator[Any]:
    """Return the functions of a module that make statements, and its statements."""
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            made = str(inspect.signature(value).return_annotation)
            if "persistence.store.Write" in made or "persistence.store.Query" in made:
                yield value
        elif isinstance(value, Query | Write):
            yield value


def test_every_function_that_makes_statements_is_called():
    called = {id(step.of) for steps in SECTIONS.values() for step in steps}
    names = [f"persistence.{found.name}" for found in pkgutil.iter_modules(persistence.__path__)]
    missing = [
        f"{module.__name__}.{getattr(of, '__name__', of)}"
        for module in map(importlib.import_module, names)
        if module.__name__ not in NOT_CALLED
        for of in public(module)
        if id(of) not in called
    ]
    assert missing == []
    assert len(called) > 150


def best(database: Database, question: list[str]) -> list[tuple[Any, ...]]:
    """Ask for the best texts by weights that are often equal, so that many scores are."""
    found = [Frequency(*row) for row in database.fetch(search_index.frequencies(101, question))]
    weights = sorted((found.term, found.number, 0.7 + 0.1 * (found.documents % 3)) for found in found)
    numbers = [number for _, number, _ in weights]
    query = search_index.matches(101, [weight[1:] for weight in weights], numbers, 10.0, 1.2, 0.75, 20)
    names = {number: name for name, number, _ in weights}
    return sorted((row[0], names.get(row[3], ""), *row[4:]) for row in database.fetch(query))


def test_a_search_finds_the_same_texts_in_the_same_order(tmp_path: Path):
    chosen = random.Random(1)
    words = [f"w{number}" for number in range(60)]
    shares = [1 / number for number in range(1, 61)]
    texts = [IndexedText(n, "", n, chosen.choices(words, shares, k=chosen.choice((8, 16)))) for n in range(1, 400)]
    questions = [list(dict.fromkeys(chosen.choices(words, shares, k=8))) for _ in range(60)]
    with closing(Sqlite(tmp_path / "test.db")) as sqlite, closing(Postgres("searches")) as other:
        for database in (sqlite, other):
            for write in (users.insert(ADA), *banks.insert(NOTES, "v1"), *search_index.add(101, texts)):
                database.execute(write.sql, write.params)
        other.execute("SET enable_hashagg = off", ())  # as with many texts: sums of another order
        for question in questions:
            here, there = (best(database, question) for database in (sqlite, other))
            assert here == there
            assert len({document for document, *_ in here}) == 20
