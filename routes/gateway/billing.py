"""The billing hook: an internal route that sets a user's plan."""

from typing import Annotated, Literal

from pydantic import Field

from actors.calls.request import Body
from actors.errors import InvalidField
from actors.names import no_such_user
from actors.plans import PLANS
from actors.quotas.messages import QUOTA, ReadQuota
from actors.users.messages import USER, SetPlan
from actors.users.records import Owned, own_user_record
from persistence import users
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import ref


class PlanChange(Body):
    """Body of the billing hook."""

    plan: Literal["free", "builder", "scale", "enterprise"] = Field(description="The user's plan from now on.")
    limit: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Requests per UTC day, for enterprise only; absent: no limit."
    )


async def set_plan(request: RouteCall) -> RouteReply:
    """Set the plan of a user."""
    core, change = request.call.core, request.body
    if change.limit is not None and PLANS[change.plan].limit is not None:
        raise InvalidField("Invalid value of limit: only enterprise has a limit of its own.")
    found = await core.store.fetch(users.id_by_name(request.params["name"]))
    if not found:
        raise no_such_user()
    (counts,) = await core.store.fetch(users.owned(found[0]))
    user = await request.call.ask(USER, found[0], SetPlan(change.plan, change.limit))
    return RouteReply(own_user_record(user, Owned(*counts), await request.call.ask(QUOTA, user.id, ReadQuota())))


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
)
