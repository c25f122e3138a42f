"""Operators' acts: look at users, set their roles, suspend them, and stop agents (docs/contract.md, "Roles")."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from actors.addresses import network_of
from actors.agents.messages import AGENT, AgentView, SetStopped, no_such_agent
from actors.calls.call import A, Call
from actors.errors import InvalidCredential, NotPermitted, Overloaded
from actors.names import no_such_user
from actors.plans import DAY_MS, daily_limit
from actors.quotas.messages import QUOTA, QuotaStatus, ReadQuota
from actors.sessions.messages import role_of
from actors.users.fair_queue import SenderLane
from actors.users.messages import USER, ResetSecret, SetPlan, SetRole, SetSuspended
from actors.users.records import Owned
from persistence import accounts, agents, graph
from persistence.accounts import AccountRow
from persistence.graph import Held, Relation
from persistence.users import UserRow, name_key

HOME_S = 2.0
"""How long the home of a user is waited for, in seconds."""

SECRET_BYTES = 18
"""The random bytes of a new password, which has 24 characters."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user as operators see it; `role` is the one that counts, `last_used_at` in ms since the epoch.

    `quota` is the stored bound where the user's home can't be reached: as after a crash, up to a block too high.
    """

    user: UserRow
    role: str
    owned: Owned
    quota: QuotaStatus
    last_used_at: int | None

    def of(self, user: UserRow, operators: frozenset[str]) -> "Account":
        """Return the account with a changed user."""
        quota = self.quota._replace(plan=user.plan, limit=daily_limit(user.plan, user.plan_limit))
        return Account(user, role_of(user.name, user.role, operators), self.owned, quota, self.last_used_at)


async def list_accounts(
    call: Call, prefix: str, role: str | None, suspended: bool | None, after_key: str, limit: int
) -> list[Account]:
    """List users by name, after the key of a name."""
    listed = accounts.listed(prefix, role, sorted(call.core.operators), suspended, after_key, limit)
    return await asyncio.gather(*(_account(call, row) for row in await call.core.store.fetch(listed)))


async def read_account(call: Call, name: str) -> Account:
    """Read the user of a name.

    Raises:
        NotFound: there is none.
    """
    found = await call.core.store.fetch(accounts.by_name(name))
    if not found:
        raise no_such_user()
    return await _account(call, found[0])


async def _account(call: Call, row: AccountRow) -> Account:
    user = row.user
    try:
        async with asyncio.timeout(HOME_S):
            quota = await call.ask(QUOTA, user.id, ReadQuota())
    except (TimeoutError, Overloaded, InvalidCredential):  # the last: the user was destroyed in this moment
        today = call.core.clock() // DAY_MS
        used = row.reserved if row.day == today else 0
        quota = QuotaStatus(user.plan, daily_limit(user.plan, user.plan_limit), used, (today + 1) * DAY_MS)
    owned = Owned(row.agents, row.domains, row.banks, row.api_keys)
    return Account(user, role_of(user.name, user.role, call.core.operators), owned, quota, row.last_used_at)


@dataclass(frozen=True, slots=True)
class Graph:
    """The entities around a user and their relations; `truncated` if there are more than are listed."""

    user: UserRow
    around: list[Held]
    relations: list[Relation]
    truncated: bool


async def read_graph(call: Call, name: str, limit: int) -> Graph:
    """Read what a user holds, and who else holds or is held by it: `limit` entities and four times as many relations.

    Raises:
        NotFound: there is no such user.
    """
    user = (await read_account(call, name)).user
    around = await call.core.store.fetch(graph.around(user.id, limit + 1))
    relations = await call.core.store.fetch(graph.relations(user.id, 4 * limit + 1))
    truncated = len(around) > limit or len(relations) > 4 * limit
    return Graph(user, around[:limit], relations[: 4 * limit], truncated)


async def set_role(call: Call, name: str, role: str, answer: Callable[[Account], A]) -> A:
    """Give a user a role.

    Raises:
        NotFound: there is no such user.
        NotPermitted: PARLEY_OPERATORS makes the user an operator, and this would take that away.
    """
    before = await read_account(call, name)
    if role != "operator" and name_key(before.user.name) in call.core.operators:
        raise NotPermitted(f"PARLEY_OPERATORS makes {before.user.name} an operator; take the name off that list first.")
    return await _change(call, before, SetRole(role), answer)


async def set_plan(call: Call, name: str, plan: str, limit: int | None, answer: Callable[[Account], A]) -> A:
    """Put a user on a plan; `limit` is for enterprise only, in requests a day.

    Raises:
        NotFound: there is no such user.
    """
    before = await read_account(call, name)
    return await _change(call, before, SetPlan(plan, limit), answer)


async def set_suspended(call: Call, name: str, suspended: bool, answer: Callable[[Account], A]) -> A:
    """Suspend a user, or let it in again.

    Raises:
        NotFound: there is no such user.
        NotPermitted: PARLEY_OPERATORS lists the user, and the caller is another one.
    """
    before = await read_account(call, name)
    if suspended:
        _require_unprotected(call, before.user)
    return await _change(call, before, SetSuspended(suspended), answer)


async def reset_secret(call: Call, name: str, answer: Callable[[Account, str], A]) -> A:
    """Give a user a new password, and end its sessions.

    Raises:
        NotFound: there is no such user.
        NotPermitted: PARLEY_OPERATORS lists the user, and the caller is another one; or the user is a sandbox key's.
        Overloaded: too many passwords are being hashed.
    """
    before = await read_account(call, name)
    _require_unprotected(call, before.user)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    hashed = await call.core.hasher.hash(secret, SenderLane(network_of(call.address)))
    if call.caller is not None:  # whose session or key may have ended in the hasher's queue
        await call.require_credential()
    return await _change(call, before, ResetSecret(hashed), lambda account: answer(account, secret))


async def _change(
    call: Call, before: Account, message: SetPlan | SetRole | SetSuspended | ResetSecret, answer: Callable[[Account], A]
) -> A:
    operators = call.core.operators
    return await call.carry_out(USER, before.user.id, message, lambda user: answer(before.of(user, operators)))


def _require_unprotected(call: Call, user: UserRow) -> None:
    is_own = call.caller is not None and call.caller.user_id == user.id
    if name_key(user.name) in call.core.operators and not is_own:
        raise NotPermitted(f"PARLEY_OPERATORS lists {user.name}, so no other operator may do this to it.")


async def set_stopped(call: Call, name: str, stopped: bool, answer: Callable[[AgentView], A]) -> A:
    """Stop an agent, whoever owns it, or let it answer again.

    Raises:
        NotFound: there is none of this name.
        NotPermitted: the API key is not for it.
    """
    found = await call.core.store.fetch(agents.id_by_name(name))
    if not found:
        raise no_such_agent()
    call.require_in_scope("agents", found[0])
    return await call.carry_out(AGENT, found[0], SetStopped(stopped), answer)
