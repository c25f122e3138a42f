"""The client of a command, made of options, the environment and the profile."""

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
    key = os.environ.get("PARLEY_API_KEY") or kept.key
    if not (url and key) and not makes_profile and given.profile not in (profiles.DEFAULT, *profiles.names("")):
        name = given.profile
        tell(f"There is no profile {name} yet; `parley --profile {name} login USER` makes it.")
    made = parley_client.Parley(url, key, brand=given.brand, internal_secret=given.internal_secret)
    context.call_on_close(made.close)
    return made


def tell_of_loss(error: ParleyError, wait: float) -> None:
    """Say on stderr that a stream was cut, and when it is taken up again."""
    tell(f"{error}; trying again in {wait:.1f} s.")


def tell_of_stop(position: str | None) -> None:
    """Say on stderr, after Ctrl-C, where a stream can be taken up again."""
    after_ctrl_c()
    if position:
        tell(f"Stopped; `--after {position}` goes on here.")
