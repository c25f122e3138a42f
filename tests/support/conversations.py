"""Conversations of the tests' users: commands of the group, and what they answer."""

from typing import Any

from tests.support.gateway import Client


async def begun(user: Client, title: str | None = None, *said: str, **target: str) -> dict[str, Any]:
    """Begin a conversation with the selected agent or another, say something in it, and return its record."""
    vx = {} if title is None else {"vx": {"name": title}}
    record = (await user.command("CV_Create", target=target, **vx)).ok().profile[0]
    for text in said:
        await say(user, text, record["id"])
    return record


async def say(user: Client, text: str, conversation: str = "default") -> list[dict[str, Any]]:
    """Say something in a conversation; return the message and the reply."""
    return (await user.command("AP_Chat", target={"conversation": conversation}, content=text)).ok().content


async def record_of(user: Client, conversation: str) -> dict[str, Any]:
    """Read the record of a conversation."""
    return (await user.command("CV_Read", target={"conversation": conversation})).ok().profile[0]


async def listed(user: Client, **body: Any) -> list[str]:
    """List the ids of a user's conversations, as CV_List orders them."""
    return [record["id"] for record in (await user.command("CV_List", **body)).ok().profile]


async def texts_of(user: Client, conversation: str) -> list[str]:
    """Read what was said in a conversation."""
    body = {"target": {"conversation": conversation}, "page": {"limit": 200}}
    return [message["content"] for message in (await user.command("AP_History", **body)).ok().content]


async def found(user: Client, content: str, **body: Any) -> list[str]:
    """Search for messages; return their texts, best first."""
    return [message["content"] for message in (await user.command("CV_Search", content=content, **body)).ok().content]
