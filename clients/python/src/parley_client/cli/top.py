"""`parley top`: the gateway's figures in the terminal, each second."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from parley_client._decoding import encode
from parley_client.cli.context import client, tell_of_loss
from parley_client.cli.output import AsJson, print_json, tell

if TYPE_CHECKING:
    from parley_client import Figures


def top(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="Show one second, and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Watch the gateway's figures until Ctrl-C; for auditors and operators, or with the internal secret."""
    stream = client(context).admin.figures()
    if as_json:
        stream.on_loss = tell_of_loss
        for figures in stream:
            print_json(_given(figures))
            if once:
                return
    else:
        from parley_client.cli.screen import watch  # noqa: PLC0415

        if not watch(stream, once=once):
            return
    tell(f"The stream has ended: {stream.reason}.")


def _given(figures: "Figures") -> dict[str, Any]:
    """Return figures as the gateway sent them: without the members that only several nodes have."""
    made: dict[str, Any] = encode(figures)
    for part in (made, *(made["nodes"] or ())):
        for member in ("node", "name", "nodes", "unreachable"):
            if part[member] is None:
                del part[member]
        for box in part["mailboxes"]:
            if box["node"] is None:
                del box["node"]
    return made
