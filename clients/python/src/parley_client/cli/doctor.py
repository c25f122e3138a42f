"""`parley doctor`: whether address, gateway and credential are right."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

import typer

from parley_client import NoConnection, ParleyError
from parley_client.cli.context import client
from parley_client.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from parley_client import Parley
    from parley_client.records import Health, OwnUser

LONGEST_S = 10.0
"""Seconds that the whole may take."""

T = TypeVar("T")


def doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Check the address, the gateway and the credential, once; reports a hanging gateway after ten seconds."""
    parley = client(context).with_options(timeout=LONGEST_S, tries=1)
    health, user = _in_time(parley.url, lambda: _asked(parley))
    if as_json:
        print_json({"url": parley.url, "version": health.version, "status": health.status, "user": user})
    else:
        typer.echo(f"{parley.url}: Parley {health.version}, {health.status}; you are {user.name} on {user.plan}.")


def _asked(parley: "Parley") -> tuple["Health", "OwnUser"]:
    health = parley.gateway.health()
    try:
        return health, parley.users.read()
    except ParleyError as error:
        error.add_note(f"The gateway itself answers: {parley.url} is Parley {health.version}, {health.status}.")
        raise


def _in_time(url: str, act: Callable[[], T]) -> T:
    """Return what `act` returns in another thread, because an answer that trickles has no time-out.

    Raises:
        NoConnection: it returned nothing in LONGEST_S.
        ParleyError: `act` has raised it.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(act())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(LONGEST_S)
    except TimeoutError:
        said = f"{url}: timed out, because no whole answer came in {LONGEST_S:g} seconds"
        raise NoConnection(said, may_be_done=False) from None
