"""`parley chat`: a streamed chat, or one after the other."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from parley_client import ChatDelta, ChatDone, Parley
from parley_client.cli.context import client
from parley_client.cli.output import AsJson, err, print_json


def chat(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(help="The agent's name.")],
    text: Annotated[
        str | None, typer.Argument(help="What to say; read from the terminal or a pipe where absent.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="A conversation's id, cnv_...; else the default one.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Chat with an agent; the reply is shown while it is written, then its sources."""
    parley = client(context)
    for said in [text] if text is not None else _texts():
        _say(parley, agent, said, conversation, as_json)


def _say(parley: Parley, agent: str, text: str, conversation: str | None, as_json: bool) -> None:
    for event in parley.agents.stream_chat(text, agent=agent, conversation=conversation):
        match event:
            case ChatDelta() if not as_json:
                if event.anew:
                    typer.echo()
                    err.print("The reply was lost with the gateway, and begins anew:")
                typer.echo(event.text, nl=False)
            case ChatDone() if as_json:
                print_json(event.reply)
            case ChatDone():
                typer.echo()
                for source in event.reply.sources:
                    where = source.bank or source.conversation or source.profile
                    err.print(f"  [{where}: {source.name or source.id}] {source.quote}", style="dim", markup=False)
            case _:
                pass


def _texts() -> Iterator[str]:
    """Yield what to say: a pipe as a whole, else line by line; a line that ends with a backslash goes on."""
    if not sys.stdin.isatty():
        yield sys.stdin.read()
        return
    text = ""
    while True:
        try:
            line = input("... " if text else "> ")
        except EOFError:
            typer.echo()
            return
        text += line.removesuffix("\\") + ("\n" if line.endswith("\\") else "")
        if not line.endswith("\\") and text.strip():
            yield text
            text = ""
