"""A reader of a run: what it hears does not wait for the node of its session."""

import asyncio

import pytest

from actors.errors import InvalidCredential
from actors.runtime.actor import Actor, handles
from actors.runtime.directory import Kind
from actors.runtime.future import AsyncFuture
from actors.runtime.local_directory import LocalDirectory
from actors.sessions.credential_watch import CredentialWatch
from actors.sessions.messages import SESSION, Caller, UseSession, ended

CALLER = Caller("ses_1", "usr_1", "lovelace")


class SilentSession(Actor):
    """A session that answers when the test says so."""

    kind = SESSION

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.used = asyncio.Event()
        self.answer: AsyncFuture[None] = AsyncFuture()

    @handles(UseSession)
    def _use(self, _: UseSession) -> AsyncFuture[None]:
        self.used.set()
        return self.answer


async def test_what_is_heard_does_not_wait_for_the_use_of_the_session():
    session = SilentSession(CALLER.credential_id)
    directory = LocalDirectory({SESSION: Kind(lambda _: session)})

    async def said() -> str:
        await session.used.wait()
        return "said"

    async with asyncio.timeout(10):
        assert await CredentialWatch(CALLER, directory, 0.01).unless_ended(said()) == "said"
    session.answer.set(None)
    await directory.close(1)


async def test_a_session_that_has_expired_ends_what_is_heard():
    session = SilentSession(CALLER.credential_id)
    session.answer.fail(ended())
    directory = LocalDirectory({SESSION: Kind(lambda _: session)})
    async with asyncio.timeout(10):
        with pytest.raises(InvalidCredential):
            await CredentialWatch(CALLER, directory, 0.01).unless_ended(asyncio.sleep(60))
    await directory.close(1)
