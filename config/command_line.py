"""The command line of `python server.py`, which has few options because most choices are settings."""

import argparse
from collections.abc import Sequence
from typing import NoReturn, cast

from config.settings import CONFIG_VARIABLE, Settings, variable

_ABOUT = f"""\
Settings are environment variables, or keys of the TOML file that {CONFIG_VARIABLE} names; the environment wins.
config/defaults.toml explains each of them.

"""
_STATUSES = """
Exit status: 0 after an orderly stop, 2 when it can't start or an argument is wrong.
"""


class WrongUsage(ValueError):
    """An argument is unknown; the message names it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{message}. {self.format_usage().strip()}; see --help, settings are environment variables.")


def parse_arguments(arguments: Sequence[str], version: str) -> argparse.Namespace:
    """Parse the command line; `--help` and `--version` print their text and end the process.

    Raises:
        WrongUsage: an argument is unknown.
    """
    parser = _Parser(
        prog="python server.py",
        description="Start Parley, a gateway for workspaces of AI agents. It serves until Ctrl-C or SIGTERM.",
        epilog=_ABOUT + "".join(_described(key) for key in Settings.model_fields) + _STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"Parley {version}", help="show the version")
    parser.add_argument(
        "--development",
        action="store_true",
        help="a development start, as `make run` does: new users have the plan enterprise and sandbox keys are issued, "
        "unless the environment or the file sets PARLEY_DEFAULT_PLAN or PARLEY_SANDBOX_KEYS_ENABLED",
    )
    return parser.parse_args(arguments)


def _described(key: str) -> str:
    field = Settings.model_fields[key]
    return f"  {variable(key)} (default: {_shown(field.default)})\n      {field.description}\n"


def _shown(default: object) -> str:
    """Return a default in the form of an environment variable."""
    if default in (None, ()):
        return "none"
    if isinstance(default, tuple):
        return ",".join(str(item) for item in cast(tuple[object, ...], default))
    return str(default).lower() if isinstance(default, bool) else str(default)
