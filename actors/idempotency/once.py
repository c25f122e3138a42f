"""Idempotency-Key: a command is carried out once, and every repeat gets the first answer (product 1).

After Stripe's API and draft-ietf-httpapi-idempotency-key-header. Two things differ from a cache of answers: the answer
is stored in the unit of the change itself, and a command with a key runs in a task of its own, so that a client which
went away and comes again finds it still running.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from actors.errors import InvalidField, Overloaded, ServiceError, StateConflict
from actors.idempotency.records import Audit, IdempotencyKey, Quoting, Receipt, Render, Rendered, digest_of
from actors.ids import Clock
from actors.sealing import Sealer, WrongMasterKey
from persistence import idempotency_records
from persistence.store import Store, StoreUnavailable, Unit, Write

if TYPE_CHECKING:
    from actors.calls.call import Call

KEPT_MS = 24 * 3_600_000
"""How long an answer is kept."""

_visible = re.compile(r"[!-~]{1,255}\Z")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended: its answer as it is sent, and whether it is a repeat's."""

    rendered: Rendered
    internal_code: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """How to carry out a command and write its answers: `redacted` stands for one that quoted what is censored."""

    run: Callable[[], Awaitable[Quoting]]
    render: Render
    failed: Callable[[ServiceError], Rendered]
    redacted: Callable[[], Rendered]


def fingerprint_of(service: str, body: dict[str, Any] | bytes) -> bytes:
    """Digest what is sent with a key; JSON that says the same has the same fingerprint."""
    if not isinstance(body, bytes):
        said = {member: value for member, value in body.items() if member != "service"}
        body = orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(service.encode() + b"\0" + body).digest()


def require_key(key: str) -> str:
    """Check an Idempotency-Key and return it.

    Raises:
        InvalidField: it is empty, too long, or has other than visible ASCII characters.
    """
    if not _visible.match(key):
        raise InvalidField("Invalid value of Idempotency-Key: 1 to 255 visible ASCII characters.")
    return key


class Idempotency:
    """Keeps answers, and knows which commands with a key are under way."""

    def __init__(self, store: Store, sealer: Sealer, clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._under_way: dict[tuple[str, bytes], asyncio.Task[Done]] = {}

    async def once(self, call: "Call", key: str, fingerprint: bytes, audit: Audit | None, execution: Execution) -> Done:
        """Carry a command out, unless it has been: then answer as before. One under way is waited for.

        Raises:
            ServiceError: a refusal that is not kept; or StateConflict, the key was used for something else.
        """
        user = call.user
        kept = IdempotencyKey(user.credential_id, user.user_id, digest_of(key), fingerprint, self._sealer, self._clock)
        address = (kept.credential_id, kept.digest)
        while (earlier := self._under_way.get(address)) is not None:
            await asyncio.wait([earlier])
        task = asyncio.create_task(self._first(call, kept, audit, execution))
        self._under_way[address] = task

        def ended(_: object) -> None:
            del self._under_way[address]
            if not task.cancelled():
                task.exception()  # who waited for it has it; nobody may

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def _first(self, call: "Call", key: IdempotencyKey, audit: Audit | None, execution: Execution) -> Done:
        since = self._clock() - KEPT_MS
        for row in await self._store.fetch(idempotency_records.of_key(key.credential_id, key.digest, since)):
            if row.fingerprint != key.fingerprint:
                raise StateConflict(
                    "This Idempotency-Key was used for another request within 24 hours; take a new key for this one."
                )
            if row.status is not None:
                if row.answer is None:  # withdrawn
                    await call.prepare_context()
                    return Done(execution.redacted(), replayed=True)
                return self._replay(key, row.status, row.answer)
            call.resumes = row.message_id
        await call.prepare_context()
        receipt = Receipt(audit, key, execution.render)
        call.receipt = receipt
        try:
            answer = await execution.run()
        except Exception as raised:
            return await self._refused(receipt, raised, execution)
        if receipt.rendered is not None:
            rendered = receipt.rendered
        else:
            await call.prepare_context()
            rendered = execution.render(answer)
        if call.receipt is receipt:  # else nobody is left to ask again
            await self.settle(receipt.rest(0, rendered, answer.quoted))
        return Done(rendered)

    async def _refused(self, receipt: Receipt, raised: Exception, execution: Execution) -> Done:
        if not isinstance(raised, ServiceError) or not is_kept(raised):
            await self.settle(receipt.rest(code_of(raised), None), lenient=True)
            raise raised
        rendered = execution.failed(raised)
        await self.settle(receipt.rest(raised.internal_code, rendered))
        return Done(rendered, raised.internal_code)

    def _replay(self, key: IdempotencyKey, status: int, answer: bytes) -> Done:
        try:
            body = key.open(answer)
        except WrongMasterKey:
            raise StateConflict("The answer kept for this Idempotency-Key can't be read; take a new key.") from None
        code = 0
        if status >= 400:
            code = orjson.loads(body)["status"]["internal_code"]
        return Done(Rendered(status, body), code, replayed=True)

    async def settle(self, writes: list[Write], *, lenient: bool = False) -> None:
        """Store what a command leaves and has not stored with its change; `lenient` where it failed anyway."""
        if not writes:
            return
        try:
            await self._store.commit(Unit(tuple(writes)))
        except StoreUnavailable:
            if not lenient:
                raise


async def audited(call: "Call", audit: Audit, run: Callable[[], Awaitable[Any]]) -> Any:
    """Carry out a command that the audit log tells of, without a key."""
    receipt = Receipt(audit)
    call.receipt = receipt
    settle = call.core.idempotency.settle
    try:
        answer = await run()
    except Exception as raised:
        await settle(receipt.rest(code_of(raised), None), lenient=True)
        raise
    if call.receipt is receipt:  # else nobody is left to read the log
        await settle(receipt.rest(0, None))
    return answer


def is_kept(error: ServiceError) -> bool:
    """Tell whether a refusal is an answer to keep: the core's, but for what a repeat may well change (product 1).

    Storage that failed (5002) did nothing, and a failed engine (5001) is to be tried again with the same message.
    """
    return error.internal_code // 1000 in (3, 5) and error.internal_code not in (5001, 5002, Overloaded.internal_code)


def code_of(raised: Exception) -> int:
    """Tell the internal code of what a command failed with."""
    return raised.internal_code if isinstance(raised, ServiceError) else ServiceError.internal_code
