"""API keys and sandbox keys."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from actors.addresses import network_of
from actors.calls.bank_targets import bank_named
from actors.calls.call import A, Call
from actors.calls.known_members import MAX_COMPARED, nearest_name
from actors.calls.targets import agent_named, domain_named
from actors.commands.passwords import require_session
from actors.commands.table import COMMANDS
from actors.errors import InvalidField, NotPermitted
from actors.ids import new_id
from actors.plans import DAY_MS, require_entitled
from actors.quotas.messages import QUOTA, QuotaStatus, ReadQuota
from actors.sessions.scopes import stored_scopes
from actors.sessions.tokens import API_KEY, SANDBOX_KEY, new_token, token_hash
from actors.users.messages import USER, CreateKey, ReadUser, RevokeKey
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
    require_session(call, "API keys are made and listed with a session: log on with US_LogOn and send its token.")


@dataclass(frozen=True, slots=True)
class AskedScopes:
    """The scopes of a new key: services, and entities by name; None for no restriction."""

    services: list[str] | None = None
    agents: list[str] | None = None
    banks: list[str] | None = None
    domains: list[str] | None = None
    read_only: bool = False
    admin: bool = False


async def create_key(
    call: Call,
    name: str,
    expires_in_days: int | None,
    scopes: AskedScopes | None,
    day_limit: int | None,
    answer: Callable[[SessionRow, str], A],
) -> A:
    """Create an API key; `answer` makes the reply of its row and the key itself, shown only this once.

    Raises:
        NotPermitted: the request came with a key.
        NotFound: there is no such agent, bank or domain that the caller may see.
        InvalidField: there is no such service.
    """
    _require_session(call)
    stored = None if scopes is None else await _resolved(call, scopes)
    key = new_token(API_KEY)
    lives_ms = None if expires_in_days is None else expires_in_days * DAY_MS
    user = call.user
    message = CreateKey(name, key[:PREFIX_CHARS], token_hash(key), lives_ms, stored, day_limit, user.credential_id)
    return await call.carry_out(USER, user.user_id, message, lambda row: answer(row, key))


async def revoke_key(call: Call, key_id: str, answer: Callable[[None], A]) -> A:
    """Revoke an API key at once.

    Raises:
        NotFound: the caller has none of this id.
    """
    return await call.carry_out(USER, call.user.user_id, RevokeKey(key_id), answer)


async def _resolved(call: Call, asked: AskedScopes) -> str:
    """Write scopes as they are stored, with ids in place of names."""
    for service in asked.services or ():
        _require_service(service)

    async def agent(name: str) -> str:
        return (await agent_named(call, name)).row.id

    async def bank(name: str) -> str:
        return (await bank_named(call, name))[0].row.id

    async def domain(name: str) -> str:
        return (await domain_named(call, name)).row.id

    entities = {
        "agents": await _ids(asked.agents, agent),
        "banks": await _ids(asked.banks, bank),
        "domains": await _ids(asked.domains, domain),
    }
    return stored_scopes(asked.services, entities, read_only=asked.read_only, admin=asked.admin)


async def _ids(names: list[str] | None, find: Callable[[str], Awaitable[str]]) -> dict[str, str] | None:
    return None if names is None else {await find(name): name for name in names}


def _require_service(service: str) -> None:
    """Check a service of scopes: a name, or a group as `AP_*`.

    Raises:
        InvalidField: there is none.
    """
    known = {*COMMANDS, *(f"{name.partition('_')[0]}_*" for name in COMMANDS)}
    if service not in known:
        nearest = nearest_name(service, known)
        hint = f" (the nearest is {nearest})" if nearest else ""
        raise InvalidField(f"Invalid value of scopes.services: there is no service {service[:MAX_COMPARED]!r}{hint}.")


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
    with core.sandbox_keys.taken(
        network_of(call.address), "Too many sandbox keys for this address in the last hour; try again later."
    ):
        await core.store.commit(Unit((users.insert(user), credentials.insert(row))))
    return row, key, await call.ask(QUOTA, user.id, ReadQuota())
