"""`parley admin`: users, the kill switch of agents, and the audit log of all."""

from itertools import islice
from typing import Annotated, Literal

import typer

from parley_client.cli.context import client
from parley_client.cli.options import Limit, Since, Yes
from parley_client.cli.output import AsJson, confirm, show, show_whole

admin = typer.Typer(help="Users, agents and the audit log, for operators; auditors may look.", no_args_is_help=True)
users = typer.Typer(help="All users.", no_args_is_help=True)
agents = typer.Typer(help="The kill switch of agents.", no_args_is_help=True)
admin.add_typer(users, name="users")
admin.add_typer(agents, name="agents")

Role = Literal["user", "auditor", "operator"]
Plan = Literal["free", "builder", "scale", "enterprise"]
State = Literal["active", "suspended"]

SHORT = ("name", "role", "state", "plan", "last_used_at")
User = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")]


@users.command("list")
def list_users(
    context: typer.Context,
    prefix: Annotated[str | None, typer.Option(help="Those whose names begin like this.")] = None,
    role: Annotated[Role | None, typer.Option(help="Those with this role.")] = None,
    state: Annotated[State | None, typer.Option(help="Those in this state.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List users, by name."""
    show(client(context).admin.users(prefix=prefix, role=role, state=state), SHORT, as_json=as_json)


@users.command("show")
def show_user(context: typer.Context, user: User, *, as_json: AsJson = False) -> None:
    """Show a user: role, state, plan, quota, and what it owns."""
    show_whole(client(context).admin.user(user), as_json=as_json)


@users.command("role")
def set_role(
    context: typer.Context,
    user: User,
    role: Annotated[Role, typer.Argument(help="The role from now on.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Give a user a role."""
    show([client(context).admin.set_role(user, role)], SHORT, as_json=as_json)


@users.command("plan")
def set_plan(
    context: typer.Context,
    user: User,
    plan: Annotated[Plan, typer.Argument(help="The plan from now on.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Requests a day, for enterprise only.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Put a user on a plan."""
    show([client(context).admin.set_plan(user, plan, limit=limit)], ("name", "plan"), as_json=as_json)


@users.command()
def suspend(context: typer.Context, user: User, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Suspend a user after a question: it is logged off and locked out, and its agents answer nobody."""
    confirm(f"Suspend {user}: log it off, and stop its agents and keys?", yes=yes)
    show([client(context).admin.suspend(user)], SHORT, as_json=as_json)


@users.command()
def resume(context: typer.Context, user: User, *, as_json: AsJson = False) -> None:
    """Let a suspended user in again."""
    show([client(context).admin.resume(user)], SHORT, as_json=as_json)


@users.command("reset-secret")
def reset_secret(context: typer.Context, user: User, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Give a user a new password after a question; it is shown this once."""
    confirm(f"Give {user} a new password, and log it off?", yes=yes)
    show([client(context).admin.reset_secret(user)], ("name", "secret"), as_json=as_json)


@agents.command()
def stop(context: typer.Context, agent: Agent, *, as_json: AsJson = False) -> None:
    """Stop an agent, whoever owns it: chats with it are refused until it is started."""
    show([client(context).admin.stop_agent(agent)], ("name", "owner", "state", "stopped"), as_json=as_json)


@agents.command()
def start(context: typer.Context, agent: Agent, *, as_json: AsJson = False) -> None:
    """Let a stopped agent answer again."""
    show([client(context).admin.start_agent(agent)], ("name", "owner", "state", "stopped"), as_json=as_json)


@admin.command()
def audit(
    context: typer.Context,
    since: Since = None,
    service: Annotated[str | None, typer.Option(help="Those of this service, or operation of a route.")] = None,
    limit: Limit = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """Read the audit log of all users, the newest entry first."""
    found = client(context).admin.audit(since=since, service=service, limit=min(limit, 200))
    columns = ("time", "user", "service", "target", "internal_code", "address", "request_id")
    show(islice(found, limit), columns, as_json=as_json)
