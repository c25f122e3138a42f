"""Erase deleted texts from the free space of a PostgreSQL database's files: `python -m persistence.erase --rewrite`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from config.settings import SettingsError, load_settings, variable
from persistence.store import StoreError

STORE_URL = variable("store_url")

_ABOUT = f"""\
On PostgreSQL, censored and destroyed texts leave the tables within a minute, but free space inside the tables' files
keeps them. This writes the tables anew (VACUUM FULL), with the gateway stopped. It needs free disk space of the size of
the largest table. The write-ahead log, archives, replicas and backups are not touched: see docs/operations.md, Erasing.

The database is the one of the gateway's settings ({STORE_URL}, or the file that PARLEY_CONFIG names).
"""
_STATUSES = "Exit status: 0 when all is erased, 2 when it can't be."


def main(arguments: Sequence[str]) -> int:
    """Rewrite the database that the arguments or the settings name; return the process's exit status."""
    url: str | None = _parsed(arguments).url
    try:
        settings = load_settings(os.environ if url is None else {**os.environ, STORE_URL: url})
    except SettingsError as error:
        return _refuse(f"settings are wrong:\n{error}")
    if settings.postgres_url is None:
        _tell(
            f"Nothing to do: {settings.database_path} is an SQLite database. The gateway erases deleted texts from its"
            " files within a minute, after a crash at its next start."
        )
        return 0
    try:
        return asyncio.run(_rewrite(settings.postgres_url))
    except StoreError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return _refuse("it was broken off. The tables named above are done; run it again for the others.")


async def _rewrite(url: str) -> int:
    from persistence.postgres.connecting import described  # noqa: PLC0415 - only this store needs its driver
    from persistence.postgres.rewriting import rewrite  # noqa: PLC0415

    _tell(f"Rewriting {described(url)}")
    await rewrite(url, _tell)
    _tell("Done: the tables' files hold no deleted text. Log, archives, replicas and backups may: docs/operations.md.")
    return 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m persistence.erase",
        description=_ABOUT,
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--rewrite", action="store_true", required=True, help="write the tables with texts anew")
    parser.add_argument("url", nargs="?", help=f"the database, in place of {STORE_URL}")
    return parser.parse_args(arguments)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _refuse(text: str) -> int:
    sys.stderr.write(f"Parley can't erase: {text}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
