"""`parley webhooks listen`: own events in the terminal, and forwarded to a receiver on this machine."""

from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import parley_client
from parley_client.cli.context import client, tell_of_loss, tell_of_stop
from parley_client.cli.options import types_of
from parley_client.cli.output import AsJson, print_json, tell

if TYPE_CHECKING:
    from parley_client import SignedEvent, StreamSecret
    from parley_client.cli.forwarding import Forwarded, Forwarder


def listen(
    context: typer.Context,
    forward_to: Annotated[
        str | None, typer.Option(metavar="URL", help="Post each event there, as a delivery to an endpoint is posted.")
    ] = None,
    events: Annotated[
        list[str] | None, typer.Option(help="Types, or patterns such as quota.*; may be repeated; all where absent.")
    ] = None,
    after: Annotated[str | None, typer.Option(help="Begin after this event's id; 0.0 for all that are kept.")] = None,
    *,
    skip_verify: Annotated[
        bool, typer.Option("--skip-verify", help="Don't verify the certificate of the receiver.")
    ] = False,
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print only the secret that signs the events.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Follow your own events until Ctrl-C, and forward them to a receiver; no public address is needed."""
    stream = client(context).webhooks.stream(events=types_of(events), after=after)
    stream.on_loss = tell_of_loss
    with ExitStack() as closing:
        forwarder = None
        if forward_to is not None and not print_secret:
            from parley_client.cli.forwarding import Forwarder, url_of  # noqa: PLC0415

            forwarder = Forwarder(url_of(forward_to), _paused, verify=not skip_verify)
            closing.callback(forwarder.close)
        before = ""
        try:
            for item in stream:
                if isinstance(item, parley_client.StreamSecret):
                    _begun(item, forwarder, as_json=as_json, alone=print_secret)
                    if print_secret:
                        return
                else:
                    _shown(item, forwarder, stream.secret or "", before, as_json=as_json)
                before = item.id
        except KeyboardInterrupt:
            tell_of_stop(before)
            raise
    tell(f"The stream has ended: {stream.reason}.")


def _begun(begun: "StreamSecret", forwarder: "Forwarder | None", *, as_json: bool, alone: bool) -> None:
    if as_json:
        print_json({"id": begun.id, "secret": begun.secret})
    elif alone:
        typer.echo(begun.secret)
    else:
        where = f", and forwards them to {forwarder.url}" if forwarder else ""
        tell(f"Listens to your events{where}. The secret that signs them:")
        tell(f"  {begun.secret}")


def _shown(item: "SignedEvent", forwarder: "Forwarder | None", secret: str, before: str, *, as_json: bool) -> None:
    event = item.event
    if not as_json:
        typer.echo(f"{event['created_at']}  {event['type']}  {event['id']}")
    forwarded = None if forwarder is None else forwarder.forward(item, secret)
    if as_json:
        print_json(_record(item, forwarder, forwarded))
    elif forwarded is not None:
        typer.echo(f"  -> {forwarded}")
    if forwarded is not None and forwarded.status is None:
        tell(
            f"Event {event['id']} was not forwarded (tries: {forwarded.tries}): {forwarded.error}. It is not lost: "
            f"`--after {before}` sends it again, with all that followed."
        )


def _record(item: "SignedEvent", forwarder: "Forwarder | None", forwarded: "Forwarded | None") -> dict[str, Any]:
    made: dict[str, Any] = {"id": item.id, "headers": item.headers, "body": item.body.decode()}
    if forwarder is not None and forwarded is not None:
        made["forwarded"] = {"url": forwarder.url} | asdict(forwarded)
    return made


def _paused(reason: str, pause: float) -> None:
    tell(f"{reason}; the event is tried again in {pause:g} s.")
