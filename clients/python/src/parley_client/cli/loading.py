"""`parley banks load`: a folder of Markdown into a bank, with a progress bar."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley_client import AccessError, EntityError, LimitError, NoConnection, ParleyError, RequestError
from parley_client.cli.context import client
from parley_client.cli.output import AsJson, after_ctrl_c, print_json, show, tell, visible, visible_line

if TYPE_CHECKING:
    from parley_client import Parley
    from parley_client.records import Memory

SUFFIXES = (".md", ".markdown")
COLUMNS = ("id", "name")

LONGEST_MEMORY = 32_000
"""Characters of a memory's text; a longer file is loaded as a document, which has several parts."""

LONGEST_DOCUMENT = 500_000
"""Characters of a document; of a longer file no more is read."""

_OF_A_FILE = (1000, 1002, 1003, 1004, 3002)
"""Codes of refusals of a text or a name, such as that of a censored memory; others are about the bank or the caller."""


def load(
    context: typer.Context,
    bank: Annotated[str, typer.Argument(help="The bank; `banks create` makes one.")],
    folder: Annotated[Path, typer.Argument(help="A folder; those below it count.", exists=True, file_okay=False)],
    agent: Annotated[str, typer.Option(help="Your agent that loads them.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Load each Markdown file of a folder as a memory named by its path; a long one as a document of several parts.

    A file that can't be loaded is named with the reason, and the others are loaded all the same.
    """
    parley = client(context)
    files, unread = _found(folder)
    for path, reason in unread:
        tell(f"{visible_line(str(path))} was not read: {reason}.")
    if not files:
        tell(f"{folder} has no Markdown files ({', '.join(SUFFIXES)}).")
    memories: list[Memory] = []
    tally = _Tally(len(files), folders=len(unread))
    try:
        bar = _Bar(len(files), as_json=as_json)
        with bar.progress:
            for number, file in enumerate(files):
                name = file.relative_to(folder).as_posix()
                tally.at = visible_line(name)
                bar.at(number, tally.at)
                made = _tried(parley, bank, agent, name, file, bar, tally)
                tally.at = None
                memories += made
                if as_json:
                    for memory in made:
                        print_json(memory)
    except (ParleyError, KeyboardInterrupt) as stop:
        if memories and not as_json:
            show(memories, COLUMNS, as_json=False)
        if isinstance(stop, ParleyError):
            stop.add_note(tally.stopped(unsure=_may_be_done(stop)))
        else:
            after_ctrl_c()
            tell(tally.stopped(unsure=True))
        raise
    except OSError:  # the reader of the output has gone, or its disk is full
        tell(tally.stopped(unsure=True))
        raise
    if not as_json:
        show(memories, COLUMNS, as_json=False)
    if tally.refused or tally.folders:
        tell(f"{tally}.")
        raise typer.Exit(1)


@dataclass(slots=True)
class _Tally:
    """The numbers of files, and the name of the one that is being loaded."""

    total: int
    folders: int
    loaded: int = 0
    refused: int = 0
    empty: int = 0
    at: str | None = None

    def __str__(self) -> str:
        others = {"not loaded": self.refused, "empty": self.empty, "folders not read": self.folders}
        told = [f"{what}: {number}" for what, number in others.items() if number]
        return "; ".join([f"Loaded: {self.loaded} of {self.total} files", *told])

    def stopped(self, *, unsure: bool) -> str:
        """Tell where the loading has stopped; a file on its way may be loaded, or is not."""
        if self.at is None:
            return f"{self}. Stopped there."
        return f"{self}. Stopped at {self.at}, which {'may be loaded or not' if unsure else 'was not loaded'}."


def _may_be_done(error: ParleyError) -> bool:
    """Return whether the call that failed may have been carried out."""
    return (
        error.may_be_done
        if isinstance(error, NoConnection)
        else not isinstance(error, (AccessError, EntityError, LimitError))
    )


class _CantBeLoaded(Exception):
    """A file can't be loaded, for a reason of its own."""


def _found(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Return the Markdown files of a folder and those below it, and the folders that can't be read with the reasons."""
    errors: list[OSError] = []
    walk = os.walk(folder, onerror=errors.append)
    files = [Path(place, name) for place, _, names in walk for name in names if name.lower().endswith(SUFFIXES)]
    return sorted(files), [(Path(error.filename), error.strerror or str(error)) for error in errors]


def _tried(
    parley: "Parley", bank: str, agent: str, name: str, file: Path, bar: "_Bar", tally: _Tally
) -> "tuple[Memory, ...]":
    """Load a file; return the memories that it has become, or say why there are none.

    Raises:
        ParleyError: the next file would fare no better.
    """
    shown = visible_line(name)
    try:
        text = _text_of(name, file)
        if text.strip():
            made = _loaded(parley, bank, agent, name, text, bar)
            tally.loaded += 1
            return made
        tally.empty += 1
        bar.tell(f"{shown} is empty, and was left out.")
    except _CantBeLoaded as reason:
        tally.refused += 1
        bar.tell(f"{shown} was not loaded: {reason}.")
    except (RequestError, EntityError) as error:
        if error.code not in _OF_A_FILE:
            raise
        tally.refused += 1
        bar.tell(f"{shown} was not loaded: {error.code}: {error.note}")
    return ()


def _text_of(name: str, file: Path) -> str:
    """Read a file.

    Raises:
        _CantBeLoaded: it or its name is no text, or it is too long.
    """
    try:
        name.encode()
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for
            raise _CantBeLoaded("it is no regular file")
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(LONGEST_DOCUMENT + 1)
    except UnicodeEncodeError:
        raise _CantBeLoaded("its name is not UTF-8") from None
    except UnicodeDecodeError:
        raise _CantBeLoaded("it is not UTF-8 text") from None
    except OSError as error:
        raise _CantBeLoaded(error.strerror or str(error)) from None
    if len(text) > LONGEST_DOCUMENT:
        raise _CantBeLoaded(f"it has over {LONGEST_DOCUMENT:,} characters, the most of a document")
    return text


def _loaded(parley: "Parley", bank: str, agent: str, name: str, text: str, bar: "_Bar") -> "tuple[Memory, ...]":
    """Load a text; return the memories that it has become."""
    if len(text) <= LONGEST_MEMORY:
        return (parley.banks.load(bank, name, content=text, agent=agent)[1],)
    bar.doing(f"{visible_line(name)} is being split")
    try:
        document = parley.documents.wait(parley.documents.create(name, text, media_type="text/markdown").id)
    except TimeoutError as error:
        raise _CantBeLoaded(str(error)) from None
    if document.status == "failed":
        raise _CantBeLoaded(f"its document failed: {document.error}")
    bar.doing(f"{visible_line(name)}, {document.parts} parts")
    from parley_client.records import Memory  # noqa: PLC0415

    answer = parley.send("MB_Load", {"target": {"bank": bank, "agent": agent}, "vx": {"name": name}})
    return answer.items(Memory)


class _Bar:
    """A progress bar on stderr, if that is a terminal, and lines above it."""

    def __init__(self, total: int, *, as_json: bool) -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        err = Console(stderr=True, highlight=False, soft_wrap=True)
        text = TextColumn("{task.description}", markup=False)
        self.is_shown = err.is_terminal and not as_json
        self.progress = Progress(
            *(text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()),
            console=err,
            transient=True,
            disable=not self.is_shown,
            redirect_stdout=False,
        )
        self._task = self.progress.add_task("", total=total)
        self._done = 0

    def at(self, done: int, doing: str) -> None:
        """Show how many files are done, and the next."""
        self._done = done
        self.doing(doing)

    def doing(self, what: str) -> None:
        """Show what is being done."""
        self.progress.update(self._task, completed=self._done, description=what)

    def tell(self, text: str) -> None:
        """Print a line on stderr."""
        if self.is_shown:
            self.progress.console.print(visible(text), markup=False)  # it moves the bar down
        else:
            tell(text)
