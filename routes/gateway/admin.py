"""The operator's routes: users, their roles and plans, suspension; the kill switch of agents; the audit log of all."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from pydantic import Field

from actors.agents.messages import AgentView
from actors.calls.paging import name_after, page_by_name
from actors.calls.request import BlankIsMissing, Body
from actors.commands import operators
from actors.commands.operators import Account
from actors.errors import InvalidField
from actors.plans import PLANS
from actors.users.records import own_user_record
from actors.wire import Record, iso
from persistence import audit
from persistence.accounts import ROLES
from persistence.users import name_key
from routes.gateway.audit import ENTRY, AuditAsked, audit_record, audit_reply
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.openapi.schemas import RECORDS, TIME, Schema, array, flag, nullable, record, ref, text

Role = Literal["user", "auditor", "operator"]
State = Literal["active", "suspended"]
Run = Callable[[RouteCall], Coroutine[Any, Any, RouteReply]]

TAG = "Operator"


class UsersAsked(Query):
    """Query parameters of the list of users."""

    prefix: str = Field("", max_length=200, description="Only users whose names begin like this, in any case.")
    role: Annotated[Role | None, BlankIsMissing] = Field(None, description="Only users with this role.")
    state: Annotated[State | None, BlankIsMissing] = Field(None, description="Only users in this state.")
    limit: int = Field(50, ge=1, le=200, description="Users on a page.")
    cursor: str | None = Field(None, max_length=500, description="`next` of the page before.")


class RoleChange(Body):
    """Body of a change of role."""

    role: Annotated[Role, BlankIsMissing] = Field(description="The user's role from now on.")


class PlanChange(Body):
    """Body of the billing hook."""

    plan: Annotated[Literal["free", "builder", "scale", "enterprise"], BlankIsMissing] = Field(
        description="The user's plan from now on."
    )
    limit: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Requests per UTC day, for enterprise only; absent: no limit."
    )


def account_record(account: Account) -> Record:
    """Return a user as operators see it."""
    user, last = account.user, account.last_used_at
    return own_user_record(user, account.owned, account.quota) | {
        "role": account.role,
        "state": "active" if user.suspended_at is None else "suspended",
        "suspended_at": None if user.suspended_at is None else iso(user.suspended_at),
        "last_used_at": None if last is None else iso(last),
    }


def _shown(account: Account) -> RouteReply:
    return RouteReply(account_record(account))


async def list_users(request: RouteCall) -> RouteReply:
    """List users by name."""
    asked: UsersAsked = request.query
    suspended = None if asked.state is None else asked.state == "suspended"
    after, limit = name_after(asked.cursor), asked.limit
    found = await operators.list_accounts(request.call, asked.prefix, asked.role, suspended, after, limit + 1)
    page, following = page_by_name(found, limit, lambda account: name_key(account.user.name))
    return RouteReply({"users": [account_record(account) for account in page], "next": following})


async def read_user(request: RouteCall) -> RouteReply:
    """Read one user."""
    return _shown(await operators.read_account(request.call, request.params["name"]))


async def set_role(request: RouteCall) -> RouteReply:
    """Give a user a role."""
    return await operators.set_role(request.call, request.params["name"], request.body.role, _shown)


async def set_plan(request: RouteCall) -> RouteReply:
    """Set the plan of a user."""
    change: PlanChange = request.body
    if change.limit is not None and PLANS[change.plan].limit is not None:
        raise InvalidField("Invalid value of limit: only enterprise has a limit of its own.")
    call, name = request.call, request.params["name"]

    def answer(account: Account) -> RouteReply:
        return RouteReply(own_user_record(account.user, account.owned, account.quota))

    return await operators.set_plan(call, name, change.plan, change.limit, answer)


async def suspend(request: RouteCall) -> RouteReply:
    """Suspend a user."""
    return await operators.set_suspended(request.call, request.params["name"], True, _shown)


async def resume(request: RouteCall) -> RouteReply:
    """Let a suspended user in again."""
    return await operators.set_suspended(request.call, request.params["name"], False, _shown)


async def reset_secret(request: RouteCall) -> RouteReply:
    """Give a user a new password."""

    def answer(account: Account, secret: str) -> RouteReply:
        return RouteReply(account_record(account) | {"secret": secret})

    return await operators.reset_secret(request.call, request.params["name"], answer)


def _agent_record(view: AgentView) -> RouteReply:
    return RouteReply(view.record | {"stopped": view.row.stopped})


async def stop_agent(request: RouteCall) -> RouteReply:
    """Stop an agent."""
    return await operators.set_stopped(request.call, request.params["name"], True, _agent_record)


async def start_agent(request: RouteCall) -> RouteReply:
    """Let a stopped agent answer again."""
    return await operators.set_stopped(request.call, request.params["name"], False, _agent_record)


async def read_audit(request: RouteCall) -> RouteReply:
    """Return a page of the log over all users, newest first."""
    asked: AuditAsked = request.query
    query = audit.page_of_all(asked.since_ms, asked.service, asked.before, asked.limit + 1)
    rows = await request.call.core.store.fetch(query)
    return audit_reply(rows, asked.limit, lambda row: {"user": row.user} | audit_record(row))


ACCOUNT: Schema = record(
    "A user as operators see it.",
    **RECORDS["own_user"][1]["properties"],
    role=text("The role that counts: that of PARLEY_OPERATORS before the stored one.", enum=ROLES),
    state=text(enum=["active", "suspended"]),
    suspended_at=nullable(TIME),
    last_used_at=nullable({**TIME, "description": "When one of its credentials was last used, to the minute."}),
)
SCHEMAS: dict[str, Schema] = {"Account": ACCOUNT}

_AGENT = record(
    "An agent; the operator's switch is apart from its state.",
    **RECORDS["agent"][1]["properties"],
    stopped=flag("Whether an operator has stopped it, so that chats with it are refused."),
)
_RESET = record(
    "The user, with its new password.",
    **ACCOUNT["properties"],
    secret=text("The password; only this answer shows it."),
)


def _named_role(body: RoleChange) -> dict[str, str]:
    return {"role": body.role}


def _named_plan(body: PlanChange) -> dict[str, str]:
    return {"plan": body.plan}


NEXT = nullable(text("The cursor of the next page."))


def _change(method: str, path: str, name: str, summary: str, run: Run, reply: Schema, **more: Any) -> Route:
    more |= {"errors": (404,), "entrance": "operator", "mutates": True}
    return Route(method, f"/api/admin/{path}", name, TAG, summary, run, reply, **more)


ROUTES = (
    Route(
        "GET",
        "/api/admin/users",
        "listUsers",
        TAG,
        "List users, by name.",
        list_users,
        reply=record(
            "A page of users.", users=array(ref("Account")), next=nullable(text("The cursor of the next page."))
        ),
        query=UsersAsked,
        entrance="operator",
    ),
    Route(
        "GET",
        "/api/admin/users/{name}",
        "getUser",
        TAG,
        "Read one user.",
        read_user,
        reply=ref("Account"),
        errors=(404,),
        entrance="operator",
    ),
    _change(
        "PUT",
        "users/{name}/role",
        "setRole",
        "Give a user a role.",
        set_role,
        ref("Account"),
        body=RoleChange,
        named=_named_role,
        example={"role": "auditor"},
    ),
    _change(
        "PUT",
        "users/{name}/plan",
        "setPlan",
        "Put a user on a plan: the billing hook.",
        set_plan,
        ref("OwnUser"),
        body=PlanChange,
        named=_named_plan,
        example={"plan": "builder"},
    ),
    _change(
        "POST",
        "users/{name}/suspend",
        "suspendUser",
        "Suspend a user: its sessions end, its keys are refused, its agents answer nobody, its deliveries wait.",
        suspend,
        ref("Account"),
    ),
    _change("POST", "users/{name}/resume", "resumeUser", "Let a suspended user in again.", resume, ref("Account")),
    _change(
        "POST",
        "users/{name}/reset-secret",
        "resetSecret",
        "Give a user a new password, which only this answer shows; its sessions end.",
        reset_secret,
        _RESET,
    ),
    _change(
        "POST",
        "agents/{name}/stop",
        "stopAgent",
        "Stop an agent: chats with it are refused until it is started.",
        stop_agent,
        _AGENT,
    ),
    _change("POST", "agents/{name}/start", "startAgent", "Let a stopped agent answer again.", start_agent, _AGENT),
    Route(
        "GET",
        "/api/admin/audit",
        "readWholeAudit",
        TAG,
        "Read the audit log of all users, newest first.",
        read_audit,
        reply=record(
            "A page of the log.",
            entries=array(record("An entry.", user=nullable(text("Whose act it was.")), **ENTRY["properties"])),
            next=NEXT,
        ),
        query=AuditAsked,
        entrance="operator",
    ),
)
