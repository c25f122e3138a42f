"""When a call is repeated, and how long the client waits before it does."""

import math
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from parley_client.errors import InvalidSetting, Refused, UnexpectedAnswer, is_status, refused

FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 8.0

ENDLESS = sys.maxsize
"""Tries of a stream that goes on until the gateway ends it."""
LONGEST_WAIT_OF_STREAMS_S = 30.0
LONGEST_RETRY_AFTER_S = 7 * 86_400.0
"""No gateway names a longer Retry-After, and no clock waits for any number of seconds."""

NOT_CARRIED_OUT = frozenset({4000, 4001})
"""Codes of refusals before anything was done: a repeat needs no Idempotency-Key."""
MAY_BE_CARRIED_OUT = frozenset({5002, 5003})
"""Codes that pass as well, of calls that the gateway may have carried out, as where its answer was late."""

LOG_ON = "US_LogOn"
"""A service without an Idempotency-Key that is repeated after a refusal: at worst it opens a session more."""

ONCE = frozenset({"US_LogOff", "US_Destroy"})
"""Services that end the credential of their own Idempotency-Key, so that no kept answer can be had."""

CHAT_S = 310.0
"""Seconds that the gateway may be silent in a chat: an engine has 300."""

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")

OF_PROXIES = frozenset({429, 502, 503, 504})
"""HTTP codes with which a proxy in front of the gateway answers for it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call over all its tries.

    Args:
        method: the HTTP method.
        path: the path, with its query.
        body: the JSON body; None sends none.
        headers: the same for each try, Idempotency-Key included.
        repeatable: whether it may be sent again although it may have been carried out: it only reads, changes
            nothing more when repeated, or has an Idempotency-Key.
        timeout: seconds that the gateway may be silent.

    Raises:
        InvalidSetting: the path is none of the gateway's: the credential must not go to another host.
    """

    method: str
    path: str
    body: Any
    headers: Mapping[str, str]
    repeatable: bool
    timeout: float

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or self.path.startswith("//"):
            raise InvalidSetting(f"a path begins with one /, as /api/health does: {self.path}")


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a call is tried, the longest Retry-After that it waits for, and the longest pause without one."""

    tries: int = 5
    max_wait: float = 60.0
    longest: float = LONGEST_WAIT_S

    def wait_after(self, tries: int, retry_after: float | None) -> float | None:
        """Return the seconds to wait after a number of tries, or None if there is no other."""
        if tries >= self.tries or (retry_after or 0.0) > min(self.max_wait, LONGEST_RETRY_AFTER_S):
            return None
        grown = FIRST_WAIT_S * 2.0 ** min(tries - 1, 30)
        return max(min(self.longest, grown) * random.uniform(0.5, 1.0), retry_after or 0.0)


FOREVER = Repeats(ENDLESS, math.inf, LONGEST_WAIT_OF_STREAMS_S)
"""Of a stream that has begun."""


def may_repeat(error: Refused | UnexpectedAnswer, http: int, call: Call) -> bool:
    """Return whether a refusal is one that passes."""
    if not isinstance(error, Refused):
        return http in OF_PROXIES and call.repeatable
    if error.code in MAY_BE_CARRIED_OUT:
        service: Any = call.body and call.body.get("service")
        return call.repeatable or service == LOG_ON
    return error.code in NOT_CARRIED_OUT


def refusal(http: int, headers: Mapping[str, str], body: Any) -> Refused | UnexpectedAnswer:
    """Return the error of an answer without success."""
    status: Any = body.get("status") if isinstance(body, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not is_status(status):
        if http in OF_PROXIES:
            why = "limits requests" if http == 429 else "has no gateway"
            return UnexpectedAnswer(f"HTTP {http} came without a status of Parley's, as from a proxy that {why}")
        return UnexpectedAnswer(f"HTTP {http} came without a status of Parley's: is this a gateway's address?")
    return refused(status, headers.get("X-Request-Id"), retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return Retry-After in seconds (RFC 9110, 10.2.3: a number of them, or a date); None where it is neither."""
    value = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    until, sent_at = _date(value), _date(headers.get("Date", ""))
    return None if until is None else max(0.0, (until - (sent_at or datetime.now(UTC))).total_seconds())


def _date(value: str) -> datetime | None:
    try:
        made = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return made if made.tzinfo else made.replace(tzinfo=UTC)
