"""Receipts: what is written with a command's change, so that no crash parts them (product 1 and 7).

A command on a plan that logs changes leaves a row in the audit log; one sent with an Idempotency-Key leaves its answer.
Both go into the unit of the change itself: `Call.carry_out` sends the receipt along with the one ask that changes
anything, and `DurableActor.commit` takes it. What changes nothing, or is refused, leaves them in a unit of their own.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from actors.ids import Clock
from actors.sealing import Sealer
from persistence import idempotency_records
from persistence.idempotency_records import IdempotencyRow
from persistence.store import Write

Audit = Callable[[int], Write]
"""Makes the audit log's row of a command from its internal code."""


class Quoting(Protocol):
    """An answer: `quoted` are the places of the memories whose texts stand in it."""

    @property
    def quoted(self) -> tuple[int, ...]:
        """Places of memories, as the store has them."""
        ...


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer as it is sent: its HTTP status and its body."""

    status: int
    body: bytes


Render = Callable[[Any], Rendered]
"""Writes an answer as it is sent."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key of a credential's, with the fingerprint of what was sent with it."""

    credential_id: str
    user_id: str
    digest: bytes
    fingerprint: bytes
    sealer: Sealer
    clock: Clock

    @property
    def _purpose(self) -> str:
        return f"answer {self.credential_id} {self.digest.hex()}"

    def keep(self, rendered: Rendered, quoted: tuple[int, ...] = ()) -> list[Write]:
        """Make the rows of an answer and of what it quotes."""
        answer = self.sealer.seal(rendered.body, self._purpose)
        return [
            self._keep(IdempotencyRow(self.fingerprint, rendered.status, answer, None)),
            *(
                note(memory, self.credential_id, self.digest)
                for memory in quoted
                for note in (idempotency_records.quote, idempotency_records.withdraw_if_censored)
            ),
        ]

    def begin(self, message_id: str) -> Write:
        """Make the row of a chat whose message is stored and awaits its reply."""
        return self._keep(IdempotencyRow(self.fingerprint, None, None, message_id))

    def open(self, answer: bytes) -> bytes:
        """Unseal a kept answer."""
        return self.sealer.open(answer, self._purpose)

    def _keep(self, row: IdempotencyRow) -> Write:
        return idempotency_records.keep(self.credential_id, self.digest, self.user_id, self.clock(), row)


def digest_of(key: str) -> bytes:
    """Digest an Idempotency-Key: it may tell what the client does."""
    return hashlib.sha256(key.encode()).digest()


class Receipt:
    """What one command leaves beside its change. `make` turns the actor's reply into the command's answer."""

    __slots__ = ("_audit", "_key", "_render", "answer", "make", "rendered", "repeatable", "written")

    def __init__(self, audit: Audit | None, key: IdempotencyKey | None = None, render: Render | None = None) -> None:
        self._audit = audit
        self._key = key
        self._render = render
        self.make: Callable[[Any], Any] | None = None
        self.repeatable = False
        """Whether a second run does no harm and answers alike, so that the answer may be kept after the change."""
        self.written = False
        self.answer: Any = None
        self.rendered: Rendered | None = None

    def writes(self, reply: Any) -> list[Write]:
        """Make what goes into the unit of the change, which the actor will answer with `reply`."""
        assert self.make is not None
        self.written = True
        self.answer = self.make(reply)
        writes = [] if self._audit is None else [self._audit(0)]
        if self._key is not None and self._render is not None and not self.repeatable:
            self.rendered = self._render(self.answer)
            writes += self._key.keep(self.rendered, self.answer.quoted)
        return writes

    def begin(self, message_id: str) -> list[Write]:
        """Make what goes into the unit of a chat's message whose reply is yet to come."""
        return [] if self._key is None else [self._key.begin(message_id)]

    def quotes_alike(self, noted_in: Literal["quotes", "zone_quotes"], stream: int | str, seq: int) -> list[Write]:
        """Make what notes that the kept answer quotes what a stored message is noted to quote."""
        if self._key is None:
            return []
        return [idempotency_records.quote_alike(noted_in, stream, seq, self._key.credential_id, self._key.digest)]

    def undo(self) -> None:
        """Take back what `writes` noted: the unit was not stored."""
        self.written = False
        self.answer = self.rendered = None

    def rest(self, internal_code: int, rendered: Rendered | None, quoted: tuple[int, ...] = ()) -> list[Write]:
        """Make what is not written yet once the command has ended; `rendered` where its answer is to be kept."""
        writes = [] if self._audit is None or self.written else [self._audit(internal_code)]
        if self._key is not None and rendered is not None and self.rendered is None:
            writes += self._key.keep(rendered, quoted)
        return writes
