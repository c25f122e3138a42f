"""Clients that follow a run hear no more of it once their session or API key has ended (docs/contract.md, "Runs")."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import PASSWORD, Client
from tests.support.operator import SECRET, on_plan
from tests.support.runs import FOLLOWING, chatting


async def session_of(user: Client) -> tuple[Client, str]:
    """Begin another session; return it and its id."""
    session = await user.log_on(user.name)
    listed = (await session.command("US_Sessions")).ok().profile
    return session, next(one["id"] for one in listed if one["current"])


async def logged_off(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    session, _ = await session_of(user)
    return session, lambda: session.command("US_LogOff")


async def revoked(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    session, id = await session_of(user)
    return session, lambda: user.command("US_Revoke", vx={"name": id})


async def suspended(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    path = f"/api/admin/users/{user.name}/suspend"
    return (await session_of(user))[0], lambda: user.request("POST", path, headers=SECRET)


async def of_a_new_password(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    return (await session_of(user))[0], lambda: user.command("US_Update", vx={"secret": f"{PASSWORD} 2"})


async def a_key_revoked(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    made = (await (await on_plan(user, "builder")).request("POST", "/api/api-keys", json={"name": "a key"})).body
    key = user.as_user(made["key"], user.name)
    return key, lambda: user.request("DELETE", f"/api/api-keys/{made['id']}")


async def a_key_of_a_suspended_user(user: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    key, _ = await a_key_revoked(user)
    path = f"/api/admin/users/{user.name}/suspend"
    return key, lambda: user.request("POST", path, headers=SECRET)


ENDS = [logged_off, revoked, suspended, of_a_new_password, a_key_revoked, a_key_of_a_suspended_user]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("following", FOLLOWING)
async def test_a_run_is_followed_until_the_credential_ends(
    scripted_user: Client, unique: str, gate: Gate, following: Any, end: Any
):
    agent = f"{unique}-agent"
    await scripted_user.agent(agent)
    reader, ends = await end(scripted_user)
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat, asyncio.timeout(60):
        await chat.next()
        method, path, body, headers = following(chat.run, agent)
        sent = {"json": body, "headers": reader.headers(headers)}
        async with reader.http.request(method, reader.base + path, **sent) as response:
            assert response.status == 200, await response.text()
            heard = b""
            while b"one" not in heard:
                heard += await response.content.readany()
            answer = await ends()
            assert answer.http in (200, 204), answer.body
            await response.content.read()  # to the end, which does not wait for the engine
        gate.open()


async def test_another_credential_goes_on_hearing_the_run(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    reader, _ = await session_of(scripted_user)
    _, other = await session_of(scripted_user)
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat, asyncio.timeout(60):
        await chat.next()
        path = f"{reader.base}/api/runs/{chat.run}/events"
        async with reader.http.get(path, headers=reader.headers()) as response:
            await response.content.readany()
            (await scripted_user.command("US_Revoke", vx={"name": other})).ok()
            gate.open()
            assert b"event: response" in await response.content.read()
