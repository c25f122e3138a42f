"""Hints that stored things may have changed, for those who show them: no data, only the key of what changed.

A hint comes after the commit. It may come twice or for nothing, so who gets one reads what is stored.
"""

import asyncio
from collections.abc import Callable


class Changes:
    """The watchers of this process, by key: an actor's, such as a bank's id."""

    def __init__(self) -> None:
        self._watchers: dict[str, dict[object, Callable[[], None]]] = {}

    def watch(self, key: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed`, which must not raise, after each change; return the function that ends this."""
        watcher = object()
        self._watchers.setdefault(key, {})[watcher] = changed

        def end() -> None:
            watchers = self._watchers.get(key, {})
            watchers.pop(watcher, None)
            if not watchers and self._watchers.pop(key, None) is not None:
                self.unwatched(key)

        return end

    def unwatched(self, key: str) -> None:
        """Note that a key has lost its last watcher here."""

    async def in_force(self) -> None:
        """Wait until no later change is missed by the watchers that there are now."""
        await asyncio.sleep(0)

    def changed(self, key: str) -> None:
        """Tell the watchers of a key of a stored change."""
        self.tell(key)

    def tell(self, key: str) -> None:
        """Tell this process's watchers of a key."""
        watchers = self._watchers.get(key)
        if watchers:
            for changed in list(watchers.values()):
                changed()

    def tell_all(self) -> None:
        """Tell all watchers of this process, because changes may have been missed."""
        for key in list(self._watchers):
            self.tell(key)
