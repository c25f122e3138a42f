"""Banks with memories in them: what tests of banks do again and again."""

from typing import Any

from tests.support.gateway import Answer, Client


async def made_bank(user: Client, unique: str) -> str:
    """Make a bank of the user, with the selected agent `<unique>-keeper` as its admin; return the bank's name."""
    await user.agent(f"{unique}-keeper")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank", "description": "Notes"})).ok()
    return f"{unique}-bank"


async def load(client: Client, bank: str, memory: str, text: str, **target: str) -> Answer:
    """Load a memory into a bank."""
    return await client.command("MB_Load", target={"bank": bank, **target}, vx={"name": memory}, content=text)


async def grant(client: Client, bank: str, agent: str, permission: str) -> Answer:
    """Give an agent a permission, or offer it."""
    return await client.command("MB_Permissions", target={"bank": bank, "agent": agent}, vx={"permission": permission})


async def accept(client: Client, bank: str, agent: str) -> Answer:
    """Accept a bank for an agent."""
    return await client.command("MB_Accept", target={"bank": bank, "agent": agent})


async def share(owner: Client, guest: Client, bank: str, agent: str, permission: str) -> None:
    """Offer a bank to another user's agent and accept it."""
    (await grant(owner, bank, agent, permission)).ok()
    (await accept(guest, bank, agent)).ok()


async def open_to_all(client: Client, bank: str) -> None:
    """Give a bank the access `public`."""
    (await client.command("MB_Permissions", target={"bank": bank}, vx={"access": "public"})).ok()


async def recalled(client: Client, bank: str, query: str, **page: int) -> list[str]:
    """Name the memories that a query recalls."""
    answer = await client.command("MB_Recall", target={"bank": bank}, content=query, page=page or None)
    return [memory["name"] for memory in answer.ok().content]


async def memories(client: Client, bank: str) -> dict[str, dict[str, Any]]:
    """Read a bank's memories, by name."""
    answer = (await client.command("MB_Read", target={"bank": bank})).ok()
    return {memory["name"]: memory for memory in answer.content}


async def attachments(client: Client, bank: str) -> dict[str, str]:
    """Tell the permission of each agent attached to a bank."""
    answer = (await client.command("MB_AgentList", target={"bank": bank})).ok()
    return {attachment["agent"]: attachment["permission"] for attachment in answer.content}
