"""The client of a command, made of options, the environment and the profile."""

import logging
import os
from dataclasses import dataclass

import typer

import parley_client
from parley_client import ParleyError
from parley_client.cli import profiles
from parley_client.cli.output import after_ctrl_c, tell


@dataclass(frozen=True, slots=True)
class Settings:
    """The options before the command."""

    profile: str
    url: str | None
    brand: str
    internal_secret: str | None


NO_ROUTE = 1006
NO_CREDENTIAL = 2000
INVALID_CREDENTIAL = 2001
NOT_PERMITTED = 2003
WITH_SECRET = ("admin", "top")
"""Commands that send the internal secret, if there is one, in place of the credential."""

LOG_ON = "Log on with `{}`, or set PARLEY_API_KEY, or PARLEY_INTERNAL_SECRET for admin and top."
OTHER_ROUTES = "Check --url and --brand; as for admin and top, the gateway may have no INTERNAL_SECRET."
OTHER_KEY = "PARLEY_API_KEY was sent, which wins over the session of `parley login`; set another key, or unset it."

LONG_WAIT_S = 3.0
"""Seconds of a wait that is told of: one for which the gateway asks, beyond the pauses after a lost connection."""

_hints: dict[int, str] = {}


def hint(code: int) -> str | None:
    """Return what helps where the gateway refuses with a code what the last client sent; None where nothing does."""
    return OTHER_ROUTES if code == NO_ROUTE else _hints.get(code)


def settings(context: typer.Context) -> Settings:
    """Return the options before the command."""
    made = context.find_object(Settings)
    assert made is not None
    return made


def client(context: typer.Context, *, makes_profile: bool = False) -> "parley_client.Parley":
    """Return a client: options win over PARLEY_URL and PARLEY_API_KEY, and these over the profile.

    A profile that is missing is told of on stderr where it would count, unless the command makes it.
    """
    given = settings(context)
    kept = profiles.read(given.profile)
    url = given.url or os.environ.get("PARLEY_URL") or kept.url
    of_environment = key_of_environment()
    key = of_environment or kept.key
    if not (url and key) and not makes_profile and given.profile not in (profiles.DEFAULT, *profiles.names("")):
        name = given.profile
        tell(f"There is no profile {name} yet; `parley --profile {name} login USER` makes it.")
    _hints.clear()
    if not makes_profile:
        _hints.update(_hints_of(context, given, is_from_environment=bool(of_environment)))
    made = parley_client.Parley(url, key, brand=given.brand, internal_secret=given.internal_secret)
    context.call_on_close(made.close)
    return made


def key_of_environment() -> str:
    """Return PARLEY_API_KEY, empty where it is blank or not set."""
    return os.environ.get("PARLEY_API_KEY", "").strip()


def client_of_profile(context: typer.Context) -> "parley_client.Parley":
    """Return a client with the profile's session, whatever PARLEY_API_KEY is."""
    given = settings(context)
    kept = profiles.read(given.profile)
    made = parley_client.Parley(given.url or os.environ.get("PARLEY_URL") or kept.url, kept.key, brand=given.brand)
    context.call_on_close(made.close)
    return made


def _hints_of(context: typer.Context, given: Settings, *, is_from_environment: bool) -> dict[int, str]:
    """Return hints by code, for what this command sends: the internal secret, PARLEY_API_KEY, or the session."""
    login = "parley login USER" if given.profile == profiles.DEFAULT else f"parley --profile {given.profile} login USER"
    if given.internal_secret and context.command_path.split()[1] in WITH_SECRET:
        return {}
    if is_from_environment:
        return {INVALID_CREDENTIAL: OTHER_KEY, NOT_PERMITTED: OTHER_KEY}
    return {NO_CREDENTIAL: LOG_ON.format(login), INVALID_CREDENTIAL: LOG_ON.format(login)}


def tell_of_loss(error: ParleyError, wait: float) -> None:
    """Say on stderr that a stream was cut, and when it is taken up again."""
    tell(f"{error}; trying again in {wait:.1f} s.")


class _Waits(logging.Handler):
    """Says on stderr why a call waits for long before it is tried again."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "wait", 0.0) >= LONG_WAIT_S:
            tell(f"{record.getMessage()}.")


def tell_of_waits() -> None:
    """Say on stderr from now on why calls wait for long before they are tried again."""
    log = logging.getLogger("parley_client")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(_Waits())


def tell_of_stop(position: str | None) -> None:
    """Say on stderr, after Ctrl-C, where a stream can be taken up again."""
    after_ctrl_c()
    if position:
        tell(f"Stopped; `--after {position}` goes on here.")
