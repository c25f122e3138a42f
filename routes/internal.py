"""Internal routes: the billing hook, and live actors for maintainers (product 8)."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from actors.errors import InvalidField, NotFound
from actors.plans import PLANS
from actors.quota import ReadQuota
from actors.records import Owned, own_user_record
from actors.request import Body
from actors.user import SetPlan, no_such_user
from persistence import users
from routes.route import Reply, Route, RouteCall
from routes.schemas import array, record, ref


class PlanChange(Body):
    """Body of the billing hook."""

    plan: Literal["free", "builder", "scale", "enterprise"] = Field(description="The user's plan from now on.")
    limit: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Requests per UTC day, for enterprise only; without limit when absent."
    )


class ActorsAsked(BaseModel):
    """Query of the list of actors."""

    kind: str | None = Field(None, description="Only actors of this kind.")
    limit: int = Field(1_000, ge=1, le=10_000, description="Actors listed.")


async def set_plan(request: RouteCall) -> Reply:
    """Put a user on a plan."""
    core, change = request.call.core, request.body
    if change.limit is not None and PLANS[change.plan].limit is not None:
        raise InvalidField("Invalid value of limit: only enterprise has a limit of its own.")
    found = await core.store.fetch(users.id_by_name(request.params["name"]))
    if not found:
        raise no_such_user()
    (counts,) = await core.store.fetch(users.owned(found[0]))
    user = await request.call.ask("user", found[0], SetPlan(change.plan, change.limit))
    return Reply(own_user_record(user, Owned(*counts), await request.call.ask("quota", user.id, ReadQuota())))


async def list_actors(request: RouteCall) -> Reply:
    """List live actors."""
    directory, asked = request.call.core.directory, request.query
    listed: list[dict[str, Any]] = []
    for status in directory.statuses(asked.kind or None):
        if len(listed) == asked.limit:
            break
        listed.append(asdict(status))
    return Reply({"counts": directory.count_by_kind(), "actors": listed})


async def read_actor(request: RouteCall) -> Reply:
    """Look into one live actor."""
    found = request.call.core.directory.inspect(request.params["kind"], request.params["key"])
    if found is None:
        raise NotFound("No such actor is live now; list those that are with GET /debug/actors.")
    status, state = found
    return Reply(asdict(status) | {"state": state})


ROUTES = (
    Route(
        "PUT",
        "/api/admin/users/{name}/plan",
        "setPlan",
        "Internal",
        "Put a user on a plan: the billing hook.",
        set_plan,
        reply=ref("OwnUser"),
        body=PlanChange,
        errors=(404,),
        entrance="internal",
        mutates=True,
        example={"plan": "builder"},
    ),
    Route(
        "GET",
        "/debug/actors",
        "listActors",
        "Internal",
        "List the live actors.",
        list_actors,
        reply=record("Live actors.", counts={"type": "object"}, actors=array(ref("Actor"))),
        query=ActorsAsked,
        entrance="internal",
    ),
    Route(
        "GET",
        "/debug/actors/{kind}/{key}",
        "getActor",
        "Internal",
        "Look into one live actor.",
        read_actor,
        reply=ref("Actor"),
        errors=(404,),
        entrance="internal",
    ),
)
