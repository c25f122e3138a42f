"""Users of a gateway as the Python client's tests and the command table's examples use them."""

from contextlib import suppress
from dataclasses import dataclass

from parley_client import AccessError, AsyncParley

PASSWORD = "correct horse battery"


@dataclass(slots=True)
class World:
    """Clients of two users of a gateway: `owner` has the agent `scout`; `guest` has the agent `marlow`, seen by all."""

    owner: AsyncParley
    guest: AsyncParley

    async def close(self) -> None:
        """Close the clients' connections."""
        await self.owner.close()
        await self.guest.close()


async def opened(base: str, owner: str = "lovelace", guest: str = "babbage") -> World:
    """Register two users, each with an agent that is online."""
    made: list[AsyncParley] = []
    for user, agent in ((owner, "scout"), (guest, "marlow")):
        client = AsyncParley(base)
        await client.users.create(user, PASSWORD)
        await client.log_on(user, PASSWORD)
        await client.agents.create(agent, "Finds things", profile="I know the Moon.", access="public")
        await client.agents.log_on(agent)
        await client.agents.select(agent)
        made.append(client)
    return World(*made)


async def removed(base: str, *users: str) -> None:
    """Remove users with all they own, as far as they are there."""
    for user in users:
        async with AsyncParley(base) as client:
            with suppress(AccessError):
                await client.log_on(user, PASSWORD)
                await client.users.destroy(PASSWORD)
