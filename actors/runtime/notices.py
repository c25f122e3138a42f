"""Notices: the effects of a unit on other actors, as data that is delivered after the unit's commit.

Plain data, so that a notice may cross to another node (docs/architecture.md), where it may come twice, late, or after a
later one. Handlers of notices allow for that: a message says nothing that an actor would not also read in the store.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Tell
from persistence.store import Write


@dataclass(frozen=True, slots=True)
class Told:
    """Send a message to one actor if it is live; one that is not reads the store when it starts."""

    kind: str
    key: str
    message: Tell


@dataclass(frozen=True, slots=True)
class Reload:
    """Stop actors whose rows another actor changed; the next ask loads the rows anew.

    `parts`, if given, are the parts of their state that changed, as these actors know them; one that can load these
    alone goes on (`Actor.reloads_only`).
    """

    kind: str
    keys: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReloadConcerning:
    """Stop the actors that hold rows of one user or agent, except the actor with the key `but`.

    Those that can drop these rows go on (`Actor.goes_on_without`).
    `kinds` are the kinds of these actors; if empty, all kinds that hold a user's state (`Kind.holds_users`), or with
    `is_agent` those that hold an agent's (`Kind.holds_agents`), with `is_name` those of these that also hold its name
    (`Kind.holds_names`). Actors of these kinds that are still loading start
    over, whomever they concern, so the fewer kinds the better.
    """

    id: str
    kinds: tuple[str, ...] = ()
    but: str = ""
    is_agent: bool = False
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Announced:
    """Call the listeners for this type of message, on every node (`Directory.listen`)."""

    message: Tell


Notice = Told | Reload | ReloadConcerning | Announced


class Posting(Protocol):
    """The notices of one unit on their way to other nodes; ended by `deliver` or `drop`."""

    @property
    def writes(self) -> Sequence[Write]:
        """The rows that the unit must have, so that no node misses the notices whatever happens."""
        ...

    def deliver(self) -> AsyncFuture[None] | None:
        """Deliver the notices, once the unit is stored; the future resolves when every node has acted on them."""
        ...

    def drop(self) -> None:
        """Give the notices up, because the unit is not stored."""
        ...


class Notifier(Protocol):
    """Takes the notices of units to those concerned; a directory is one."""

    def prepare(self, notices: Sequence[Notice]) -> Posting | None:
        """Prepare notices before their unit is submitted; None if all concern this process, and `deliver` is enough."""
        ...

    def deliver(self, notices: Iterable[Notice]) -> AsyncFuture[None] | None:
        """Deliver notices within this process; the future resolves when slow listeners are done, None if all are."""
        ...
