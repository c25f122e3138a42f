"""Options that several commands take."""

from datetime import UTC, datetime
from typing import Annotated, Literal, overload

import typer

TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"]

AT = "A time, in UTC where it names no time zone."
Since = Annotated[datetime | None, typer.Option(formats=TIMES, help=AT)]
Limit = Annotated[int, typer.Option(min=1, help="How many.")]
Access = Annotated[
    Literal["public", "domain", "bank", "agent"] | None,
    typer.Option(help="Who sees it: everyone, those who share a domain or a bank with it, or the owner, by default."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]


@overload
def in_utc(given: datetime) -> datetime: ...
@overload
def in_utc(given: datetime | None) -> datetime | None: ...
def in_utc(given: datetime | None) -> datetime | None:
    """Return a time with its zone, UTC where it has none."""
    return given if given is None or given.tzinfo else given.replace(tzinfo=UTC)


def types_of(given: list[str] | None) -> list[str]:
    """Return the types of an option that may be repeated, and takes several separated by commas."""
    return [name.strip() for names in given or () for name in names.split(",") if name.strip()]
