"""The webhook event of a change of a user's plan."""

from typing import Any

from actors.plans import daily_limit
from persistence.users import UserRow


def plan_event(before: UserRow, user: UserRow) -> tuple[str, dict[str, Any]]:
    """Make the type and data of the event (docs/contract.md, "Event data")."""
    data = {
        "user_id": user.id,
        "from": before.plan,
        "to": user.plan,
        "limit": daily_limit(user.plan, user.plan_limit),
    }
    return "billing.plan.changed", data
