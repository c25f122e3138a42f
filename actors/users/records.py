"""The user as clients see it."""

from typing import NamedTuple

from actors.quotas.messages import QuotaStatus
from actors.quotas.records import quota_record
from actors.wire import Record, iso
from persistence.users import UserRow


def user_record(user: UserRow) -> Record:
    """Return the record of a user for everyone."""
    return {
        "id": user.id,
        "name": user.name,
        "description": user.description,
        "profile": user.profile,
        "plan": user.plan,
        "created_at": iso(user.created_at),
    }


class Owned(NamedTuple):
    """The numbers of entities that a user owns."""

    agents: int = 0
    domains: int = 0
    banks: int = 0
    api_keys: int = 0


def own_user_record(user: UserRow, owned: Owned, status: QuotaStatus) -> Record:
    """Return the record of a user for the user, with the day's quota and the numbers of owned entities."""
    return user_record(user) | {"quota": quota_record(status), "counts": owned._asdict()}
