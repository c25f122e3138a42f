"""The output of commands: tables for people, JSON lines for programs."""

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from parley_client._decoding import encode

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one record a line.")]

LONGEST_LINE = 1_000
"""Characters that are read of an answer or a password; no right one is as long."""

_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},  # their pictures in Unicode
    **dict.fromkeys(range(0x7F, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    ord("\t"): "\t",
    ord("\n"): "\n",
    ord("\r"): "",
}
_CONTROLS_OF_JSON = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
"""The control characters that `json.dumps` leaves as they are."""


def visible(text: str) -> str:
    """Return a text with signs for its control characters, with which others could steer the reader's terminal."""
    return text.translate(_CONTROLS)


def visible_line(text: str) -> str:
    """Return a text in the same way, with signs for its line ends, too."""
    return visible(text).replace("\n", "\N{SYMBOL FOR LINE FEED}")


def tell(text: str = "", *, dim: bool = False) -> None:
    """Print a line on stderr."""
    if dim and os.environ.get("TERM") != "dumb":
        typer.secho(visible(text), err=True, dim=True)
    else:
        typer.echo(visible(text), err=True)


def after_ctrl_c() -> None:
    """End the terminal's line with ^C, once, so that what follows begins another."""
    global _line_of_ctrl_c_is_ended
    if not _line_of_ctrl_c_is_ended and sys.stderr.isatty():
        typer.echo(err=True)
    _line_of_ctrl_c_is_ended = True


_line_of_ctrl_c_is_ended = False


def show(records: Iterable[Any], columns: tuple[str, ...], *, as_json: bool) -> None:
    """Print records as a table of these members, or whole as JSON."""
    if as_json:
        for record in records:
            print_json(record)
    else:
        from parley_client.cli.tables import print_table  # noqa: PLC0415

        print_table(records, columns)


def show_whole(record: Any, *, as_json: bool) -> None:
    """Print all members of one record, each on a line, or as JSON."""
    if as_json:
        print_json(record)
    else:
        from parley_client.cli.tables import print_members  # noqa: PLC0415

        print_members(record)


def print_json(value: Any) -> None:
    """Print a record, or anything of JSON, on a line."""
    typer.echo(json.dumps(encode(value), ensure_ascii=not _takes_all_signs()).translate(_CONTROLS_OF_JSON))


def replace_unknown_signs() -> None:
    """Print a question mark where the encoding of stdout has no such sign, in place of an error."""
    reconfigure: Callable[..., None] | None = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and not _takes_all_signs():
        reconfigure(errors="replace")


def _takes_all_signs() -> bool:
    encoding: str | None = getattr(sys.stdout, "encoding", None)
    return encoding is None or codecs.lookup(encoding).name.startswith("utf")


def confirm(question: str, *, yes: bool) -> None:
    """Ask on stderr, and end with status 1 unless the answer is yes."""
    if not yes and not ask(question, default=False):
        tell("Nothing was done.")
        raise typer.Exit(1)


def ask(question: str, *, default: bool) -> bool:
    """Ask on stderr, and return whether the answer is yes; an empty line is the default, the end of the input no."""
    typer.echo(f"{question} {'[Y/n]' if default else '[y/N]'} ", err=True, nl=False)
    answer = sys.stdin.readline(LONGEST_LINE)
    return answer.strip().lower() in ("y", "yes") or (default and answer == "\n")
