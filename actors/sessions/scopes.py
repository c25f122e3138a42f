"""Scopes: what an API key may do (docs/contract.md, "Scopes of API keys")."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from actors.errors import NotPermitted
from actors.wire import Record

LISTS = ("services", "agents", "banks", "domains")
"""The lists; an absent one restricts nothing, an empty one allows nothing."""

GATEWAY_ROUTE = ""
"""The service as which a gateway route counts; no list of services allows it."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of a key: services by name or as `AP_*`, entities by id; `day_limit` in requests a UTC day."""

    services: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    banks: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    read_only: bool = False
    admin: bool = False
    day_limit: int | None = None

    @property
    def restrict(self) -> bool:
        """Whether the key may do less than its user."""
        return self.read_only or any(getattr(self, name) is not None for name in LISTS)

    def require_service(self, counts_as: str, *, mutates: bool) -> None:
        """Refuse a service, or a gateway route, that the key is not for.

        Raises:
            NotPermitted: it is not in `services`, or changes something.
        """
        if not self.allow_service(counts_as):
            if counts_as == GATEWAY_ROUTE:
                raise NotPermitted(
                    "This API key is not for routes beside the command bus; take a key without scopes.services."
                )
            raise NotPermitted(f"This API key is not for {counts_as}; make one whose scopes.services allow it.")
        if self.read_only and mutates:
            raise NotPermitted("This API key only reads; make one without scopes.read_only for changes.")

    def allow_service(self, counts_as: str) -> bool:
        """Return whether `services` allow a service."""
        services = self.services
        if services is None:
            return True
        return counts_as != GATEWAY_ROUTE and (counts_as in services or f"{counts_as.partition('_')[0]}_*" in services)

    def require(self, kind: str, id: str | None) -> None:
        """Refuse an entity of a kind (one of `LISTS`, without services), or with None one that is yet to be made.

        Raises:
            NotPermitted: it is not in the list.
        """
        if not self.allow(kind, id):
            if id is None:
                raise NotPermitted(f"This API key is not for new {kind}; take a key without scopes.{kind}.")
            raise NotPermitted(
                f"This API key is not for the {kind[:-1]} that this concerns; make one whose scopes.{kind} have it."
            )

    def allow(self, kind: str, id: str | None) -> bool:
        """Return whether the list of a kind allows an entity."""
        listed: tuple[str, ...] | None = getattr(self, kind)
        return listed is None or id in listed


def stored_scopes(
    services: list[str] | None, entities: Mapping[str, Mapping[str, str] | None], *, read_only: bool, admin: bool
) -> str:
    """Write scopes as they are stored: JSON; `entities` are the ids and names of each kind."""
    lists = {"services": services} | {kind: entities[kind] for kind in LISTS[1:]}
    return orjson.dumps(lists | {"read_only": read_only, "admin": admin}).decode()


def scopes_of(stored: str | None, day_limit: int | None) -> Scopes | None:
    """Read stored scopes; None if the key has neither scopes nor a limit of its own."""
    if stored is None:
        return None if day_limit is None else Scopes(day_limit=day_limit)
    read: dict[str, Any] = orjson.loads(stored)
    lists = {name: None if read[name] is None else tuple(read[name]) for name in LISTS}
    return Scopes(**lists, read_only=read["read_only"], admin=read["admin"], day_limit=day_limit)


def scopes_record(stored: str) -> Record:
    """Return stored scopes as clients see them: with the names that were given."""
    read: dict[str, Any] = orjson.loads(stored)
    names = {name: None if read[name] is None else list(read[name].values()) for name in LISTS[1:]}
    return {"services": read["services"], **names, "read_only": read["read_only"], "admin": read["admin"]}


def listed_ids(scopes: Scopes | None, kind: str) -> tuple[str, ...] | None:
    """Return the ids of the entities of a kind that the key may see in lists; None for all."""
    return None if scopes is None else getattr(scopes, kind)


def filter_of(scopes: Scopes | None, kind: str) -> Callable[[str], bool]:
    """Return the function that tells of an id whether the key may see the entity in lists."""
    listed = listed_ids(scopes, kind)
    return _everything if listed is None else frozenset(listed).__contains__


def _everything(_: str) -> bool:
    return True
