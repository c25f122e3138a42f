"""Idempotency-Key: a command runs once, and every repeat gets the first answer.

After Stripe's API and draft-ietf-httpapi-idempotency-key-header (docs/contract.md, "Idempotency"). Two things differ
from a cache of answers: the answer is stored in the unit of the change itself, and a command with a key runs in a task
of its own, so that a client that disconnects and returns finds it still running.

The store decides: it refuses a unit that would keep a second answer for a key, so a key stores one change even if two
gateways execute it at the same time. The memory of commands under way only saves work.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import orjson

from actors.errors import InvalidField, Overloaded, ServiceError, StateConflict
from actors.idempotency.records import KEPT_MS, Audit, IdempotencyKey, Quoting, Receipt, Render, Rendered, digest_of
from actors.ids import Clock
from actors.sealing import Sealer, WrongMasterKey
from persistence import idempotency_records
from persistence.idempotency_records import IdempotencyRow
from persistence.store import ROWS, Store, StoreUnavailable, Unit, Write

A = TypeVar("A")

_visible = re.compile(r"[!-~]{1,255}\Z")


class Done(NamedTuple):
    """The end of a command: its answer as sent, and whether it is the stored answer to a repeat."""

    rendered: Rendered
    internal_code: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """The functions that run a command and write its answers.

    `run` gets the receipt and, if an earlier execution stored a chat's message without a reply, that message's id.
    `prepare` looks up the names that answers show. `redacted` writes the answer in place of one that is redacted.
    """

    run: Callable[[Receipt, str | None], Awaitable[Quoting]]
    prepare: Callable[[], Awaitable[None]]
    render: Render
    failed: Callable[[ServiceError], Rendered]
    redacted: Callable[[], Rendered]


class _AnsweredMeanwhile(Exception):
    """Another execution of the same key has stored its answer."""


def fingerprint_of(service: str, body: dict[str, Any] | bytes) -> bytes:
    """Hash a request with a key; equal JSON has an equal fingerprint, however it is written."""
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
        raise InvalidField("Invalid value of Idempotency-Key: send 1 to 255 visible ASCII characters.")
    return key


class Idempotency:
    """Stores the answers of commands with a key, and joins repeats of those under way."""

    def __init__(self, store: Store, sealer: Sealer, clock: Clock) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._under_way: dict[tuple[str, bytes], asyncio.Task[Done]] = {}

    def key(self, credential_id: str, user_id: str, key: str, fingerprint: bytes) -> IdempotencyKey:
        """Return the key of a credential's request."""
        return IdempotencyKey(credential_id, user_id, digest_of(key), fingerprint, self._sealer, self._clock)

    async def once(self, key: IdempotencyKey, audit: Audit | None, execution: Execution) -> Done:
        """Run a command, or return its stored answer; wait for the same command under way.

        Raises:
            ServiceError: a refusal that is not kept; or StateConflict, the key was used for another request.
        """
        address = (key.credential_id, key.digest)
        while (earlier := self._under_way.get(address)) is not None:
            await asyncio.wait([earlier])
        task = asyncio.create_task(self._first(key, audit, execution))
        self._under_way[address] = task

        def ended(_: object) -> None:
            del self._under_way[address]
            if not task.cancelled():
                task.exception()  # those who wait, if any, have the error already

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def audited(self, audit: Audit, run: Callable[[Receipt], Awaitable[A]]) -> A:
        """Run an audited command that has no Idempotency-Key."""
        receipt = Receipt(audit)
        try:
            answer = await run(receipt)
        except Exception as raised:
            if not receipt.reads:
                await self._settle_failed(receipt.rest(code_of(raised), None))
            raise
        if not receipt.waived:
            await self._settle(receipt.rest(0, None))
        return answer

    async def _first(self, key: IdempotencyKey, audit: Audit | None, execution: Execution) -> Done:
        row = await self._row_of(key)
        if row is not None:
            if row.status is not None:
                return await self._replay(key, row, execution)
            key = replace(key, begun_with=row.message_id)
        await execution.prepare()
        receipt = Receipt(audit, key, execution.render)
        try:
            return await self._executed(receipt, key, execution)
        except _AnsweredMeanwhile:
            replayed = await self._replay_if_answered(key, execution)
            if replayed is None:
                raise Overloaded("This Idempotency-Key was answered meanwhile; send the request again.") from None
            return replayed

    async def _executed(self, receipt: Receipt, key: IdempotencyKey, execution: Execution) -> Done:
        """Run the command, and store what it has not stored with its change.

        Raises:
            _AnsweredMeanwhile: another execution stored its answer first.
            Exception: a refusal that is not kept.
        """
        try:
            answer = await execution.run(receipt, key.begun_with)
        except Exception as raised:
            if isinstance(raised, ServiceError) and is_kept(raised):
                rendered = execution.failed(raised)
                await self._settle(receipt.rest(raised.internal_code, rendered))
                return Done(rendered, raised.internal_code)
            # a unit refused because of the key looks like one that could not be stored
            with suppress(StoreUnavailable):
                replayed = await self._replay_if_answered(key, execution)
                if replayed is not None:
                    return replayed
            await self._settle_failed(receipt.rest(code_of(raised), None))
            raise
        if receipt.rendered is not None:
            rendered = receipt.rendered
        else:
            await execution.prepare()
            rendered = execution.render(answer)
        if not receipt.waived:
            await self._settle(receipt.rest(0, rendered, answer))
        return Done(rendered)

    async def _row_of(self, key: IdempotencyKey) -> IdempotencyRow | None:
        """Read the idempotency record of a key.

        Raises:
            StateConflict: the key was used for another request.
        """
        since = self._clock() - KEPT_MS
        for row in await self._store.fetch(idempotency_records.of_key(key.credential_id, key.digest, since)):
            if row.fingerprint not in (key.stored_fingerprint, key.fingerprint):  # 0.2.0 stored it as it is
                raise StateConflict(
                    "This Idempotency-Key was used for another request within 24 hours; take a new key for this one."
                )
            return row
        return None

    async def _replay_if_answered(self, key: IdempotencyKey, execution: Execution) -> Done | None:
        row = await self._row_of(key)
        return None if row is None or row.status is None else await self._replay(key, row, execution)

    async def _replay(self, key: IdempotencyKey, row: IdempotencyRow, execution: Execution) -> Done:
        """Return the stored answer of the first execution."""
        assert row.status is not None
        if row.answer is None:  # redacted
            await execution.prepare()
            return Done(execution.redacted(), replayed=True)
        try:
            body = key.open(row.answer)
        except WrongMasterKey:
            raise StateConflict("The answer kept for this Idempotency-Key can't be read; take a new key.") from None
        code = 0
        if row.status >= 400:
            code = orjson.loads(body)["status"]["internal_code"]
        return Done(Rendered(row.status, body), code, replayed=True)

    async def _settle(self, writes: list[Write]) -> None:
        """Store the rows of a command that were not stored with its change.

        Raises:
            _AnsweredMeanwhile: another execution of the key stored its answer first.
        """
        if writes:
            await self._store.commit(Unit(tuple(writes), constraint_errors={ROWS: _AnsweredMeanwhile}))

    async def _settle_failed(self, writes: list[Write]) -> None:
        """Store the rows of a command that failed, if the store can."""
        with suppress(StoreUnavailable):
            await self._settle(writes)


def is_kept(error: ServiceError) -> bool:
    """Return whether a refusal is stored for its key: one by the core that a repeat would not change.

    Failed storage (5002) changed nothing, and a failed engine (5001) is tried again with the same message.
    """
    return error.internal_code // 1000 in (3, 5) and error.internal_code not in (5001, 5002, Overloaded.internal_code)


def code_of(raised: Exception) -> int:
    """Return the internal code of a failed command."""
    return raised.internal_code if isinstance(raised, ServiceError) else ServiceError.internal_code
