"""The commands of `parley`, and its exit statuses."""

import os
import sys
from getpass import getpass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from parley_client import ParleyError, Refused
from parley_client._version import __version__
from parley_client.cli import profiles
from parley_client.cli.admin import admin
from parley_client.cli.banks import banks
from parley_client.cli.chat import chat
from parley_client.cli.context import (
    INVALID_CREDENTIAL,
    Settings,
    client,
    client_of_profile,
    key_of_environment,
    settings,
    tell_of_waits,
)
from parley_client.cli.doctor import doctor
from parley_client.cli.domains import domains, zones
from parley_client.cli.failures import NO_UTF_8, OTHER_ERROR, WRONG_USAGE, told
from parley_client.cli.options import types_of
from parley_client.cli.output import LONGEST_LINE, AsJson, after_ctrl_c, print_json, replace_unknown_signs, show, tell
from parley_client.cli.start import INTERRUPTED, READER_GONE
from parley_client.cli.top import top
from parley_client.cli.webhooks import webhooks

SEEN = "Given here, everybody on this machine sees it in the list of processes; the variable is better."
OTHER_GATEWAY = "The session of the profile {} is kept: it is of {}, not of {}. Log off without --url and PARLEY_URL."


class _Commands(TyperGroup):
    """All commands; they say what is wrong with a value without the prefix of pydantic, which typer keeps."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = wrong.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    cls=_Commands, help="Parley on the command line.", no_args_is_help=True, pretty_exceptions_enable=False
)
agents = typer.Typer(help="Agents.", no_args_is_help=True)
conversations = typer.Typer(help="Conversations with agents.", no_args_is_help=True)
keys = typer.Typer(help="API keys.", no_args_is_help=True)
for group, name in (
    (agents, "agents"),
    (conversations, "conversations"),
    (domains, "domains"),
    (zones, "zones"),
    (banks, "banks"),
    (keys, "keys"),
    (webhooks, "webhooks"),
    (admin, "admin"),
):
    app.add_typer(group, name=name)
app.command()(chat)
app.command()(top)

Name = Annotated[str, typer.Argument(help="Its name.")]


OnlyAgents = Annotated[list[str] | None, typer.Option("--agent", help="An agent that it may use; repeatable.")]
OnlyBanks = Annotated[list[str] | None, typer.Option("--bank", help="A bank that it may use; repeatable.")]
OnlyDomains = Annotated[list[str] | None, typer.Option("--domain", help="A domain that it may use; repeatable.")]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"parley {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    *,
    profile: Annotated[
        str, typer.Option(envvar="PARLEY_PROFILE", help="The profile to use.", autocompletion=profiles.names)
    ] = profiles.DEFAULT,
    url: Annotated[
        str | None,
        typer.Option(help="The gateway's address; else PARLEY_URL, the profile's, or http://127.0.0.1:8000."),
    ] = None,
    brand: Annotated[str, typer.Option(help="The gateway's brand, a segment of its paths.")] = "Svc",
    internal_secret: Annotated[
        str | None,
        typer.Option(
            envvar="PARLEY_INTERNAL_SECRET",
            help=f"The gateway's INTERNAL_SECRET, for admin and top without a role, and to register operators. {SEEN}",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Parley on the command line."""
    context.obj = Settings(profile, url, brand, internal_secret or None)


@app.command()
def login(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="Your user name.")],
    *,
    password: Annotated[
        str | None,
        typer.Option(envvar="PARLEY_PASSWORD", help=f"Asked for on a terminal; else the first line of a pipe. {SEEN}"),
    ] = None,
    register: Annotated[bool, typer.Option("--register", help="Register this user first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Log on, and keep the session in the profile."""
    profiles.check_writable()  # before a user is made and a session opened, of which nobody would know
    secret = password or _asked_password(is_new=register)
    parley = client(context, makes_profile=True)
    if register:
        parley.users.create(user, secret)
    session, token = parley.users.log_on(user, secret)
    given = settings(context)
    path = profiles.write(given.profile, profiles.Profile(parley.url, token.token))
    if key_of_environment():
        tell("PARLEY_API_KEY is set, and wins over this session; unset it.")
    if as_json:
        print_json(session)
    else:
        tell(f"Logged on as {user}; the session is kept in {path} until {session.expires_at:%Y-%m-%d %H:%M} UTC.")


@app.command()
def logout(context: typer.Context, *, as_json: AsJson = False) -> None:
    """End the session that the profile keeps, and remove it there; PARLEY_API_KEY plays no part."""
    name = settings(context).profile
    kept = profiles.read(name)
    has_ended, said = False, "has no session, so there is nothing to end"
    if kept.key is not None:
        parley = client_of_profile(context)
        try:
            parley.users.log_off()
            has_ended, said = True, "is logged off"
        except Refused as error:
            if error.code != INVALID_CREDENTIAL:
                raise
            if kept.url not in (None, parley.url):  # another gateway knows nothing of it
                error.add_note(OTHER_GATEWAY.format(name, kept.url, parley.url))
                raise
            said = "is logged off; its session had ended already"
        profiles.write(name, profiles.Profile(kept.url))
    if as_json:
        print_json({"profile": name, "ended": has_ended})
    else:
        tell(f"The profile {name} {said}.")


def _asked_password(*, is_new: bool) -> str:
    """Ask for the password on the terminal, twice for a new one, or read it from a pipe."""
    if sys.stdin.isatty():
        while True:
            typed = getpass("Password: ")
            if typed and (not is_new or getpass("Password again: ") == typed):
                return typed
            if typed:
                tell("These are two passwords; type the same one twice.")
    given = sys.stdin.readline(LONGEST_LINE).rstrip("\r\n")
    if not given:
        raise typer.BadParameter("there is none; set PARLEY_PASSWORD, or give it in a pipe", param_hint="--password")
    return given


@agents.command("list")
def list_agents(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List own agents and the roster."""
    show(client(context).agents.list(), ("name", "owner", "state", "access", "description"), as_json=as_json)


@agents.command("create")
def create_agent(
    context: typer.Context,
    name: Name,
    description: Annotated[str, typer.Option(help="What it is for.")],
    profile: Annotated[str | None, typer.Option(help="Its knowledge and behaviour.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create an agent, and log it on."""
    parley = client(context)
    parley.agents.create(name, description, profile=profile)
    show([parley.agents.log_on(name)], ("name", "state", "description"), as_json=as_json)


@conversations.command("list")
def list_conversations(
    context: typer.Context,
    agent: Annotated[str | None, typer.Option(help="Those with this agent.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List conversations, the most recently used first."""
    listed = client(context).conversations.list(agent=agent)
    show(listed, ("id", "agent", "title", "messages", "updated_at"), as_json=as_json)


@keys.command("list")
def list_keys(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List API keys."""
    show(client(context).keys.list(), ("id", "name", "prefix", "expires_at", "last_used_at"), as_json=as_json)


@keys.command("create")
def create_key(
    context: typer.Context,
    name: Name,
    days: Annotated[int | None, typer.Option(help="Days until it expires.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of requests a day.")] = None,
    *,
    services: Annotated[
        list[str] | None,
        typer.Option("--service", help="A command that it may send, or a group as AP_*; repeatable; default: all."),
    ] = None,
    agents: OnlyAgents = None,
    banks: OnlyBanks = None,
    domains: OnlyDomains = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The key can only read.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an API key, which is shown this once."""
    lists = {"services": services, "agents": agents, "banks": banks, "domains": domains}
    scopes: dict[str, Any] = {scope: types_of(names) for scope, names in lists.items() if names}
    if read_only:
        scopes["read_only"] = True
    made = client(context).keys.create(name, expires_in_days=days, limit=limit, scopes=scopes or None)
    show([made], ("id", "name", "key"), as_json=as_json)


@keys.command("revoke")
def revoke_key(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(help="Its id, key_...")],
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke an API key at once."""
    client(context).keys.revoke(key_id)
    if as_json:
        print_json({"id": key_id})


app.command()(doctor)


def run() -> int:
    """Run `parley`; return its exit status, as docs/python-client.md has them."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it is None where closed
    replace_unknown_signs()
    tell_of_waits()
    try:
        status = _status()
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - it is where closed
            sys.stdout.flush()
    except BrokenPipeError:
        status = READER_GONE
    if status == INTERRUPTED:
        after_ctrl_c()
    return status


def _status() -> int:
    try:
        app(prog_name="parley")
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer has only 1 for it
            raise ended.__context__ from None
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except ParleyError as error:
        return told(error)
    except UnicodeError:  # bytes of an argument or a pipe, which Python keeps as lone surrogates
        tell(NO_UTF_8)
        return WRONG_USAGE
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk, for example
        tell(f"The output can't be written: {error.strerror or error}.")
        return OTHER_ERROR
    return 0
