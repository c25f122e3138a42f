"""The roster: other owners' agents that a user works with."""

from actors.calls.call import Answer, Call
from actors.calls.targets import target_agent
from actors.calls.user_targets import require_meant
from actors.commands.agents import shown, unselect
from actors.commands.command import AGENT_MEMBERS, Command, ToolDescription
from actors.errors import StateConflict
from actors.users.messages import USER, AddToRoster, OnRoster, RemoveFromRoster
from persistence import agents


async def add(call: Call) -> Answer:
    """AP_Add: put another's agent on the caller's roster."""
    view = await target_agent(call)
    answer = shown(view)
    if view.row.owner_id == call.user.user_id:
        return answer
    return await call.carry_out(USER, call.user.user_id, AddToRoster(view.row.id), lambda _: answer, repeatable=True)


async def remove(call: Call) -> Answer:
    """AP_Remove: take an agent off the caller's roster."""
    found = await call.core.store.fetch(agents.id_by_name(call.target.agent or ""))
    agent_id = found[0] if found else ""
    if await call.ask(USER, call.user.user_id, OnRoster(agent_id)):
        await require_meant(call, agent_id)
        call.require_in_scope("agents", agent_id)
    else:
        view = await target_agent(call)
        if view.row.owner_id == call.user.user_id:
            raise StateConflict("This agent is your own, not on the roster; AP_Destroy removes it for all.")

    def removed(_: None) -> Answer:
        unselect(call, agent_id)
        return Answer()

    return await call.carry_out(USER, call.user.user_id, RemoveFromRoster(agent_id), removed)


COMMANDS = (
    Command(
        "AP_Add",
        "Put another user's agent on your roster.",
        add,
        uses=AGENT_MEMBERS,
        requires=("target.agent",),
        profile="agent",
        errors=(3000,),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Add an agent to your roster",
            "Put another user's agent on your roster, so that you can select it. Name an agent that you may see.",
            idempotent=True,
        ),
    ),
    Command(
        "AP_Remove",
        "Take an agent off your roster.",
        remove,
        uses=AGENT_MEMBERS,
        requires=("target.agent",),
        errors=(3000, 3002),
        example={"target": {"agent": "scout"}},
        tool=ToolDescription(
            "Take an agent off your roster",
            "Take another user's agent off your roster; AP_Add puts it back. The agent itself stays.",
            idempotent=True,
        ),
    ),
)
