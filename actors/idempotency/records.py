"""Receipts: the audit row and the idempotency record of a command, committed with its change.

A command on a plan with an audit log leaves a row there; one with an Idempotency-Key leaves its answer. Both go into
the unit of the change, so that no crash separates them: `Call.carry_out` sends the receipt beside the only ask that
changes anything, and `DurableActor.commit` takes it. A command that changes nothing, or is refused, leaves them in a
unit of their own.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import Struct

from actors.ids import Clock
from actors.sealing import Sealer
from persistence import idempotency_records
from persistence.idempotency_records import IdempotencyRow
from persistence.quotes import Talk
from persistence.store import Write

KEPT_MS = 24 * 3_600_000
"""How long an answer is kept."""

Audit = Callable[[int], Write]
"""Returns the audit row of a command with this internal code."""


class Quoting(Struct, frozen=True, kw_only=True):
    """An answer of a command: the places of the texts in it, so that erasing these erases the kept answer, too."""

    quoted: tuple[int, ...] = ()
    """The positions, in the store, of the memories whose texts it contains."""
    conversation_number: int | None = None
    """The number of the private conversation of which it contains messages or the title."""
    shows: tuple[str, ...] = ()
    """The ids of the agents, domains, zones, banks and endpoints of which it contains texts."""


class Rendered(NamedTuple):
    """An answer as sent: HTTP status and body."""

    status: int
    body: bytes


Render = Callable[[Any], Rendered]
"""Renders an answer as sent."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key of a credential, with the fingerprint of the request.

    `begun_with` is the message that an earlier execution of a chat stored without a reply.
    """

    credential_id: str
    user_id: str
    digest: bytes
    fingerprint: bytes
    sealer: Sealer
    clock: Clock
    begun_with: str | None = None

    @property
    def stored_fingerprint(self) -> bytes:
        """The fingerprint as it is stored: keyed, because a request may hold a password or a text that is erased."""
        return self.sealer.digest(self.fingerprint.hex(), "fingerprint of a request")

    @property
    def _purpose(self) -> str:
        return f"answer {self.credential_id} {self.digest.hex()}"

    def keep(self, rendered: Rendered, answer: Quoting | None = None) -> list[Write]:
        """Make the rows of an answer, and of what it quotes and shows, unless it is an error.

        The store refuses them if the key has an answer already.
        """
        sealed, now = self.sealer.seal(rendered.body, self._purpose), self.clock()
        conversation = None if answer is None else answer.conversation_number
        row = IdempotencyRow(self.stored_fingerprint, rendered.status, sealed, None, conversation)
        writes = [
            *idempotency_records.forget_notes(self.credential_id, self.digest),
            idempotency_records.keep(self.credential_id, self.digest, self.user_id, now, now - KEPT_MS, row),
        ]
        if answer is not None and answer.quoted:
            writes.append(idempotency_records.quote(answer.quoted, self.credential_id, self.digest))
            writes.append(idempotency_records.redact_if_censored(answer.quoted, self.credential_id, self.digest))
        if answer is not None and answer.shows:
            writes.append(idempotency_records.show(answer.shows, self.credential_id, self.digest))
        return writes

    def redact_if_gone(self, answer: Quoting) -> list[Write]:
        """Make the writes that redact the answer if a conversation or anything else that it shows is gone by now."""
        number, writes = answer.conversation_number, list[Write]()
        if number is not None:
            writes.append(idempotency_records.redact_if_erased(number, self.credential_id, self.digest))
        if answer.shows:
            writes.append(idempotency_records.redact_if_destroyed(self.credential_id, self.digest))
        return writes

    def begin(self, message_id: str) -> Write:
        """Make the row of a chat whose message awaits its reply; the store refuses it if another execution began."""
        now = self.clock()
        row = IdempotencyRow(self.stored_fingerprint, None, None, message_id)
        return idempotency_records.begin(
            self.credential_id, self.digest, self.user_id, now, now - KEPT_MS, row, self.begun_with
        )

    def open(self, answer: bytes) -> bytes:
        """Unseal a stored answer."""
        return self.sealer.open(answer, self._purpose)


def digest_of(key: str) -> bytes:
    """Hash the key before storing it; clients put meaningful text in it."""
    return hashlib.sha256(key.encode()).digest()


class Receipt:
    """The rows to commit with the change of one command. `make` turns the actor's reply into the command's answer."""

    __slots__ = ("_audit", "_key", "_render", "answer", "make", "reads", "rendered", "repeatable", "waived", "written")

    def __init__(self, audit: Audit | None, key: IdempotencyKey | None = None, render: Render | None = None) -> None:
        self._audit = audit
        self._key = key
        self._render = render
        self.make: Callable[[Any], Any] | None = None
        self.repeatable = False
        """Whether the command is idempotent, so that its answer may be stored after the change."""
        self.waived = False
        """Whether a success leaves no rows, because the command changed nothing or its user is gone."""
        self.reads = False
        """Whether a failure leaves no audit row, either, because the command changes nothing."""
        self.written = False
        self.answer: Any = None
        self.rendered: Rendered | None = None

    def writes(self, reply: Any) -> list[Write]:
        """Make the rows for the unit of the change, whose reply will be `reply`."""
        assert self.make is not None
        self.written = True
        self.answer = self.make(reply)
        writes = [] if self._audit is None else [self._audit(0)]
        if self._key is not None and self._render is not None and not self.repeatable:
            self.rendered = self._render(self.answer)
            writes += self._key.keep(self.rendered, self.answer)
        return writes

    def begin(self, message_id: str) -> list[Write]:
        """Make the rows for the unit of a chat's message that awaits its reply."""
        return [] if self._key is None else [self._key.begin(message_id)]

    def quotes_alike(self, said_in: Talk, stream: int | str, seq: int) -> list[Write]:
        """Make the note that the stored answer quotes the same memories as a stored message."""
        if self._key is None:
            return []
        return [idempotency_records.quote_alike(said_in, stream, seq, self._key.credential_id, self._key.digest)]

    def undo(self) -> None:
        """Forget the answer that `writes` noted, because the unit was not stored."""
        self.written = False
        self.answer = self.rendered = None

    def rest(self, internal_code: int, rendered: Rendered | None, answer: Quoting | None = None) -> list[Write]:
        """Make the rows still missing after the command; `rendered`, of `answer` or an error, is stored if given."""
        writes = [] if self._audit is None or self.written else [self._audit(internal_code)]
        if self._key is not None and rendered is not None and self.rendered is None:
            writes += self._key.keep(rendered, answer)
            if answer is not None:
                writes += self._key.redact_if_gone(answer)
        return writes
