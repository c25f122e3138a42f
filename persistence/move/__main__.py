"""`python -m persistence.move FROM TO`: move a whole database between SQLite and PostgreSQL."""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from persistence.move import postgres, sqlite
from persistence.move.moving import Digest, Step, move
from persistence.move.progress import Progress
from persistence.move.side import MoveError

SQLITE = "sqlite:///"
POSTGRES = "postgresql://"
KEY_FILE = "master.key"

STOPPED = "Stopped: nothing was moved, and TO is as empty as before."
STOPPED_LATE = (
    "Stopped at the very end, so everything may have been moved, or nothing: move again. If that tells you that TO is"
    " not empty, everything was moved."
)

FAILED = 2
INTERRUPTED = 130

_ABOUT = """\
FROM and TO: one is sqlite:///relative.db or sqlite:////absolute.db, the other postgresql://user:password@host:port/database.
Stop the gateway first. FROM is only read. TO must have no users; its tables are made if needed. Everything is copied in
one transaction and compared before the commit: a move that fails or is stopped leaves TO empty.

Exit status: 0 if everything was moved, 2 if nothing was, 130 after Ctrl-C.
"""


def parse_arguments(arguments: Sequence[str]) -> tuple[str, str]:
    """Return the URLs of the source and of the target; a wrong one ends the process."""
    parser = argparse.ArgumentParser(
        prog="python -m persistence.move",
        description="Move a whole Parley database between SQLite and PostgreSQL.",
        epilog=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("source", metavar="FROM", help="the database to read")
    parser.add_argument("target", metavar="TO", help="the empty database to fill")
    parsed = parser.parse_args(arguments)
    source, target = parsed.source, parsed.target
    for name, url in (("FROM", source), ("TO", target)):
        if not re.fullmatch(rf"{SQLITE}[^?#\0]*[^?#/\0]|{POSTGRES}[^/\s]*/[^/\s?#]+(\?\S*)?", url):
            parser.error(f"{name} is no URL of a database; write sqlite:///path or postgresql://user@host/database")
    if source.startswith(SQLITE) == target.startswith(SQLITE):
        parser.error("FROM and TO are the same kind of database; copy with sqlite3's VACUUM INTO, or with pg_dump")
    return source, target


async def run(source_url: str, target_url: str, begin: Callable[[int], Step]) -> tuple[dict[str, Digest], str, str]:
    """Move; return the digests, and the descriptions of both databases.

    Raises:
        MoveError: nothing was moved, or nobody knows whether it was.
    """
    from_, to = _opened(source_url, sqlite.source, postgres.source), _opened(target_url, sqlite.target, postgres.target)
    async with from_ as source, to as target:
        return await move(source, target, begin), source.description, target.description


def _opened(
    url: str,
    file: Callable[[Path], AbstractAsyncContextManager[Any]],
    server: Callable[[str], AbstractAsyncContextManager[Any]],
) -> AbstractAsyncContextManager[Any]:
    return file(Path(url.removeprefix(SQLITE))) if url.startswith(SQLITE) else server(url)


def done(source_url: str, source: str, target: str, digests: dict[str, Digest]) -> str:
    """Return the last lines: what was moved, and what to do next."""
    rows = sum(digest.rows for digest in digests.values())
    key = "as before"
    if source_url.startswith(SQLITE):
        file = Path(source_url.removeprefix(SQLITE)).with_name(KEY_FILE)
        key = f"to the content of {file}" if file.exists() else "as before (PostgreSQL has no key file)"
    return f"""\
Moved {rows:,} rows of {len(digests)} tables
  from {source}
  to {target};
what arrived was compared and is the same.
Now start the gateway with PARLEY_STORE_URL set to TO. It needs the same master key, because secrets are sealed with it:
set PARLEY_MASTER_KEY {key}.
FROM was only read. It still has everything, so remove it once the gateway serves from TO."""


def main(arguments: Sequence[str]) -> int:
    """Parse the command line and move; return the exit status."""
    source_url, target_url = parse_arguments(arguments)
    os.umask(0o077)  # only this account may read what is stored
    shown: list[Progress] = []

    def begin(total: int) -> Step:
        shown.append(Progress(sys.stderr, total))
        return shown[0].step

    sys.stderr.write("Looking at both databases.\n")
    try:
        digests, source, target = asyncio.run(run(source_url, target_url, begin))
    except MoveError as error:
        return _failed(shown, f"Parley can't move: {error}", FAILED)
    except KeyboardInterrupt:
        return _failed(shown, STOPPED_LATE if shown and shown[0].is_whole else STOPPED, INTERRUPTED)
    for progress in shown:
        progress.end()
    sys.stdout.write(done(source_url, source, target, digests) + "\n")
    return 0


def _failed(shown: Sequence[Progress], message: str, status: int) -> int:
    for progress in shown:
        progress.end()
    sys.stderr.write(message + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
