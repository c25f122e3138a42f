"""Notices: the effects of a unit on other actors, as data that is delivered after the unit's commit.

Plain data, so that a notice may cross to another node (docs/architecture.md). Handlers of notices are idempotent:
reloading from the store has the same effect.
"""

from dataclasses import dataclass

from actors.runtime.mailbox import Tell


@dataclass(frozen=True, slots=True)
class Told:
    """Send a message to one actor if it is live; one that is not reads the store when it starts."""

    kind: str
    key: str
    message: Tell


@dataclass(frozen=True, slots=True)
class Reload:
    """Stop actors whose rows another actor changed; the next ask loads the rows anew."""

    kind: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReloadConcerning:
    """Stop the actors that hold rows of one user or agent, except the actor with the key `but`.

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


Notice = Told | Reload | ReloadConcerning
