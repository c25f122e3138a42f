"""The silence of agents: stopped by an operator, of a suspended owner, or destroyed, while they answer."""

from actors.agents.messages import DestroyedMeanwhile, no_answer
from actors.errors import ServiceError
from persistence import agents
from persistence.store import Store, StoreUnavailable


async def silence_of(store: Store, agent_id: str) -> ServiceError | None:
    """Return why an agent may answer nobody, as stored, because other actors' units silence it too.

    Returns None if it may go on with what it has begun, as one that has gone offline meanwhile may, or if the store
    can't be read, because nothing can be stored then.
    """
    try:
        found = await store.fetch(agents.by_id(agent_id))
    except StoreUnavailable:
        return None
    if not found:
        return DestroyedMeanwhile("The agent was destroyed before it answered; list yours with AP_List.")
    return no_answer(found[0]) if found[0].silenced else None
