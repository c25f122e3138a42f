"""Tables for people, made by rich; output.py imports this where a table is asked for, because rich takes its time."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley_client._decoding import encode

WHOLE = frozenset({"id", "key", "secret"})
"""Columns to copy from, which are never broken."""

PIPE_WIDTH = 10_000
"""Columns of a line that no terminal shows."""

out = Console(highlight=False, soft_wrap=True)


def print_table(records: Iterable[Any], columns: tuple[str, ...]) -> None:
    """Print these members of records, a record on a line."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for record in records:
        table.add_row(*(Text(_cell(getattr(record, column))) for column in columns))
    _print(table)


def print_members(record: Any) -> None:
    """Print all members of one record, each on a line."""
    table = Table.grid(padding=(0, 2))
    members: dict[str, Any] = encode(record)
    for member, value in members.items():
        table.add_row(member, Text(_cell(value)))
    _print(table)


def _print(table: Table) -> None:
    out.print(table, width=None if out.is_terminal else PIPE_WIDTH)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return ", ".join(f"{name} {inner}" for name, inner in members.items() if inner is not None)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "" if value is None else str(encode(value))
