"""Admission: from the credential to a caller whose request is counted, and its row in the audit log."""

from typing import Any

import orjson

from actors.calls.acts import act_of
from actors.calls.call import Call, Elsewhere
from actors.calls.request import NO_TARGET
from actors.idempotency.records import Audit
from actors.plans import PLANS
from actors.quotas.messages import (
    COUNT,
    KEY_QUOTA,
    QUOTA,
    QuotaStatus,
    ReturnRequest,
    key_quota_exceeded,
    quota_exceeded,
)
from actors.runtime.directory import NotOwner
from actors.runtime.future import AsyncFuture
from actors.sessions.messages import Caller
from actors.sessions.scopes import Scopes
from persistence import audit


async def admit(call: Call, credential: str | None) -> None:
    """Authenticate the caller and count the request.

    Raises:
        Elsewhere: the user's home left this node meanwhile; nothing was counted, and the call has no caller.
        NoCredential, InvalidCredential: there is no credential, or it is not valid.
        QuotaExceeded: the user, or the API key, has no request left today.
        NotPermitted: the API key is not for it.
    """
    core = call.core
    caller = await core.credentials.authenticate(credential)
    call.sent_by(caller)
    if caller.scopes is not None:
        await _admit_scoped(call, caller, caller.scopes)
        return
    counted = core.directory.ask_inline(QUOTA, caller.user_id, COUNT)
    quota = call.quota = await _count(call, QUOTA, caller.user_id) if counted is None else counted
    if not quota.admitted:
        raise quota_exceeded(quota, core.clock(), caller.user_name)


async def _admit_scoped(call: Call, caller: Caller, scopes: Scopes) -> None:
    """Count a request of an API key with scopes or a limit of its own, and check that the key is for it."""
    core = call.core
    of_key: QuotaStatus | None = None
    if scopes.day_limit is not None:
        of_key = await _count(call, KEY_QUOTA, caller.credential_id)
        if not of_key.admitted:
            call.quota = of_key._replace(stored=None)
            raise key_quota_exceeded(of_key, core.clock())
        if of_key.stored is not None:
            await of_key.stored
    quota = call.quota = await _count(call, QUOTA, caller.user_id)
    if not quota.admitted:
        if of_key is not None:
            _return(call, KEY_QUOTA, caller.credential_id, of_key)
        raise quota_exceeded(quota, core.clock(), caller.user_name)
    if of_key is not None and (quota.remaining is None or quota.remaining > (of_key.remaining or 0)):
        call.quota = of_key._replace(plan=quota.plan, stored=quota.stored)
    require_service_in_scope(call)


async def _count(call: Call, kind: str, key: str) -> QuotaStatus:
    try:
        return await call.core.directory.ask(kind, key, COUNT)
    except NotOwner:
        call.logged_off()
        raise Elsewhere(key, call) from None


def _return(call: Call, kind: str, key: str, counted: QuotaStatus) -> None:
    call.core.directory.tell(kind, key, ReturnRequest(counted.resets_at))


def uncount(call: Call) -> None:
    """Take the request off the count, if it was counted: it is refused with 429 (4001)."""
    quota = call.quota
    if quota is not None:
        _return(call, QUOTA, call.user.user_id, quota)
        call.quota = quota._replace(used=quota.used - 1)


def require_service_in_scope(call: Call) -> None:
    """Refuse a request that the sender's API key is not for.

    Raises:
        NotPermitted: its service is not in the key's scopes, or it changes something and the key only reads.
    """
    scopes = call.scopes
    if scopes is not None and call.counts_as is not None:
        scopes.require_service(call.counts_as, mutates=call.mutates)


async def authenticate(call: Call, credential: str | None) -> None:
    """Authenticate the caller of a request that isn't counted.

    Raises:
        NoCredential, InvalidCredential: there is no credential, or it is not valid.
        NotPermitted: the API key is not for it.
    """
    call.sent_by(await call.core.credentials.authenticate(credential))
    require_service_in_scope(call)


def deferred_until(call: Call) -> AsyncFuture[Any] | None:
    """Return the commit that the answer waits for, because the stored bound must not be below the count."""
    stored = call.quota and call.quota.stored
    return None if stored is None or (stored.done() and stored.error is None) else stored


async def count_stored(call: Call) -> None:
    """Wait until the count of the request is stored: before a change, and before an answer is sent.

    Raises:
        ServiceError: it could not be stored.
    """
    stored = deferred_until(call)
    if stored is not None:
        await stored


def audit_of(call: Call) -> Audit | None:
    """Return the function that makes the command's audit row: on a plan with an audit log, and of operators' acts."""
    if call.is_act:
        return act_of(call)
    caller, quota = call.caller, call.quota
    if caller is None or quota is None or not PLANS[quota.plan].audited:
        return None
    named = call.target_names
    if not named and call.target is not NO_TARGET:
        named = {kind: name for kind, name in vars(call.target).items() if name is not None}
    target = orjson.dumps(named).decode() if named else "{}"
    at, address, service, request_id = call.core.clock(), call.address, call.service, call.request_id
    user_id, credential_id = caller.user_id, caller.credential_id
    return lambda code: audit.insert(user_id, at, credential_id, address, service, target, code, request_id)
