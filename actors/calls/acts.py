"""Operators' acts: who may use the operator's API, and what of it the audit log shows (docs/contract.md, "Roles")."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import orjson

from actors.calls.call import Call
from actors.errors import NotPermitted, ServiceError
from actors.sessions.messages import Caller
from persistence import audit
from persistence.audit import AGAIN_MS, Act
from persistence.store import StoreUnavailable, Unit, Write

INTERNAL = "internal"
"""Stands for the credential of a request with the internal secret."""

REMEMBERED = 10_000

R = TypeVar("R")

log = logging.getLogger("parley.audit")


def require_role(call: Call, *, changes: bool) -> None:
    """Refuse a user without the role for an operator's route.

    Raises:
        NotPermitted: the role is missing, or the request came with an API key that is not for these routes.
    """
    user = call.user
    if user.role != "operator" and (changes or user.role != "auditor"):
        needed = "operators" if changes else "operators and auditors"
        raise NotPermitted(f"This is for {needed} only; an operator can give you the role.")
    if user.kind != "session" and (user.scopes is None or not user.scopes.admin):
        raise NotPermitted("An API key opens this only with scopes.admin; send a session's token, or such a key.")


def act_of(call: Call) -> Callable[[int], Write]:
    """Return the function that makes the audit row of an operator's change."""
    return lambda code: audit.insert_act(_entry(call, call.caller, code))


async def noted(call: Call, reading: Coroutine[Any, Any, R]) -> R:
    """Carry out an operator's read, and note it in the audit log."""
    try:
        read = await reading
    except ServiceError as error:
        await note_read(call, error.internal_code)
        raise
    await note_read(call)
    return read


async def note_read(call: Call, code: int = 0) -> None:
    """Leave an entry of an operator's read, one a minute for each route and credential, of all nodes together.

    A store that fails refuses no read, because operators look at a gateway that fails.
    """
    if _is_due(call, call.caller.credential_id if call.caller else INTERNAL):
        try:
            await call.core.store.commit(Unit((audit.insert_read(_entry(call, call.caller, code)),)))
        except StoreUnavailable as error:
            log.warning("an operator's read was not noted: %s", error)


async def note_refused(call: Call, code: int, credential: str | None) -> None:
    """Leave an entry of a change that a user may not make, one a minute for each route and user.

    By user, because a user may have any number of credentials, one after another. A store that fails changes no
    refusal.
    """
    core = call.core
    try:
        caller = call.caller or (credential and await core.credentials.owner_of(credential))
        if caller and _is_due(call, caller.user_id):
            await core.store.commit(Unit((audit.insert_refused(_entry(call, caller, code)),)))
    except StoreUnavailable as error:
        log.warning("a refused change was not noted: %s", error)


def _is_due(call: Call, by: str) -> bool:
    """Return whether a route's last entry of this user or credential is a minute old, and take this as its last."""
    last_of, key, now = call.core.acts_noted, (call.service, by), call.core.clock()
    last = last_of.get(key)
    if last is not None and abs(now - last) < AGAIN_MS:
        return False
    last_of[key] = now
    last_of.move_to_end(key)
    if len(last_of) > REMEMBERED:
        last_of.popitem(last=False)
    return True


def _entry(call: Call, caller: Caller | None, code: int) -> Act:
    operator, credential_id = (None, INTERNAL) if caller is None else (caller.user_name, caller.credential_id)
    target = orjson.dumps(call.target_names or {}).decode()
    now, request_id = call.core.clock(), call.request_id
    return Act(now, credential_id, call.address, call.service, target, code, request_id, operator)
