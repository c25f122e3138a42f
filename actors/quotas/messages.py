"""The messages that a quota actor takes, and its replies."""

from typing import Any, ClassVar, NamedTuple

from actors.errors import QuotaExceeded
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, Tell
from persistence.users import has_sandbox_name

QUOTA = "quota"
"""The kind of quota actors."""

KEY_QUOTA = "key_quota"
"""The kind of the quota actors of API keys."""


class QuotaStatus(NamedTuple):
    """A user's quota of the day: `limit` is None if unlimited, `resets_at` in ms since the epoch.

    `admitted` is False for a request that was refused, and so not counted. `stored` resolves when the stored bound is
    not below the count; None if that is so already. Until then the request must not be answered.
    """

    plan: str
    limit: int | None
    used: int
    resets_at: int
    admitted: bool = True
    stored: AsyncFuture[Any] | None = None

    @property
    def remaining(self) -> int | None:
        """The number of requests left; None if unlimited."""
        if self.limit is None:
            return None
        return self.limit - self.used if self.used < self.limit else 0

    def seconds_left(self, now: int) -> int:
        """Return the seconds until the end of the day, at least one; `now` in ms since the epoch."""
        return max(1, -(-(self.resets_at - now) // 1000))


class CountRequest(Ask[QuotaStatus], frozen=True):
    """Count one request, or refuse it if the limit is reached."""

    local: ClassVar[str] = "Requests are counted where their user is, and the reply may hold a future."


COUNT = CountRequest()
"""The same for all."""


class ReadQuota(Ask[QuotaStatus], frozen=True):
    """Return the quota status without counting."""


class ReturnRequest(Tell, frozen=True):
    """A request that was counted was refused with 429 after all, so it does not count.

    It was one of the day that ends at `resets_at`, in ms since the epoch.
    """

    resets_at: int = 0


class PlanChanged(Tell, frozen=True):
    """The user is on another plan from now on."""

    plan: str
    plan_limit: int | None


def key_quota_exceeded(status: QuotaStatus, now: int) -> QuotaExceeded:
    """Make the error for a request beyond the day's limit of a key."""
    return QuotaExceeded(
        f"{_used_up(status, 'this API key')}; wait, or use another key.", retry_after=status.seconds_left(now)
    )


def quota_exceeded(status: QuotaStatus, now: int, user: str) -> QuotaExceeded:
    """Make the error for a user's request beyond the day's limit."""
    way = "register with US_Create" if has_sandbox_name(user) else "change the plan"
    return QuotaExceeded(
        f"{_used_up(status, f'the plan {status.plan}')}; wait, or {way}.", retry_after=status.seconds_left(now)
    )


def _used_up(status: QuotaStatus, of: str) -> str:
    """Tell that the day's requests are used up, and of what."""
    requests, are = ("request", "is") if status.limit == 1 else ("requests", "are")
    return f"The {status.limit:,} {requests} a day of {of} {are} used up until 00:00 UTC"
