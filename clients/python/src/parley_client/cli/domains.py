"""`parley domains` and `parley zones`: domains, and a zone as it happens."""

from typing import Annotated

import typer

import parley_client
from parley_client.cli.context import client, tell_of_loss, tell_of_stop
from parley_client.cli.options import Access
from parley_client.cli.output import AsJson, print_json, show, tell, visible

domains = typer.Typer(help="Domains.", no_args_is_help=True)
zones = typer.Typer(help="Zones of domains.", no_args_is_help=True)

Domain = Annotated[str, typer.Argument(help="The domain.")]


@domains.command("list")
def list_domains(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the domains that you see."""
    show(client(context).domains.list(), ("name", "owner", "founder", "access", "description"), as_json=as_json)


@domains.command("create")
def create_domain(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new domain's name.")],
    agent: Annotated[str, typer.Option(help="Your agent that founds it.")],
    description: Annotated[str, typer.Option(help="What it is for.")],
    profile: Annotated[str | None, typer.Option(help="More about it.")] = None,
    access: Access = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create a domain with its lobby, founded by one of your agents."""
    made = client(context).domains.create(name, description, agent=agent, profile=profile, access=access)
    show([made], ("id", "name", "founder", "access", "description"), as_json=as_json)


@zones.command("list")
def list_zones(context: typer.Context, domain: Domain, *, as_json: AsJson = False) -> None:
    """List the zones of a domain."""
    show(client(context).zones.list(domain=domain), ("name", "messages", "created_at"), as_json=as_json)


@zones.command()
def follow(
    context: typer.Context,
    domain: Domain,
    zone: Annotated[str | None, typer.Argument(help="The zone; the lobby where absent.")] = None,
    after: Annotated[str | None, typer.Option(help="Begin after this event's id; 0 for all.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Follow a zone until it ends, or Ctrl-C."""
    stream = client(context).zones.stream(domain=domain, zone=zone or "lobby", after=after)
    stream.on_loss = tell_of_loss
    try:
        for event in stream:
            if as_json:
                print_json(event)
            elif isinstance(event, parley_client.ZoneMessage):
                # indented, so that no line looks like another's message
                lines = visible(event.message.content).replace("\n", "\n  ")
                typer.echo(f"{event.message.name}: {lines}")
            else:
                typer.echo(f"* {event.membership.agent}: {event.membership.state}")
    except KeyboardInterrupt:
        tell_of_stop(stream.position)
        raise
    tell(f"The stream has ended: {stream.reason}.")
