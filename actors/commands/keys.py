"""API keys and sandbox keys."""

import secrets

from actors.addresses import place_of
from actors.calls.call import Call
from actors.errors import NotPermitted
from actors.ids import new_id
from actors.plans import DAY_MS, require_entitled
from actors.quotas.messages import QUOTA, QuotaStatus, ReadQuota
from actors.sessions.tokens import API_KEY, SANDBOX_KEY, new_token, token_hash
from actors.users.messages import USER, CreateKey, ReadUser
from persistence import credentials, users
from persistence.credentials import SessionRow
from persistence.store import Unit
from persistence.users import NO_PASSWORD, SANDBOX_PREFIX, UserRow

PREFIX_CHARS = 8
"""The number of characters of a key that lists show."""

SANDBOX_PLAN = "free"


def _require_session(call: Call) -> None:
    """Refuse a request that was authenticated with an API key.

    Raises:
        NotPermitted: the request came with a key.
    """
    if call.user.kind != "session":
        raise NotPermitted("API keys are made and listed with a session: log on with US_LogOn and send its token.")


async def create_key(call: Call, name: str, expires_in_days: int | None) -> tuple[CreateKey, str]:
    """Prepare an API key: the message to the user's actor, and the key itself, shown only this once.

    Raises:
        NotPermitted: the request came with a key.
    """
    _require_session(call)
    key = new_token(API_KEY)
    lives_ms = None if expires_in_days is None else expires_in_days * DAY_MS
    return CreateKey(name, key[:PREFIX_CHARS], token_hash(key), lives_ms), key


async def list_keys(call: Call) -> list[SessionRow]:
    """List the caller's API keys, the oldest first.

    Raises:
        NotPermitted: the request came with a key.
        NeedsPlan: the plan has no API keys.
    """
    _require_session(call)
    user = await call.ask(USER, call.user.user_id, ReadUser())
    require_entitled(user.plan)
    return await call.core.store.fetch(credentials.keys_of(user.id))


async def issue_sandbox_key(call: Call) -> tuple[SessionRow, str, QuotaStatus]:
    """Make a sandbox key with a throw-away user of its own; return its row, the key and its quota.

    Raises:
        NotPermitted: the operator has not enabled it.
        TooManyAttempts: this address got all its keys of this hour.
    """
    core = call.core
    if not core.options.sandbox_keys:
        raise NotPermitted("Sandbox keys are not issued here; register with US_Create, or ask the operator.")
    core.sandbox_keys.take(
        place_of(call.address), "Too many sandbox keys for this address in the last hour; try again later."
    )
    now, key = core.clock(), new_token(SANDBOX_KEY)
    user = UserRow(
        id=new_id("usr"),
        name=f"{SANDBOX_PREFIX}{secrets.token_hex(8)}",
        description="The user of a sandbox key",
        profile=None,
        secret_hash=NO_PASSWORD,
        plan=SANDBOX_PLAN,
        plan_limit=None,
        created_at=now,
    )
    row = SessionRow(
        new_id("key", near=user.id),
        user.id,
        user.name,
        token_hash(key),
        now,
        now,
        kind="sandbox",
        name="sandbox",
        prefix=key[:PREFIX_CHARS],
    )
    await core.store.commit(Unit((users.insert(user), credentials.insert(row))))
    return row, key, await call.ask(QUOTA, user.id, ReadQuota())
