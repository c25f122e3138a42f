"""SQL for two databases: each statement is written once, and a macro stands where SQLite and PostgreSQL differ.

A macro is `@name` or `@name(arguments)`. Parameters are written as SQLite has them: `?`, `?1` or `:name`, one kind in a
statement. The macros of both databases stand side by side in `_MACROS`:

- `@sqlite(text)`, `@postgres(text)`: text for this database alone, where nothing can be shared
- `@hint(text)`: a hint for SQLite's planner
- `@seek(table, condition)`: joins a table that is searched anew for each row before it
- `@list_text(json)`, `@list_int(json)`: the subquery of a JSON array's elements, in the column `value`
- `@rows(json, name type, ...)`: the subquery of a JSON array of rows; a type is bigint, real, text or json
- `@rows_in_order(json, name type, ...)`: the same with the column `ordinal`, which rises along the array. An INSERT
  into a table that numbers its rows orders by it, because PostgreSQL may number them in another order otherwise
- `@members_int(json)`: the members of a JSON object of numbers, in the columns `key` and `value`, as part of a join
- `@json_array(value)`: the aggregate that makes a JSON array of the values in the order of the rows
- `@quote_in(sources, n)`, `@with_quote_in(sources, n, text)`: read or replace the `quote` of the n-th of the sources
- `@with_null(data, member)`: replace a member of a JSON object, if it is there, by null
- `@with_quotes(sources, text)`: replace the `quote` of each of the sources
- `@typed(parameter, type)`: a parameter whose type PostgreSQL can't infer from its place
- `@greatest(a, b, ...)`: the greatest of values, none of which is null
- `@contains(text, part)`: whether a text has another in it
- `@json_row(a, b, ...)`: a JSON array of these values, for `@json_array`
- `@random_end_like(id)`: the last 16 digits of a UUIDv7: its variant, random bits, and the last two digits of an id
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_REMEMBERED = 2_048
"""The number of texts that a dialect remembers; all but a few functions have a fixed number of texts."""

_TOKEN = re.compile(
    r"""
      '(?:[^']|'')*' | "(?:[^"]|"")*" | ::
    | @(?P<macro>\w+)(?P<opens>\()?
    | (?P<parameter>\?(?P<place>\d*) | :(?P<name>[a-z]\w*))
    | (?P<mark>[(),])
    """,
    re.VERBOSE,
)


class Statement(NamedTuple):
    """A statement as one database takes it, and its named parameters in the order of `$1`, `$2` ..., if it has such."""

    sql: str
    names: tuple[str, ...]

    def ordered(self, params: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of `$1`, `$2` ..."""
        return [params[name] for name in self.names] if isinstance(params, Mapping) else params


Macro = Callable[..., str]


class Dialect:
    """The SQL of one database. `text` and `statement` take a text with macros; both remember what they have made.

    Raise ValueError for an unknown macro, a missing bracket, or parameters of two kinds in one text.
    """

    def __init__(self, macros: Mapping[str, Macro], mine: Sequence[str], others: Sequence[str], *, numbered: bool):
        self.macros = macros
        self.mine = mine
        self.others = others
        self.numbered = numbered
        self.statement: Callable[[str], Statement] = _Memory(self._statement).__getitem__
        self.text: Callable[[str], str] = _Memory(self._text).__getitem__

    def _statement(self, sql: str) -> Statement:
        expansion = _Expansion(self, sql)
        return Statement(expansion.up_to(""), tuple(expansion.names))

    def _text(self, sql: str) -> str:
        return self._statement(sql).sql


class _Memory(dict[str, T]):
    """A cache of the results for each text; a repetition costs one look-up."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, sql: str) -> T:
        if len(self) >= _REMEMBERED:
            self.clear()
        made = self[sql] = self._make(sql)
        return made


class _Expansion:
    """A text that is expanded from left to right, so that its parameters are numbered in its own order."""

    def __init__(self, dialect: Dialect, sql: str) -> None:
        self._dialect = dialect
        self._sql = sql
        self._at = 0
        self._kinds: set[str] = set()
        self._count = 0
        self.names: list[str] = []

    def up_to(self, ends: str) -> str:
        """Expand the text up to the first of these marks that is in no bracket, or up to its end for no marks."""
        pieces: list[str] = []
        depth = 0
        while token := _TOKEN.search(self._sql, self._at):
            pieces.append(self._sql[self._at : token.start()])
            self._at = token.end()
            mark = token["mark"]
            if mark and not depth and mark in ends:
                self._at -= 1
                return "".join(pieces)
            depth += {"(": 1, ")": -1}.get(mark, 0)
            if token["macro"]:
                pieces.append(self._macro(token["macro"], opens=bool(token["opens"])))
            elif token["parameter"]:
                pieces.append(self._parameter(token))
            else:
                pieces.append(token[0])
        if ends:
            raise ValueError(f"a macro has no end: {self._sql}")
        return "".join([*pieces, self._sql[self._at :]])

    def _macro(self, name: str, *, opens: bool) -> str:
        dialect = self._dialect
        if name in dialect.mine or name in dialect.others:
            count, names = self._count, self.names.copy()
            text = self.up_to(")")
            self._at += 1
            if name in dialect.mine:
                return text
            self._count, self.names = count, names
            return ""
        if name not in dialect.macros:
            raise ValueError(f"there is no macro @{name}: {self._sql}")
        arguments: list[str] = []
        while opens:
            arguments.append(self.up_to(",)").strip())
            opens = self._sql[self._at] == ","
            self._at += 1
        return dialect.macros[name](*arguments)

    def _parameter(self, token: re.Match[str]) -> str:
        name, place = token["name"], token["place"]
        self._kinds.add("names" if name else "places" if place else "order")
        if len(self._kinds) > 1:
            raise ValueError(f"parameters of two kinds: {self._sql}")
        if not self._dialect.numbered:
            return token[0]
        if name:
            if name not in self.names:
                self.names.append(name)
            return f"${self.names.index(name) + 1}"
        self._count += 1
        return f"${place or self._count}"


# the macros


def _same(template: str) -> Macro:
    return template.format


def _listed(function: str) -> Macro:
    return lambda *values: f"{function}({', '.join(values)})"


def _rows_in_sqlite(json: str, *columns: str) -> str:
    return f"(SELECT {_columns_in_sqlite(columns)} FROM json_each({json}))"


def _rows_in_order_in_sqlite(json: str, *columns: str) -> str:
    return f"(SELECT {_columns_in_sqlite(columns)}, key AS ordinal FROM json_each({json}))"


def _values_in_sqlite(count: int, _: str, *columns: str) -> str:
    row = ", ".join(["?"] * len(columns))
    return _named_values([f"({row})"] * count, columns)


def _values_in_order_in_sqlite(count: int, _: str, *columns: str) -> str:
    row = ", ".join(["?"] * len(columns))
    return _named_values([f"({row}, {place})" for place in range(count)], [*columns, "ordinal"])


def _named_values(values: Sequence[str], columns: Sequence[str]) -> str:
    named = ", ".join(f"column{place} AS {column.split()[0]}" for place, column in enumerate(columns, 1))
    return f"(SELECT {named} FROM (VALUES {', '.join(values)}))"


def _columns_in_sqlite(columns: Sequence[str]) -> str:
    names = (column.split()[0] for column in columns)
    return ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(names))


def _rows_in_postgres(json: str, *columns: str) -> str:
    return f"(SELECT {_columns_in_postgres(columns)} FROM jsonb_array_elements(CAST({json} AS jsonb)))"


def _rows_in_order_in_postgres(json: str, *columns: str) -> str:
    return (
        f"(SELECT {_columns_in_postgres(columns)}, ordinal"
        f" FROM jsonb_array_elements(CAST({json} AS jsonb)) WITH ORDINALITY AS element (value, ordinal))"
    )


def _columns_in_postgres(columns: Sequence[str]) -> str:
    return ", ".join(_column_in_postgres(place, *column.split()) for place, column in enumerate(columns))


def _column_in_postgres(place: int, name: str, type: str) -> str:
    if type == "json":
        return f"value -> {place} AS {name}"
    return f"CAST(value ->> {place} AS {_TYPES[type]}) AS {name}"


def _typed_in_sqlite(parameter: str, _: str) -> str:
    return parameter


def _typed_in_postgres(parameter: str, type: str) -> str:
    return f"CAST({parameter} AS {_TYPES[type]})"


_TYPES = {"bigint": "bigint", "real": "double precision", "text": "text"}

# each macro of SQLite, then of PostgreSQL
_MACROS: dict[str, tuple[Macro, Macro]] = {
    # each keeps the planner from another order or way of joining, which it would choose by guesses about JSON
    "seek": (
        _same("CROSS JOIN {0} ON {1}"),
        _same("CROSS JOIN LATERAL (SELECT * FROM {0} WHERE {1} OFFSET 0) AS {0}"),
    ),
    "list_text": (
        _same("(SELECT value FROM json_each({}))"),
        _same("(SELECT value FROM json_array_elements_text(CAST({} AS json)))"),
    ),
    "list_int": (
        _same("(SELECT value FROM json_each({}))"),
        _same("(SELECT CAST(value AS bigint) AS value FROM json_array_elements_text(CAST({} AS json)))"),
    ),
    "rows": (_rows_in_sqlite, _rows_in_postgres),
    "rows_in_order": (_rows_in_order_in_sqlite, _rows_in_order_in_postgres),
    "members_int": (
        _same("json_each({})"),
        _same("LATERAL (SELECT key, CAST(value AS bigint) AS value FROM jsonb_each_text(CAST({} AS jsonb)))"),
    ),
    "json_array": (_same("json_group_array({})"), _same("CAST(coalesce(json_agg({}), '[]') AS text)")),
    "quote_in": (
        _same("json_extract({0}, '$[{1}].quote')"),
        _same("(CAST({0} AS jsonb) #>> '{{{1},quote}}')"),
    ),
    "with_quote_in": (
        _same("json_set({0}, '$[{1}].quote', {2})"),
        _same("CAST(jsonb_set(CAST({0} AS jsonb), '{{{1},quote}}', to_jsonb(CAST({2} AS text))) AS text)"),
    ),
    "with_null": (
        _same("json_replace({0}, '$.{1}', NULL)"),
        _same("CAST(jsonb_set(CAST({0} AS jsonb), '{{{1}}}', 'null', false) AS text)"),
    ),
    "with_quotes": (
        _same("(SELECT json_group_array(json_set(value, '$.quote', {1})) FROM json_each({0}))"),
        _same(
            "(SELECT CAST(coalesce(jsonb_agg(value || jsonb_build_object('quote', CAST({1} AS text)) ORDER BY place),"
            " '[]') AS text) FROM jsonb_array_elements(CAST({0} AS jsonb)) WITH ORDINALITY AS source (value, place))"
        ),
    ),
    "typed": (_typed_in_sqlite, _typed_in_postgres),
    "greatest": (_listed("max"), _listed("greatest")),
    "contains": (_same("(instr({0}, {1}) > 0)"), _same("(strpos({0}, {1}) > 0)")),
    "json_row": (_listed("json_array"), _listed("json_build_array")),
    "random_end_like": (
        _same(
            "substr('89ab', 1 + (random() & 3), 1) || substr(lower(hex(randomblob(7))), 2)"
            " || substr({0}, length({0}) - 1)"
        ),
        _same("left(right(replace(CAST(gen_random_uuid() AS text), '-', ''), 16), 14) || right({0}, 2)"),
    ),
}

SQLITE = Dialect(
    {name: macro for name, (macro, _) in _MACROS.items()}, ("sqlite", "hint"), ("postgres",), numbered=False
)
POSTGRES = Dialect(
    {name: macro for name, (_, macro) in _MACROS.items()}, ("postgres",), ("sqlite", "hint"), numbered=True
)


@lru_cache(maxsize=_REMEMBERED)
def many_in_sqlite(sql: str, count: int) -> str:
    """Return the text of a statement for many writes (`Write.many`), with a parameter for each value of `count` rows.

    SQLite reads parameters three times as fast as JSON.
    """
    macros: dict[str, Macro] = {
        **SQLITE.macros,
        "rows": partial(_values_in_sqlite, count),
        "rows_in_order": partial(_values_in_order_in_sqlite, count),
    }
    return Dialect(macros, SQLITE.mine, SQLITE.others, numbered=False).text(sql)
