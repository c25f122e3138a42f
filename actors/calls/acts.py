"""Operators' acts: who may use the operator's API, and what of it the audit log shows (docs/contract.md, "Roles")."""

import logging
from collections.abc import Callable

import orjson

from actors.calls.call import Call
from actors.errors import NotPermitted
from persistence import audit
from persistence.audit import READ_AGAIN_MS, Act
from persistence.store import StoreUnavailable, Unit, Write

INTERNAL = "internal"
"""Stands for the credential of a request with the internal secret."""

REMEMBERED = 10_000

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
    return lambda code: audit.insert_act(_entry(call, code))


async def note_read(call: Call, code: int = 0) -> None:
    """Leave an entry of an operator's read, one a minute for each route and credential, of all nodes together.

    A store that fails refuses no read, because operators look at a gateway that fails.
    """
    noted, now = call.core.reads_noted, call.core.clock()
    credential_id = call.caller.credential_id if call.caller else INTERNAL
    last = noted.get((call.service, credential_id))
    if last is not None and abs(now - last) < READ_AGAIN_MS:
        return
    noted[call.service, credential_id] = now
    noted.move_to_end((call.service, credential_id))
    if len(noted) > REMEMBERED:
        noted.popitem(last=False)
    try:
        await call.core.store.commit(Unit((audit.insert_read(_entry(call, code)),)))
    except StoreUnavailable as error:
        log.warning("an operator's read was not noted: %s", error)


def _entry(call: Call, code: int) -> Act:
    caller = call.caller
    operator, credential_id = (None, INTERNAL) if caller is None else (caller.user_name, caller.credential_id)
    target = orjson.dumps(call.target_names or {}).decode()
    now, request_id = call.core.clock(), call.request_id
    return Act(now, credential_id, call.address, call.service, target, code, request_id, operator)
