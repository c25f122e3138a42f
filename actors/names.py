"""The look-up of entities' ids by name, and the rules for premium names."""

from collections import OrderedDict
from collections.abc import Callable

from actors.errors import NameTaken, NeedsPlan, NotFound
from actors.plans import PLANS
from persistence.store import Query, Store
from persistence.users import name_key

REMEMBERED = 100_000


class Names:
    """Caches the ids of names as hints; users of a hint check the name with the entity's actor.

    A hint may be stale (renamed, destroyed, the name taken by another); the caller then drops it with `forget` and asks
    again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: OrderedDict[tuple[str, str], str] = OrderedDict()

    def hint(self, kind: str, name: str) -> str | None:
        """Return the id that the last look-up of the name found."""
        return self._ids.get((kind, name_key(name)))

    def forget(self, kind: str, name: str) -> None:
        """Drop a hint that turned out stale."""
        self._ids.pop((kind, name_key(name)), None)

    async def find(self, kind: str, name: str, query: Callable[[str], Query[str]]) -> str | None:
        """Look a name up in the store, and cache its id.

        Raises:
            StoreUnavailable: the store can't be read.
        """
        found = await self._store.fetch(query(name))
        if not found:
            return None
        self._ids[kind, name_key(name)] = found[0]
        if len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)
        return found[0]


PREMIUM_NAME_CHARS = 4
"""Names of up to this number of characters need a plan with premium names (docs/contract.md, "Plans")."""


def require_name_allowed(name: str, plan: str) -> None:
    """Refuse a premium name to a plan without them.

    Raises:
        NeedsPlan: the name is too short for this plan.
    """
    if len(name) <= PREMIUM_NAME_CHARS and not PLANS[plan].premium_names:
        raise NeedsPlan(
            f"Names of {PREMIUM_NAME_CHARS} characters or fewer are for the plans scale and enterprise; "
            "take a longer name, or ask the operator for such a plan."
        )


def name_taken() -> NameTaken:
    """Make the error for a name that another entity of the kind has."""
    return NameTaken("This name is taken (case makes no difference); choose another.")


def no_such_user() -> NotFound:
    """Make the error for a user that does not exist."""
    return NotFound("There is no such user; check the name.")
