"""`parley banks load`: a folder of Markdown into a bank, with a progress bar."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley_client import ParleyError
from parley_client.cli.context import client
from parley_client.cli.output import AsJson, show, tell

if TYPE_CHECKING:
    from parley_client import Parley
    from parley_client.records import Memory

LONGEST_MEMORY = 32_000
"""Characters of a memory's text; a longer file is loaded as a document, which has several parts."""


def load(
    context: typer.Context,
    bank: Annotated[str, typer.Argument(help="The bank; it must exist.")],
    folder: Annotated[Path, typer.Argument(help="A folder of Markdown files.", exists=True, file_okay=False)],
    agent: Annotated[str, typer.Option(help="Your agent that loads them.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Load each Markdown file of a folder as a memory named by its path; a long one as a document of several parts."""
    parley = client(context)
    files = sorted(file for file in folder.rglob("*.md") if file.is_file())

    def loaded() -> Iterator["Memory"]:
        with _bar(len(files), as_json=as_json) as at:
            for number, file in enumerate(files):
                name = file.relative_to(folder).as_posix()
                at(number, name)
                try:
                    yield from _loaded(parley, bank, agent, name, file, partial(at, number))
                except (ParleyError, TimeoutError, OSError, UnicodeError) as error:
                    told = f"{name} was not loaded, but {number} of {len(files)} files were."
                    if not isinstance(error, ParleyError):
                        error = ParleyError(str(error))
                    error.add_note(told)
                    raise error from None

    show(loaded(), ("id", "name"), as_json=as_json)


def _loaded(
    parley: "Parley", bank: str, agent: str, name: str, file: Path, doing: Callable[[str], None]
) -> "tuple[Memory, ...]":
    """Load a file; return the memories that it has become."""
    text = file.read_text("utf-8")
    if not text.strip():
        tell(f"{name} is empty, and was left out.")
        return ()
    if len(text) <= LONGEST_MEMORY:
        return (parley.banks.load(bank, name, content=text, agent=agent)[1],)
    doing(f"{name} is being split")
    document = parley.documents.wait(parley.documents.create(name, text, media_type="text/markdown").id)
    if document.status == "failed":
        raise OSError(f"The document failed: {document.error}")
    doing(f"{name}, {document.parts} parts")
    from parley_client.records import Memory  # noqa: PLC0415

    answer = parley.send("MB_Load", {"target": {"bank": bank, "agent": agent}, "vx": {"name": name}})
    return answer.items(Memory)


@contextmanager
def _bar(total: int, *, as_json: bool) -> Generator[Callable[[int, str], None]]:
    """Show a progress bar on stderr, if that is a terminal; yield a function that tells it what is done and next."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    err = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disabled = as_json or not err.is_terminal
    with Progress(*columns, console=err, transient=True, disable=disabled, redirect_stdout=False) as progress:
        task = progress.add_task("", total=total)

        def at(done: int, doing: str) -> None:
            progress.update(task, completed=done, description=doing)

        yield at
