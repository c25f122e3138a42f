"""Plans as data: their daily limits and entitlements (docs/contract.md, "Plans")."""

from dataclasses import dataclass

from actors.errors import NeedsPlan

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: `limit` requests per UTC day (None: unlimited), and its entitlements.

    `audited`: whether changes leave a row in the audit log.
    """

    name: str
    limit: int | None
    entitled: bool
    premium_names: bool
    audited: bool


PLANS = {
    plan.name: plan
    for plan in (
        Plan("free", 100, entitled=False, premium_names=False, audited=False),
        Plan("builder", 10_000, entitled=True, premium_names=False, audited=False),
        Plan("scale", 50_000, entitled=True, premium_names=True, audited=True),
        Plan("enterprise", None, entitled=True, premium_names=True, audited=True),
    )
}


def daily_limit(plan: str, own_limit: int | None) -> int | None:
    """Return a user's requests per UTC day: the plan's, or the user's own on enterprise; None is unlimited."""
    return own_limit if own_limit is not None else PLANS[plan].limit


def next_midnight(now: int) -> int:
    """Return the end of the UTC day of `now`, in ms since the epoch."""
    return (now // DAY_MS + 1) * DAY_MS


def require_entitled(plan: str) -> None:
    """Refuse API keys on a plan without them.

    Raises:
        NeedsPlan: the plan has no API keys.
    """
    if not PLANS[plan].entitled:
        raise NeedsPlan("API keys are for the plans builder, scale and enterprise; ask the operator for one of them.")
