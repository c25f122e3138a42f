"""The errors of requests: a class with its codes for each (docs/contract.md, "Errors").

    ServiceError
    +- 1xxx  the request itself: MalformedBody .. WrongMediaType, NotImplementedYet
    +- 2xxx  the caller: NoCredential .. UserSuspended
    +- 3xxx  the entity: NotFound .. NothingSelected
    +- 4xxx  rates: QuotaExceeded, TooManyAttempts
    +- 5xxx  the gateway: InternalError .. Overloaded

`internal_code` is a stable public enum.
"""

from typing import ClassVar, Self


class ServiceError(Exception):
    """The error answer to a request.

    Args:
        note: one sentence with the problem and the next step.
        retry_after: seconds to wait before another try; given for every 429 and 503.
    """

    internal_code: ClassVar[int] = 5000
    http_code: ClassVar[int] = 500
    default_retry_after: ClassVar[int | None] = None

    def __init__(self, note: str, *, retry_after: int | None = None) -> None:
        super().__init__(note)
        self.note = note
        self.run: str | None = None
        """The id of the run that ended with this error."""
        self.conversation: str | None = None
        """The id of that run's conversation."""
        self.retry_after = self.default_retry_after if retry_after is None else retry_after

    def of_run(self, run: str | None, conversation: str | None) -> Self:
        """Note the run that ended with this error, and its conversation; return the error."""
        self.run, self.conversation = run, conversation
        return self


class RefusedAlone:
    """Marks an error of a unit that was refused and concerns nobody else: other state of its actor is as stored."""

    undone: ClassVar[bool] = False
    """Whether the part of the actor that submitted the unit undoes it in memory, so that `on_refused` is not called."""


class MalformedBody(ServiceError):
    """The body is not a JSON object in valid Unicode."""

    internal_code = 1000
    http_code = 400


class UnknownService(ServiceError):
    """No service has that name."""

    internal_code = 1001
    http_code = 400


class MissingField(ServiceError):
    """A required member is absent, null or blank."""

    internal_code = 1002
    http_code = 400


class InvalidField(ServiceError):
    """A member has the wrong type or value."""

    internal_code = 1003
    http_code = 400


class BodyTooLarge(ServiceError):
    """The body is larger than the gateway takes."""

    internal_code = 1004
    http_code = 413


class NotAvailable(ServiceError):
    """The service exists but is not available."""

    internal_code = 1005
    http_code = 400


class NoSuchRoute(ServiceError):
    """No such path."""

    internal_code = 1006
    http_code = 404


class WrongMethod(ServiceError):
    """The path exists, but not with this method."""

    internal_code = 1006
    http_code = 405


class RequestTimeout(ServiceError):
    """The request did not arrive in time."""

    internal_code = 1007
    http_code = 408


class WrongMediaType(ServiceError):
    """The body's media type is not application/json, or it is compressed."""

    internal_code = 1008
    http_code = 415


class NotImplementedYet(ServiceError):
    """A placeholder route (rules)."""

    internal_code = 1501
    http_code = 501


class NoCredential(ServiceError):
    """The request carries no credential."""

    internal_code = 2000
    http_code = 401


class InvalidCredential(ServiceError):
    """The credential is wrong, expired or revoked."""

    internal_code = 2001
    http_code = 401


class WrongPassword(ServiceError):
    """The user name or the password is wrong."""

    internal_code = 2002
    http_code = 401


class NotPermitted(ServiceError):
    """The caller may see the entity but not do this."""

    internal_code = 2003
    http_code = 403


class NeedsPlan(ServiceError):
    """The command needs an entitlement or a higher plan."""

    internal_code = 2004
    http_code = 403


class UserSuspended(ServiceError):
    """An operator has suspended the user."""

    internal_code = 2005
    http_code = 403


class NotFound(ServiceError):
    """The caller sees no entity of that name."""

    internal_code = 3000
    http_code = 404


class Gone(RefusedAlone, NotFound):
    """The entity was destroyed, mostly with its owner, before this was stored."""


class NameTaken(ServiceError):
    """Another entity has the name."""

    internal_code = 3001
    http_code = 409


class StateConflict(ServiceError):
    """The entity's state does not allow the command."""

    internal_code = 3002
    http_code = 409


class NothingSelected(ServiceError):
    """The command needs a selection, but nothing is selected."""

    internal_code = 3003
    http_code = 409


class QuotaExceeded(ServiceError):
    """The day's requests are used up."""

    internal_code = 4000
    http_code = 429
    default_retry_after = 60


class TooManyAttempts(ServiceError):
    """Too many attempts in a short time."""

    internal_code = 4001
    http_code = 429
    default_retry_after = 60


class InternalError(ServiceError):
    """A fault in the gateway itself."""

    internal_code = 5000
    http_code = 500


class EngineFailed(ServiceError):
    """The chat engine or a tool server failed."""

    internal_code = 5001
    http_code = 502


class MessageKept(EngineFailed):
    """The chat engine failed on a message that is kept, and with which a client may go on.

    The note tells how with an Idempotency-Key. `told` makes the error of a door that takes none.

    Args:
        fault: what has failed, in one sentence.
    """

    _GO_ON: ClassVar[str] = (
        " Your message is kept; send it again with the same Idempotency-Key to go on with it; without one it is said"
        " once more."
    )

    def __init__(self, fault: str, *, retry_after: int | None = None) -> None:
        fault = fault.removesuffix(self._GO_ON)  # the note of another node has it
        super().__init__(fault + self._GO_ON, retry_after=retry_after)

    def told(self, go_on: str) -> EngineFailed:
        """Return the error with another sentence on how to go on."""
        told = EngineFailed(self.note_with(self.note, go_on), retry_after=self.retry_after)
        return told.of_run(self.run, self.conversation)

    @classmethod
    def note_with(cls, note: str, go_on: str) -> str:
        """Return the note of any error, with another sentence on how to go on if it has one."""
        fault = note.removesuffix(cls._GO_ON)
        return note if fault == note else f"{fault} {go_on}"


class StorageUnavailable(ServiceError):
    """The store did not accept the command; nothing was changed."""

    internal_code = 5002
    http_code = 503
    default_retry_after = 1


class Overloaded(ServiceError):
    """Too many requests wait, or the answer is late; the note says whether the command may still run."""

    internal_code = 5003
    http_code = 503
    default_retry_after = 1
