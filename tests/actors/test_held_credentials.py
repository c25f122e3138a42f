"""The limits of a user's sessions and API keys hold for concurrent requests."""

import asyncio
import os

import pytest

from actors.calls.call import Call
from actors.commands.sessions import _ended_sessions
from actors.core import Core
from actors.errors import NotFound, StateConflict
from actors.ids import new_id
from actors.runtime.notices import Reload
from actors.sessions.messages import Authorize, EndSession
from actors.users.messages import CreateKey, OpenSession, RevokeKey, RevokeSessions, SessionOpened
from persistence import credentials
from persistence.credentials import SessionRow
from persistence.logon_places import MAX_PLACES
from persistence.store import Unit
from tests.support.clock import MovableClock
from tests.support.core import make_user
from tests.support.disk import rows

HASH = "hash"


class User:
    """A user with the messages to its credentials."""

    def __init__(self, core: Core, id: str) -> None:
        self.core = core
        self.id = id

    async def opens(self, place: bytes = bytes(32)) -> SessionOpened:
        """Log on, as the command does after the check of the password."""
        gone = await _ended_sessions(Call(self.core, "", ""), self.id)
        return await self.core.directory.ask("user", self.id, OpenSession(HASH, os.urandom(32), place, gone))

    async def makes_key(self) -> SessionRow:
        return await self.core.directory.ask("user", self.id, CreateKey("a key", "plk_0000", os.urandom(32), None))

    async def stored(self, kind: str) -> list[str]:
        sql = "SELECT id FROM credentials WHERE user_id = ? AND kind = ? ORDER BY id"
        return [id for (id,) in await rows(self.core.store, sql, self.id, kind)]

    async def reload(self) -> None:
        """Make the user's actor reload from the store."""
        self.core.directory.deliver([Reload("user", (self.id,))])


@pytest.fixture
async def user(core: Core) -> User:
    return User(core, (await make_user(core, "lovelace", secret_hash=HASH)).id)


# sessions


async def test_of_sessions_opened_at_once_the_newest_200_live(user: User):
    opened = await asyncio.gather(*(user.opens() for _ in range(450)))
    made = sorted(each.session.id for each in opened)
    assert await user.stored("session") == made[-200:]
    assert sorted(id for each in opened for id in each.ended) == made[:-200]


async def test_each_session_above_the_cap_ends_the_oldest_at_once(user: User):
    opened = [(await user.opens()).session for _ in range(200)]
    for session in opened[:2]:
        await user.core.directory.ask("session", session.id, Authorize(session.token_hash))
    await user.reload()
    extra = await user.opens()
    assert extra.ended == (opened[0].id,)
    with pytest.raises(Exception, match="has ended"):
        await user.core.directory.ask("session", opened[0].id, Authorize(opened[0].token_hash))
    for session in (opened[1], extra.session):
        await user.core.directory.ask("session", session.id, Authorize(session.token_hash))


async def test_sessions_that_ended_or_expired_don_t_count(user: User, clock: MovableClock):
    lasting = (await user.opens()).session
    expired = [(await user.opens()).session for _ in range(120)]
    ended = [(await user.opens()).session for _ in range(79)]
    clock.now += user.core.session_ttl_ms // 2
    await user.core.directory.ask("session", lasting.id, Authorize(lasting.token_hash))
    for session in ended:
        await user.core.directory.ask("session", session.id, EndSession())
    clock.now += user.core.session_ttl_ms * 3 // 4
    more = [await user.opens() for _ in range(199)]
    assert all(each.ended == () for each in more)
    await user.core.directory.ask("session", lasting.id, Authorize(lasting.token_hash))
    assert (await user.opens()).ended == (lasting.id,)
    assert set(await user.stored("session")).isdisjoint(session.id for session in ended)
    assert expired


async def test_sessions_that_were_revoked_don_t_count(user: User):
    opened = [(await user.opens()).session for _ in range(200)]
    await user.core.directory.ask("user", user.id, RevokeSessions(opened[7].id))
    more = [await user.opens() for _ in range(199)]
    assert all(each.ended == () for each in more)
    assert (await user.opens()).ended == (opened[7].id,)


async def test_a_user_with_more_sessions_than_may_be_comes_down_to_the_cap(user: User):
    now = user.core.clock()
    many = [SessionRow(new_id("ses"), user.id, "lovelace", os.urandom(32), now, now) for _ in range(260)]
    await user.core.store.commit(Unit(tuple(credentials.insert(session) for session in many)))
    opened = await user.opens()
    assert opened.ended == tuple(session.id for session in many[:61])
    assert len(await user.stored("session")) == 200


# API keys


async def test_of_keys_asked_for_at_once_100_are_made(user: User):
    asked = await asyncio.gather(*(user.makes_key() for _ in range(150)), return_exceptions=True)
    refused = [each for each in asked if isinstance(each, StateConflict)]
    made = [each for each in asked if isinstance(each, SessionRow)]
    assert (len(made), len(refused)) == (100, 50)
    assert await user.stored("key") == sorted(key.id for key in made)
    assert "100 API keys" in refused[0].note


async def test_a_revoked_key_makes_room_for_one_also_after_a_reload(user: User):
    keys = [await user.makes_key() for _ in range(100)]
    await user.reload()
    with pytest.raises(StateConflict):
        await user.makes_key()
    await user.core.directory.ask("user", user.id, RevokeKey(keys[50].id))
    with pytest.raises(NotFound):
        await user.core.directory.ask("user", user.id, RevokeKey(keys[50].id))
    await user.makes_key()
    with pytest.raises(StateConflict):
        await user.makes_key()


# addresses of log-ons


async def test_of_the_places_that_a_user_logs_on_from_the_latest_32_are_kept(user: User, clock: MovableClock):
    places = [bytes([number]) * 32 for number in range(MAX_PLACES + 8)]
    for place in places:
        await user.opens(place)
        clock.now += 1
    await user.opens(places[8])
    await user.opens(places[0])
    kept = {place for (place,) in await rows(user.core.store, "SELECT place FROM logon_places")}
    assert kept == {places[0], places[8], *places[10:]}
