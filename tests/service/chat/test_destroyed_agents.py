"""What an agent said stays after its end, marked (docs/contract.md, "What destroyed agents said")."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import PASSWORD, Client
from tests.support.mcp_client import bearer, connected
from tests.support.memories import load, share
from tests.support.runs import all_events, cancelled, run_of
from tests.support.workspaces import Workspace, following, move, opened, opened_with_a_guest

Marks = list[tuple[str, str | None]]


@pytest.fixture
async def other(sanic_client: Client, unique: str) -> Client:
    """Another user."""
    return await sanic_client.register(f"{unique}-other")


@pytest.fixture
async def workspace(user: Client, other: Client, unique: str) -> Workspace:
    """A domain of the user with an agent of the other user in it."""
    return await opened(user, other, f"{unique}-domain")


def marks(messages: list[dict[str, Any]]) -> Marks:
    """Return the role of each message, and the destroyed agent that it is from."""
    return [(message["role"], message.get("destroyed_agent")) for message in messages]


async def destroy(owner: Client, agent: str) -> None:
    (await owner.command("AP_Destroy", target={"agent": agent})).ok()


# private conversations


async def test_a_reply_is_marked_wherever_it_is_read(user: Client, other: Client, unique: str):
    agent = f"{unique}-agent"
    await other.agent(agent, access="public")
    answer = (await user.command("AP_Chat", target={"agent": agent}, content="The lighthouse is red.")).ok()
    assert marks(answer.content) == [("user", None), ("agent", None)]
    run, target = answer.headers["X-Run-Id"], {"conversation": answer.content[0]["conversation"]}
    await destroy(other, agent)
    read = (await user.command("AP_History", target=target)).ok().content
    assert marks(read) == [("user", None), ("agent", agent)]
    assert [message["name"] for message in read] == [user.name, agent]
    found = (await user.command("CV_Search", content="lighthouse")).ok().content
    assert [message for message in read if message in found] == found[::-1]
    record = await run_of(user, run)
    assert [record["message"], record["reply"]] == read
    assert (await all_events(user, run))[-1].data["content"] == read


async def test_a_reply_may_be_cancelled_and_from_a_destroyed_agent(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(unique)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"say:one wait:{gate} say:two"))
    await gate.reached()
    (message,) = (await scripted_user.command("AP_History")).ok().content
    await cancelled(scripted_user, message["id"].replace("msg_", "run_"))
    assert (await chat).ok().content[1]["mark"] == "cancelled"
    await destroy(scripted_user, unique)
    target = {"conversation": message["conversation"]}
    _, reply = (await scripted_user.command("AP_History", target=target)).ok().content
    assert (reply["mark"], reply["destroyed_agent"]) == ("cancelled", unique)


async def test_a_later_agent_of_that_name_said_nothing_of_it(user: Client, unique: str):
    conversations: list[str] = []
    for text in ("One", "Two"):
        await user.agent(unique)
        conversations.append((await user.command("AP_Chat", content=text)).ok().content[0]["conversation"])
        if text == "One":
            await destroy(user, unique)
    for conversation, destroyed in zip(conversations, (unique, None), strict=True):
        read = (await user.command("AP_History", target={"conversation": conversation})).ok().content
        assert marks(read) == [("user", None), ("agent", destroyed)]
    assert marks((await user.command("AP_History")).ok().content) == [("user", None), ("agent", None)]


# zones


async def test_what_it_said_in_a_zone_is_marked_and_what_a_later_agent_of_its_name_says_is_not(workspace: Workspace):
    owner, domain, guest = workspace.owner, workspace.domain, workspace.guest_agent
    target = {"domain": domain, "agent": guest}
    said = (await owner.command("AP_Chat", target=target, content=f"Hello @{workspace.owner_agent}")).ok()
    assert marks(said.content) == [("user", None), ("agent", None)]
    await destroy(workspace.guest, guest)
    await workspace.guest.agent(guest, access="public")
    (await owner.command("DM_Invite", target=target)).ok()
    (await move(workspace.guest, "DM_Join", domain, guest)).ok()
    (await owner.command("AP_Chat", target=target, content="Hello again")).ok()
    read = (await workspace.guest.command("ZN_Read", target={"domain": domain})).ok().content
    assert [message["name"] for message in read] == [owner.name, guest, workspace.owner_agent, owner.name, guest]
    assert [message.get("destroyed_agent") for message in read] == [None, guest, None, None, None]
    assert (await owner.command("ZN_Read", target={"domain": domain}, page={"after": 0})).ok().content == read
    async with following(owner, domain, "0") as follower:
        events = [await follower.next() for _ in range(10)]
    assert [event["message"] for event in events if event["type"] == "message"] == read
    async with connected(owner.base, bearer(owner)) as client:
        (found,) = (await client.read_resource(f"parley://zone/{domain}/lobby")).contents
    assert orjson.loads(found.text)["messages"] == read  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_streamed_reply_in_a_zone_is_marked_when_its_agent_s_owner_is_destroyed(
    scripted_user: Client, unique: str
):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain, "agent": workspace.guest_agent}
    (await scripted_user.command("AP_Chat", target=target, content="say:done")).ok()
    (await workspace.guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    read = (await scripted_user.command("ZN_Read", target={"domain": workspace.domain})).ok().content
    assert marks(read) == [("user", None), ("agent", workspace.guest_agent)]


# memories


async def test_its_memories_name_it_apart_from_the_authors_that_are_there(user: Client, other: Client, unique: str):
    bank, keeper, guest = f"{unique}-bank", f"{unique}-keeper", f"{unique}-guest"
    await user.agent(keeper)
    (await user.command("MB_Create", vx={"name": bank, "description": "Notes"})).ok()
    await other.agent(f"{unique}-first-name", access="public")
    await share(user, other, bank, f"{unique}-first-name", "write")
    (await load(other, bank, "swans", "Swans winter on the pond.", agent=f"{unique}-first-name")).ok()
    (await load(user, bank, "geese", "Geese winter in the south.", agent=keeper)).ok()
    (await other.command("AP_Modify", target={"agent": f"{unique}-first-name"}, vx={"name": guest})).ok()

    async def authors(service: str, **body: Any) -> dict[str, tuple[str | None, str | None]]:
        content = (await user.command(service, target={"bank": bank}, **body)).ok().content
        return {memory["name"]: (memory["author"], memory.get("destroyed_agent")) for memory in content}

    assert await authors("MB_Read") == {"swans": (guest, None), "geese": (keeper, None)}
    assert await authors("MB_Recall", content="winter") == await authors("MB_Read")
    await destroy(other, guest)
    await other.agent(guest, access="public")
    marked = {"swans": (None, guest), "geese": (keeper, None)}
    assert await authors("MB_Read") == await authors("MB_Recall", content="winter") == marked
    (await load(user, bank, "swans", "Swans winter on the lake.", agent=keeper)).ok()
    assert (await authors("MB_Read"))["swans"] == (keeper, None)
