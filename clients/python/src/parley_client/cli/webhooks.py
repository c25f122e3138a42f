"""`parley webhooks`: endpoints, deliveries, test events, and a stream of events for development."""

import json
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, cast

import typer

from parley_client.cli.context import client
from parley_client.cli.listen import listen
from parley_client.cli.options import AT, Limit, time_of, types_of
from parley_client.cli.output import AsJson, print_json, show

webhooks = typer.Typer(help="Webhooks.", no_args_is_help=True)
endpoints = typer.Typer(help="Endpoints, where your events go.", no_args_is_help=True)
deliveries = typer.Typer(help="Deliveries of events to endpoints.", no_args_is_help=True)
webhooks.add_typer(endpoints, name="endpoints")
webhooks.add_typer(deliveries, name="deliveries")
webhooks.command()(listen)

COLUMNS = ("id", "url", "events", "active", "description", "disabled_reason")
EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, whe_...")]
Events = Annotated[
    list[str] | None, typer.Option(help="Types, or patterns such as quota.*; may be repeated; all where absent.")
]
Description = Annotated[str | None, typer.Option(help="What it is.")]
Active = Annotated[bool | None, typer.Option("--active/--inactive", help="Whether events go to it.")]


@endpoints.command("list")
def list_endpoints(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List endpoints, the oldest first."""
    show(client(context).webhooks.list(), COLUMNS, as_json=as_json)


@endpoints.command("create")
def create_endpoint(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="Where events go: https, reachable from the Internet.")],
    events: Events = None,
    description: Description = None,
    active: Active = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make an endpoint; its secret is shown this once."""
    made = client(context).webhooks.create(url, events=types_of(events) or None, active=active, description=description)
    show([made], ("id", "url", "secret"), as_json=as_json)


@endpoints.command("update")
def update_endpoint(
    context: typer.Context,
    endpoint: EndpointId,
    url: Annotated[str | None, typer.Option(help="Where events go from now on.")] = None,
    events: Annotated[list[str] | None, typer.Option(help="As for create; * for all.")] = None,
    description: Description = None,
    active: Active = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Change the given settings of an endpoint."""
    filtered = types_of(events)
    if (url, events, description, active) == (None, None, None, None):
        raise typer.BadParameter("nothing to change: give --url, --events, --description, --active or --inactive")
    changed = client(context).webhooks.change(
        endpoint,
        url=url,
        events=None if events is None else [] if filtered == ["*"] else filtered,
        description=description,
        active=active,
    )
    show([changed], COLUMNS, as_json=as_json)


@endpoints.command("rotate")
def rotate_secret(
    context: typer.Context,
    endpoint: EndpointId,
    *,
    now: Annotated[bool, typer.Option("--now", help="End the old secret at once, not in 24 hours.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a new secret, which is shown this once; for 24 hours the old one signs, too."""
    changed = client(context).webhooks.change(endpoint, rotate_secret="now" if now else True)
    show([changed], ("id", "url", "secret"), as_json=as_json)


@endpoints.command("delete")
def delete_endpoint(
    context: typer.Context,
    endpoint: EndpointId,
    *,
    disable: Annotated[bool, typer.Option("--disable", help="Only disable it, and keep its log.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an endpoint for good, or disable it; what waits for it is cancelled."""
    parley = client(context)
    if disable:
        show([parley.webhooks.disable(endpoint)], COLUMNS, as_json=as_json)
    else:
        parley.webhooks.delete(endpoint)
        if as_json:
            print_json({"id": endpoint})


@deliveries.command("list")
def list_deliveries(
    context: typer.Context,
    endpoint: Annotated[str | None, typer.Option(help="Those of this endpoint, whe_...")] = None,
    event: Annotated[str | None, typer.Option(help="Those of this type of event.")] = None,
    state: Annotated[str | None, typer.Option(help="pending, succeeded, retrying, exhausted or cancelled.")] = None,
    limit: Limit = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List deliveries, the newest first."""
    parley = client(context)
    page = parley.webhooks.deliveries(endpoint_id=endpoint, event_type=event, state=state, limit=min(limit, 200))
    show(islice(page, limit), ("id", "event_type", "state", "endpoint_id", "created_at"), as_json=as_json)


@deliveries.command("retry")
def retry(
    context: typer.Context,
    delivery: Annotated[str, typer.Argument(help="Its id, dlv_...")],
    *,
    as_json: AsJson = False,
) -> None:
    """Deliver an event again, as a new delivery."""
    show([client(context).webhooks.retry(delivery)], ("id", "event_type", "state"), as_json=as_json)


@webhooks.command()
def recover(
    context: typer.Context,
    endpoint: EndpointId,
    since: Annotated[
        datetime,
        typer.Option(parser=time_of, metavar="TIME", help=AT),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Queue again all deliveries that failed since a time, 14 days ago at most."""
    queued = client(context).webhooks.recover(endpoint, since)
    if as_json:
        print_json({"deliveries": queued})
    else:
        typer.echo(f"Queued again: {queued}.")


@webhooks.command("test")
def send_test(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="A type of the catalog.")] = "webhook.test",
    data: Annotated[str | None, typer.Option(help="Its data, a JSON object.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Send yourself an event with data of your own."""
    sent = client(context).webhooks.test(event, None if data is None else _object(data))
    show([sent], ("event_id", "deliveries"), as_json=as_json)


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as wrong:
        raise typer.BadParameter(f"--data is no JSON: {wrong}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("--data is no JSON object")
    return cast("dict[str, Any]", value)
