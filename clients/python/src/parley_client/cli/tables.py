"""Tables for people, made by rich; output.py imports this where a table is asked for, because rich takes its time."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from parley_client._decoding import encode
from parley_client.cli.output import visible

WHOLE = frozenset({"id", "endpoint_id", "event_id", "key", "secret"})
"""Columns to copy from, which are never broken or cut."""

GAP = 2
"""Spaces between two columns, as rich pads them."""

NARROWEST = 10
"""The least width of each other column, where its contents are that wide."""

out = Console(highlight=False, soft_wrap=True)

unbounded = Console(highlight=False, soft_wrap=True, width=10_000, height=25)
"""For pipes, and for terminals that are too narrow for a table, which they wrap."""


def print_table(records: Iterable[Any], columns: tuple[str, ...]) -> None:
    """Print these members of records, a record on a line."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for record in records:
        table.add_row(*(Text(visible(_cell(getattr(record, column)))) for column in columns))
    fits = sum(_least_width(column) + GAP for column in table.columns) - GAP <= out.width
    (out if out.is_terminal and fits else unbounded).print(table)


def print_members(record: Any) -> None:
    """Print all members of one record, each on a line."""
    table = Table.grid(padding=(0, 2))
    members: dict[str, Any] = encode(record)
    for member, value in members.items():
        table.add_row(member, Text(visible(_cell(value))))
    (out if out.is_terminal else unbounded).print(table)


def _least_width(column: Column) -> int:
    widest = max(cell_len(str(text)) for text in (column.header, *column.cells))
    return widest if column.no_wrap else min(widest, NARROWEST)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return ", ".join(f"{name} {inner}" for name, inner in members.items() if inner is not None)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "" if value is None else str(encode(value))
