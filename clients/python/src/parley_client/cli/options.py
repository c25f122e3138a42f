"""Options that several commands take."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

AT = "A time such as 2026-03-01 or 2026-03-01T09:30, in UTC where it names no time zone."


def time_of(given: str) -> datetime:
    """Return a time that was given in a form of ISO 8601, in UTC where it names no time zone.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        said = datetime.fromisoformat(given.strip())
    except ValueError:
        raise typer.BadParameter(f"{given!r} is no time; one is 2026-03-01, or 2026-03-01T09:30:00Z") from None
    return said if said.tzinfo else said.replace(tzinfo=UTC)


Since = Annotated[datetime | None, typer.Option(parser=time_of, metavar="TIME", help=AT)]
Limit = Annotated[int, typer.Option(min=1, help="How many.")]
Access = Annotated[
    Literal["public", "domain", "bank", "agent"] | None,
    typer.Option(help="Who sees it: everyone, those who share a domain or a bank with it, or the owner, by default."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]


def types_of(given: list[str] | None) -> list[str]:
    """Return the names of an option that may be repeated, and takes several separated by commas."""
    return [name.strip() for names in given or () for name in names.split(",") if name.strip()]
