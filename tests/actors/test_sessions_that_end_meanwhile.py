"""A session that ends while its request waits for a password's hash changes nothing any more."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from actors.calls.call import Answer, Call
from actors.commands import operators
from actors.commands.keys import create_key
from actors.errors import InvalidCredential
from actors.users import passwords
from actors.users.fair_queue import SenderLane
from actors.users.messages import USER, ResetSecret
from actors.users.passwords import PasswordHasher
from tests.support.core import CHEAP
from tests.support.gateway import PASSWORD, Client
from tests.support.in_process import CommandClient, CoreGateway, commanded
from tests.support.log_ons import OTHER, log_on, works
from tests.support.operator import on_plan

T = TypeVar("T")
THIRD = "a third horse battery"


class HashGate:
    """Holds the hasher's threads before their work, once it is shut."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._reached = threading.Semaphore(0)

    def shut(self) -> None:
        """Hold what is hashed or verified from now on."""
        self._open.clear()

    def pass_through(self) -> None:
        """Wait in a thread of the hasher until the gate is open."""
        if not self._open.is_set():
            self._reached.release()
        assert self._open.wait(30)

    async def holds(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Start a request, and return it once the hasher holds it."""
        task = asyncio.create_task(work)
        assert await asyncio.to_thread(self._reached.acquire, timeout=30)
        return task

    async def lets(self, *held: "asyncio.Task[T]") -> list[T]:
        """Open the gate, and return the answers of what it held."""
        self._open.set()
        return await asyncio.gather(*held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> HashGate:
    gate = HashGate()
    verify, make = passwords._verify, passwords._hash

    def verified(secret: str, phc: str) -> bool:
        gate.pass_through()
        return verify(secret, phc)

    def made(secret: str, cost: passwords.HashCost) -> str:
        gate.pass_through()
        return make(secret, cost)

    monkeypatch.setattr(passwords, "_verify", verified)
    monkeypatch.setattr(passwords, "_hash", made)
    return gate


@pytest.fixture
async def gateway(tmp_path: Path, gate: HashGate) -> AsyncIterator[CoreGateway]:
    """A core of the test's own, because a shut gate holds all its hashes."""
    async with commanded(tmp_path, hasher=PasswordHasher(threads=4, cost=CHEAP)) as gateway:
        yield gateway
        await gate.lets()


@pytest.fixture
async def owner(gateway: CoreGateway) -> Client:
    return await CommandClient(gateway).register("lovelace")


async def session_id(user: Client) -> str:
    sessions = (await user.command("US_Sessions")).ok().profile
    return next(session["id"] for session in sessions if session["current"])


async def revoke_all(owner: Client, stolen: Client) -> None:
    (await owner.command("US_Revoke", vx={"name": "all"})).ok()


async def revoke_one(owner: Client, stolen: Client) -> None:
    (await owner.command("US_Revoke", vx={"name": await session_id(stolen)})).ok()


async def log_off(owner: Client, stolen: Client) -> None:
    (await stolen.command("US_LogOff")).ok()


async def suspend_for_a_moment(owner: Client, stolen: Client) -> None:
    for act in ("suspend", "resume"):
        assert (await owner.request("POST", f"/api/admin/users/{owner.name}/{act}")).http == 200


ending = pytest.mark.parametrize("end", [revoke_all, revoke_one, log_off, suspend_for_a_moment])
End = Callable[[Client, Client], Awaitable[None]]


@ending
async def test_a_new_password_of_a_session_that_ended_meanwhile_is_refused(owner: Client, gate: HashGate, end: End):
    stolen = await owner.log_on(owner.name)
    gate.shut()
    held = await gate.holds(stolen.command("US_Update", vx={"secret": OTHER, "description": "taken"}))
    await end(owner, stolen)
    (answer,) = await gate.lets(held)
    answer.refused(2001, 401)
    (await log_on(owner, owner.name, OTHER)).refused(2002, 401)
    again = await owner.log_on(owner.name)
    assert (await again.command("US_Read")).ok().profile[0]["description"] is None


@ending
async def test_the_end_of_a_user_by_a_session_that_ended_meanwhile_is_refused(owner: Client, gate: HashGate, end: End):
    stolen = await owner.log_on(owner.name)
    gate.shut()
    held = await gate.holds(stolen.command("US_Destroy", vx={"secret": PASSWORD}))
    await end(owner, stolen)
    (answer,) = await gate.lets(held)
    answer.refused(2001, 401)
    assert await works(await owner.log_on(owner.name))


async def test_of_passwords_that_three_sessions_set_at_once_one_is_stored(owner: Client, gate: HashGate):
    sessions = [owner, *[await owner.log_on(owner.name) for _ in range(2)]]
    secrets = [f"horse battery {number}" for number in range(3)]
    gate.shut()
    held = [
        await gate.holds(session.command("US_Update", vx={"secret": secret}))
        for session, secret in zip(sessions, secrets, strict=True)
    ]
    answers = await gate.lets(*held)
    assert sorted(answer.code for answer in answers) == [0, 2001, 2001]
    stored = next(secret for secret, answer in zip(secrets, answers, strict=True) if answer.code == 0)
    (await log_on(owner, owner.name, stored)).ok()


async def test_of_two_sessions_that_end_all_others_at_once_one_stays(owner: Client):
    other = await owner.log_on(owner.name)
    answers = await asyncio.gather(*(each.command("US_Revoke", vx={"name": "all"}) for each in (owner, other)))
    assert sorted(answer.code for answer in answers) == [0, 2001]
    assert sorted([await works(owner), await works(other)]) == [False, True]


async def test_a_password_that_the_operator_sets_is_not_replaced_by_one_that_waited(
    gateway: CoreGateway, owner: Client, gate: HashGate
):
    (user,) = (await owner.command("US_Read")).ok().profile
    reset = ResetSecret(await gateway.core.hasher.hash(THIRD, SenderLane("192.0.2.7")))
    gate.shut()
    held = await gate.holds(owner.command("US_Update", vx={"secret": OTHER}))
    await gateway.core.directory.ask(USER, user["id"], reset)
    (answer,) = await gate.lets(held)
    answer.refused(2001, 401)
    (await log_on(owner, owner.name, THIRD)).ok()


async def test_of_ends_of_a_user_at_once_one_is_served_and_the_others_sessions_have_ended(
    owner: Client, gate: HashGate
):
    other = await owner.log_on(owner.name)
    gate.shut()
    held = [await gate.holds(each.command("US_Destroy", vx={"secret": PASSWORD})) for each in (owner, owner, other)]
    assert sorted(answer.code for answer in await gate.lets(*held)) == [0, 2001, 2001]


async def test_a_password_is_not_set_for_an_operator_whose_session_ended_meanwhile(
    gateway: CoreGateway, owner: Client, gate: HashGate
):
    operator = await CommandClient(gateway).register("grace")
    caller = await gateway.core.credentials.authenticate(operator.token)
    call = Call(gateway.core, "", "192.0.2.7", caller=caller)
    gate.shut()
    resetting = operators.reset_secret(call, owner.name, lambda _, secret: Answer())
    held = await gate.holds(resetting)
    (await operator.command("US_LogOff")).ok()
    with pytest.raises(InvalidCredential):
        await gate.lets(held)
    assert await works(owner)


async def test_a_log_on_with_a_password_that_is_replaced_meanwhile_gets_no_session(
    gateway: CoreGateway, owner: Client, gate: HashGate
):
    gate.shut()
    held = await gate.holds(log_on(owner, owner.name))
    (user,) = (await owner.command("US_Read")).ok().profile
    await gateway.core.directory.ask(USER, user["id"], ResetSecret("the hash of another"))
    (answer,) = await gate.lets(held)
    answer.refused(2002, 401)


async def test_a_log_on_of_a_user_who_is_suspended_meanwhile_gets_no_session(owner: Client, gate: HashGate):
    gate.shut()
    held = await gate.holds(log_on(owner, owner.name))
    assert (await owner.request("POST", f"/api/admin/users/{owner.name}/suspend")).http == 200
    (answer,) = await gate.lets(held)
    answer.refused(2005, 403)


async def test_a_session_that_has_ended_makes_no_key(gateway: CoreGateway, owner: Client):
    await on_plan(owner, "scale")
    ended = await owner.log_on(owner.name)
    call = Call(gateway.core, "", "192.0.2.7", caller=await gateway.core.credentials.authenticate(ended.token))
    (await ended.command("US_LogOff")).ok()
    with pytest.raises(InvalidCredential):
        await create_key(call, "a key", None, None, None, lambda *_: Answer())
