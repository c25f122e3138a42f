"""Names: from an entity's name to its id."""

from collections import OrderedDict
from collections.abc import Callable

from persistence.store import Query, Store
from persistence.users import name_key

REMEMBERED = 100_000


class Names:
    """Remembers the ids of names as hints; whoever uses one checks the name with the entity's actor.

    A hint may be stale (renamed, destroyed, the name taken by another), so `forget` it then and ask again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: OrderedDict[tuple[str, str], str] = OrderedDict()

    def hint(self, kind: str, name: str) -> str | None:
        """Return the id that the name had when it was last looked up."""
        return self._ids.get((kind, name_key(name)))

    def forget(self, kind: str, name: str) -> None:
        """Drop a hint that turned out stale."""
        self._ids.pop((kind, name_key(name)), None)

    async def find(self, kind: str, name: str, query: Callable[[str], Query[str]]) -> str | None:
        """Look a name up in the store, and remember its id.

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
