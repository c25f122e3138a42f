"""`parley chat`: a streamed chat, or one after the other."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

import parley_client
from parley_client import AccessError, EntityError, GatewayError, InvalidSetting, ParleyError, Refused
from parley_client.cli.context import client
from parley_client.cli.failures import told
from parley_client.cli.output import AsJson, after_ctrl_c, ask, print_json, tell, visible

if TYPE_CHECKING:
    from parley_client import ChatDelta, ChatDone, Parley

NOT_FOUND = 3000
LONGEST_TEXT = 32_000
CUT_FROM = 4_095
"""Bytes of a line that a terminal hands on by itself, without a word about the rest of a longer one."""
TOO_LONG = f"Lines of {CUT_FROM:,} bytes and more can't be sent from here; use a pipe, or end parts with a backslash."
KEPT = "Your message is kept in the conversation. If you send it again here, it stands there twice."
DESCRIPTION = "Made by parley chat"


def chat(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(help="The agent's name.")],
    text: Annotated[
        str | None, typer.Argument(help="What to say; read from the terminal or a pipe where absent.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="A conversation's id, cnv_...; else the default one.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Knowledge and behaviour of an agent that is created.")] = None,
    *,
    create: Annotated[
        bool, typer.Option("--create", help="Create the agent if there is none, without a question; log it on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Chat with an agent; the reply is shown while it is written, then its sources."""
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read(LONGEST_TEXT + 1)  # what is longer is refused, so an endless pipe is, too
    if text is not None and not text.strip():
        raise typer.BadParameter("there is nothing to say; give a text, or one in a pipe", param_hint="TEXT")
    parley = client(context)
    if create or (not as_json and sys.stdin.isatty() and sys.stderr.isatty()):
        _find_or_create(parley, agent, profile, create=create)
    elif profile is not None:
        raise typer.BadParameter("it is for an agent that is created: add --create", param_hint="--profile")
    if text is not None:
        _say(parley, agent, text, conversation, as_json)
        return
    for said in _typed():
        try:
            _say(parley, agent, said, conversation, as_json)
        except AccessError:
            raise
        except (Refused, InvalidSetting) as error:  # the next message may do better
            told(error)


def _find_or_create(parley: "Parley", agent: str, profile: str | None, *, create: bool) -> None:
    """Create an agent that is not there, unless the answer to the question is no; log it on."""
    try:
        found, _ = parley.agents.read(agent)
    except EntityError as error:
        if error.code != NOT_FOUND or not (create or ask(f"There is no agent {agent}. Create it?", default=True)):
            raise
        parley.agents.create(agent, DESCRIPTION, profile=profile)
        parley.agents.log_on(agent)
    else:
        if profile is not None:
            tell(f"There is an agent {agent} already; --profile changes nothing.")
        if create and found.state == "offline":
            parley.agents.log_on(agent)


def _say(parley: "Parley", agent: str, text: str, conversation: str | None, as_json: bool) -> None:
    stream = parley.agents.stream_chat(text, agent=agent, conversation=conversation)
    line_is_open = False
    try:
        for event in stream:
            _show(event, as_json)
            line_is_open = not as_json and isinstance(event, parley_client.ChatDelta)
    except ParleyError as error:
        if line_is_open:
            typer.echo()
        if isinstance(error, GatewayError) and stream.run is not None:
            error.add_note(KEPT)
        raise
    except KeyboardInterrupt:
        if not as_json and not (sys.stdout.isatty() and sys.stderr.isatty()):
            typer.echo()
        after_ctrl_c()
        if stream.run is not None:
            tell(f"Stopped; the gateway goes on with the reply, and keeps it ({stream.run}).")
        raise


def _show(event: "ChatDelta | ChatDone", as_json: bool) -> None:
    match event:
        case parley_client.ChatDelta() if not as_json:
            if event.anew:
                typer.echo()
                tell("The reply was lost with the gateway, and begins anew:")
            typer.echo(visible(event.text), nl=False)
        case parley_client.ChatDone() if as_json:
            print_json(event.reply)
        case parley_client.ChatDone():
            typer.echo()
            for source in event.reply.sources:
                where = source.bank or source.conversation or source.profile
                tell(f"  [{where}: {source.name or source.id}] {source.quote}", dim=True)
        case _:
            pass


def _typed() -> Iterator[str]:
    """Yield what to say, line by line; a line that ends with a backslash goes on."""
    is_edited = False
    with suppress(ImportError):  # it is missing from some builds of Python
        import_module("readline")  # input() uses it from then on: with editing, a history and lines of any length
        is_edited = sys.stdout.isatty()
    text = ""
    while True:
        try:
            line = input("... " if text else "> ")
        except EOFError:
            typer.echo()
            return
        if not is_edited and len(line.encode()) >= CUT_FROM:
            tell(TOO_LONG)
            continue
        text += line.removesuffix("\\") + ("\n" if line.endswith("\\") else "")
        if line.endswith("\\"):
            continue
        if text.strip():
            yield text
        text = ""
