"""Users: the sender of a command, and the one that it names as `target.user`."""

from collections.abc import Callable

from actors.agents.messages import no_such_agent
from actors.calls.call import Call
from actors.errors import NotFound, NotPermitted, ServiceError
from actors.names import no_such_user, require_name_allowed
from actors.users.messages import USER, ReadUser
from persistence import agents, users
from persistence.agents import AgentRow
from persistence.users import name_key


def is_for_caller(call: Call) -> bool:
    """Return whether `target.user` is absent or the caller."""
    user = call.target.user
    return user is None or name_key(user) == name_key(call.user.user_name)


def is_meant(call: Call, agent: AgentRow) -> bool:
    """Return whether `target.user` is absent, or the owner of the target agent, or the caller."""
    return is_for_caller(call) or name_key(call.target.user or "") == name_key(agent.owner)


async def require_meant(call: Call, agent_id: str) -> None:
    """Check that `target.user` is absent, or the owner of the target agent, or the caller.

    Raises:
        NotFound: it is another user.
    """
    if is_for_caller(call):
        return
    if not any(is_meant(call, row) for row in await call.core.store.fetch(agents.by_id(agent_id))):
        raise no_such_agent()


def require_own(call: Call, entities: str) -> None:
    """Refuse to create something for another user.

    Raises:
        NotPermitted: `target.user` is not the caller.
    """
    if not is_for_caller(call):
        raise NotPermitted(f"You make {entities} for yourself only: leave target.user out or name yourself.")


async def target_user_id(call: Call) -> str:
    """Find the user that `target.user` names.

    Raises:
        NotFound: there is none of that name.
    """
    found = await call.core.store.fetch(users.id_by_name(call.target.user or ""))
    if not found:
        raise no_such_user()
    return found[0]


async def require_name_in_plan(call: Call, name: str, gone: Callable[[], ServiceError]) -> None:
    """Refuse a premium name on a plan without premium names.

    Raises:
        NeedsPlan: the name is too short for the plan.
        ServiceError: the caller was destroyed meanwhile, and so what it names is `gone`.
    """
    try:
        user = await call.ask(USER, call.user.user_id, ReadUser())
    except NotFound:
        raise gone() from None
    require_name_allowed(name, user.plan)
