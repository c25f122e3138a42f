"""What commands print: tables for people, JSON lines for programs."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley_client._decoding import encode

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one record a line.")]

WHOLE = frozenset({"id", "key", "secret"})
"""Columns to copy from, which are never broken."""

PIPE_WIDTH = 10_000
"""Columns of a line that no terminal shows."""

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def show(records: Iterable[Any], columns: tuple[str, ...], *, as_json: bool) -> None:
    """Print records as a table of these members, or whole as JSON."""
    if as_json:
        for record in records:
            print_json(record)
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for record in records:
        table.add_row(*(Text(_cell(getattr(record, column))) for column in columns))
    out.print(table, width=None if out.is_terminal else PIPE_WIDTH)


def show_whole(record: Any, *, as_json: bool) -> None:
    """Print all members of one record, each on a line, or as JSON."""
    if as_json:
        print_json(record)
        return
    table = Table.grid(padding=(0, 2))
    members: dict[str, Any] = encode(record)
    for member, value in members.items():
        table.add_row(member, Text(_cell(value)))
    out.print(table, width=None if out.is_terminal else PIPE_WIDTH)


def print_json(value: Any) -> None:
    """Print a record, or anything of JSON, on a line."""
    typer.echo(json.dumps(encode(value), ensure_ascii=False))


def confirm(question: str, *, yes: bool) -> None:
    """Ask on stderr, and end with status 1 unless the answer is yes."""
    if not yes and not ask(question, default=False):
        err.print("Nothing was done.")
        raise typer.Exit(1)


def ask(question: str, *, default: bool) -> bool:
    """Ask on stderr, and return whether the answer is yes; an empty line is the default, the end of the input no."""
    err.print(f"{question} {'[Y/n]' if default else '[y/N]'} ", end="", markup=False)
    answer = sys.stdin.readline()
    return answer.strip().lower() in ("y", "yes") or (default and answer == "\n")


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return ", ".join(f"{name} {inner}" for name, inner in members.items() if inner is not None)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "" if value is None else str(encode(value))
