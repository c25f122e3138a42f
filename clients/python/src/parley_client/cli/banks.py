"""`parley banks`: memory banks."""

from typing import Annotated

import typer

from parley_client.cli.context import client
from parley_client.cli.loading import load
from parley_client.cli.options import Access, Yes
from parley_client.cli.output import AsJson, confirm, show

banks = typer.Typer(help="Memory banks.", no_args_is_help=True)

Bank = Annotated[str, typer.Argument(help="The bank.")]


@banks.command("list")
def list_banks(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List memory banks."""
    show(client(context).banks.list(), ("name", "owner", "memories", "access", "description"), as_json=as_json)


@banks.command("create")
def create_bank(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new bank's name.")],
    agent: Annotated[str, typer.Option(help="Your agent that becomes its admin.")],
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    access: Access = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create a memory bank, with one of your agents as its admin."""
    made = client(context).banks.create(name, agent=agent, description=description, access=access)
    show([made], ("id", "name", "access", "description"), as_json=as_json)


banks.command()(load)


@banks.command()
def recall(
    context: typer.Context,
    bank: Bank,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Find the memories that match best."""
    show(client(context).banks.recall(bank, query), ("score", "answers", "name", "text"), as_json=as_json)


@banks.command()
def censor(
    context: typer.Context,
    bank: Bank,
    memory: Annotated[str, typer.Argument(help="The memory's name; * for all.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase memories' texts for good, after a question."""
    confirm(f"Erase the text of {memory!r} in {bank} for good?", yes=yes)
    show([client(context).banks.censor(bank, name=memory)[1]], ("memories",), as_json=as_json)
