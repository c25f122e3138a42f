"""The errors of the client.

ParleyError
├── NoConnection        no whole answer arrived; `may_be_done` tells whether the call may have been carried out
├── InvalidSetting      an address, a key or an id that can't be right; also a ValueError
├── UnexpectedAnswer    an answer that no gateway of this version gives
├── BadSignature        a delivery that the endpoint's secret did not sign, or an old one
└── Refused             the gateway answered with an error: code, note, request_id, retry_after
    ├── RequestError    1xxx: the request itself is wrong
    ├── AccessError     2xxx: who the caller is, or what it may do
    ├── EntityError     3xxx: the agent, domain, zone or bank that is meant, or its state
    ├── LimitError      4xxx: the daily quota, or too many attempts
    └── GatewayError    5xxx: the gateway, its storage or the chat engine
"""

from functools import partial
from typing import Any, TypeGuard


class ParleyError(Exception):
    """The base of all errors of the client."""


class NoConnection(ParleyError):
    """No whole answer arrived, also not after repeats.

    Args:
        message: what happened.
        may_be_done: whether the gateway may have carried the call out all the same.
    """

    def __init__(self, message: str, *, may_be_done: bool) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), may_be_done=self.may_be_done), self.args


class InvalidSetting(ParleyError, ValueError):
    """An address, a key or an id that can't be right; nothing was sent."""


class UnexpectedAnswer(ParleyError):
    """An answer that no gateway of this version gives: another server answered, or a record lacks a member."""


class BadSignature(ParleyError):
    """A delivery that the endpoint's secret did not sign, or whose signature is too old."""


class Refused(ParleyError):
    """The gateway answered with an error.

    Args:
        code: the internal code, as `docs/errors.md` lists them.
        note: one sentence about what is wrong and what to do.
        http_code: the precise HTTP code.
        request_id: the id of the request, by which the operator finds it.
        retry_after: seconds until a repeat makes sense; None where the gateway names none.
    """

    def __init__(
        self, code: int, note: str, http_code: int, request_id: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(code, note, http_code, request_id, retry_after)
        self.code = code
        self.note = note
        self.http_code = http_code
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.code}: {self.note}" + (f" (request {self.request_id})" if self.request_id else "")


class RequestError(Refused):
    """The request itself is wrong (1xxx)."""


class AccessError(Refused):
    """The caller is unknown, or not permitted to do this (2xxx)."""


class EntityError(Refused):
    """The entity that is meant is not there, is taken, or is in the wrong state (3xxx)."""


class LimitError(Refused):
    """A limit is reached (4xxx); `retry_after` tells when it ends."""


class GatewayError(Refused):
    """The gateway, its storage or the chat engine failed (5xxx)."""


_GROUPS: dict[int, type[Refused]] = {
    1: RequestError,
    2: AccessError,
    3: EntityError,
    4: LimitError,
    5: GatewayError,
}


def is_status(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is a `status` object of the gateway."""
    # an int, and no bool
    return isinstance(value, dict) and all(type(value.get(code)) is int for code in ("internal_code", "http_code"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def refused(status: dict[str, Any], request_id: str | None = None, retry_after: float | None = None) -> Refused:
    """Return the error for a `status` object of the gateway."""
    code: int = status["internal_code"]
    kind = _GROUPS.get(code // 1000, Refused)
    return kind(code, str(status.get("note", "")), status["http_code"], request_id, retry_after)
