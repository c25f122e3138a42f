"""Users of a gateway as the Python client's tests and the command table's examples use them."""

from contextlib import suppress
from dataclasses import dataclass

from parley_client import AsyncParley, EntityError
from tests.support.gateway import INTERNAL_SECRET

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
    return World(await registered(base, owner, "scout"), await registered(base, guest, "marlow"))


async def registered(base: str, user: str, agent: str) -> AsyncParley:
    """Register a user with an agent that is online and selected."""
    client = AsyncParley(base)
    await client.users.create(user, PASSWORD)
    await client.log_on(user, PASSWORD)
    await client.agents.create(agent, "Finds things", profile="I know the Moon.", access="public")
    await client.agents.log_on(agent)
    await client.agents.select(agent)
    return client


async def removed(base: str, *users: str) -> None:
    """Remove users with all they own, as far as they are there, suspended ones and those with another password too."""
    async with AsyncParley(base, internal_secret=INTERNAL_SECRET) as client:
        for user in users:
            with suppress(EntityError):
                await client.admin.resume(user)
                secret = (await client.admin.reset_secret(user)).secret
                await client.log_on(user, secret)
                await client.users.destroy(secret)
