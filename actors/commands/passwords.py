"""Passwords: attempts and changes, all under the same limits."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from actors.addresses import network_of
from actors.calls.admission import uncount
from actors.calls.call import Call
from actors.calls.request import require_secret
from actors.errors import NotFound, NotPermitted, TooManyAttempts, WrongPassword
from actors.plans import DAY_MS
from actors.users.fair_queue import SenderLane
from actors.users.messages import USER, ReadUser, wrong_password
from persistence import logon_places, users
from persistence.users import UserRow, has_sandbox_name, name_key

KNOWN_MS = 30 * DAY_MS
"""How long a place stays known after the user's last log-on from it."""


def place_digest(call: Call) -> bytes:
    """Return the digest that is stored of a call's origin.

    It is keyed with the master key, so that a copy of the database alone doesn't reveal where users log on from.
    """
    return call.core.sealer.digest(network_of(call.address), "place of log-ons")


@asynccontextmanager
async def _attempt(call: Call, name: str) -> AsyncGenerator[tuple[SenderLane, Callable[[], None]]]:
    """Make one attempt at a user's password: yield the hasher's lane and a function that counts a failure."""
    core, user, place = call.core, name_key(name), network_of(call.address)

    async def is_known() -> bool:
        # By name, so that it takes as long for a user that doesn't exist.
        known = logon_places.is_known(user, place_digest(call), core.clock() - KNOWN_MS)
        return bool(await core.store.fetch(known))

    try:
        async with core.attempts.one(user, place, is_known) as failed:
            yield SenderLane(place, user), failed
    except TooManyAttempts:
        uncount(call)
        raise


async def verified(call: Call, name: str, secret: str) -> UserRow:
    """Check a password within the limits; an unknown user takes as long as a wrong password.

    Raises:
        WrongPassword: there is no such user, or this is not its password.
        TooManyAttempts: too many failed already.
        Overloaded: too many wait already.
    """
    async with _attempt(call, name) as (lane, failed):
        user = await _user_named(call, name)
        if await call.core.hasher.verify(secret, user and user.secret_hash, lane) and user is not None:
            return user
        failed()
        raise wrong_password()


async def own_verified(call: Call, secret: str) -> UserRow:
    """Check the caller's own password, like a log-on.

    Raises:
        NotPermitted: the request came with a key.
        WrongPassword, TooManyAttempts, Overloaded: as for a log-on.
    """
    _require_session(call)
    async with _attempt(call, call.user.user_name) as (lane, failed):
        user = await call.ask(USER, call.user.user_id, ReadUser())
        if await call.core.hasher.verify(secret, user.secret_hash, lane):
            return user
        failed()
        raise WrongPassword("The password is wrong, so nothing was done; send your own as `vx.secret`.")


async def hashed(call: Call, secret: str) -> str:
    """Hash the caller's new password; it counts as an attempt that succeeds.

    Raises:
        NotPermitted: the request came with a key.
        InvalidField: the password is too short.
        TooManyAttempts, Overloaded: as for a log-on.
    """
    _require_session(call)
    require_secret(secret)
    async with _attempt(call, call.user.user_name) as (lane, _):
        return await call.core.hasher.hash(secret, lane)


def require_session(call: Call, note: str) -> None:
    """Refuse a request that was authenticated with an API key; `note` is for users who can log on.

    Raises:
        NotPermitted: the request came with a key.
    """
    user = call.user
    if has_sandbox_name(user.user_name):
        raise NotPermitted(
            "This needs a session, which the user of a sandbox key can't have; register with US_Create, then log on."
        )
    if user.kind != "session":
        raise NotPermitted(note)


def _require_session(call: Call) -> None:
    note = "An API key can't change the password or remove the user: log on with US_LogOn, then send this again."
    require_session(call, note)


async def _user_named(call: Call, name: str) -> UserRow | None:
    found = await call.core.store.fetch(users.id_by_name(name))
    if not found:
        return None
    try:
        return await call.ask(USER, found[0], ReadUser())
    except NotFound:
        return None
