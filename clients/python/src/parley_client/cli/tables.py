"""Tables for people, made by rich; output.py imports this where a table is asked for, because rich takes its time."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley_client._decoding import encode
from parley_client.cli.output import visible, visible_line

WHOLE = frozenset({"id", "endpoint_id", "event_id", "key", "secret"})
"""Columns to copy from, which are never broken or cut."""

GAP = 2
"""Spaces between two columns, as rich pads them."""

NARROWEST = 10
"""The least width of each other column, where its contents are that wide."""

out = Console(highlight=False, soft_wrap=True)

unbounded = Console(highlight=False, soft_wrap=True, width=1_000_000, height=25)
"""For pipes, and for terminals that are too narrow for a table, which they wrap."""


def print_table(records: Iterable[Any], columns: tuple[str, ...]) -> None:
    """Print these members of records, a record on a line."""
    rows = [[_cell(getattr(record, column)) for column in columns] for record in records]
    widths = [_least_width(column, texts) for column, *texts in zip(columns, *rows, strict=True)]
    console = out if out.is_terminal and sum(widths) + GAP * (len(widths) - 1) <= out.width else unbounded
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for row in rows:
        table.add_row(*(_text(text, console) for text in row))
    console.print(table)


def print_members(record: Any) -> None:
    """Print all members of one record, each on a line."""
    console = out if out.is_terminal else unbounded
    table = Table.grid(padding=(0, 2))
    members: dict[str, Any] = encode(record)
    for member, value in members.items():
        table.add_row(member, _text(_cell(value), console))
    console.print(table)


def _text(text: str, console: Console) -> Text:
    # without columns to see, a record is kept on its line
    return Text(visible_line(text) if console is unbounded else visible(text))


def _least_width(column: str, texts: list[str]) -> int:
    widest = max(cell_len(text) for text in (column, *texts))
    return widest if column in WHOLE else min(widest, NARROWEST)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return ", ".join(f"{name} {inner}" for name, inner in members.items() if inner is not None)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "" if value is None else str(encode(value))
