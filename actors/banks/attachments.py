"""The agents attached to a bank or offered it, and the rules for changing that (docs/contract.md, "Consent").

Invitations to domains are the model: a grant by anyone but the agent's owner is an offer, which has no effect until
the owner accepts it. Lowering needs no consent. Each change in memory has writes that lead to the same rows, whatever
other units were stored in between.
"""

from collections.abc import Iterable

from actors.agents.messages import AGENT, LinksGained
from actors.banks.messages import Grant
from actors.errors import NotPermitted
from actors.runtime.notices import Notice, Told
from persistence import banks, offers
from persistence.agents import still_there
from persistence.banks import AttachmentRow
from persistence.store import Write

LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}
"""Permissions, from the least to the most."""


def above(permission: str) -> list[str]:
    """List the permissions above one."""
    return [other for other, level in LEVELS.items() if level > LEVELS[permission]]


def up_to(permission: str) -> list[str]:
    """List the permissions up to and including one."""
    return [other for other, level in LEVELS.items() if level <= LEVELS[permission]]


def links_notice(agent_id: str, *, offered: bool = False) -> tuple[Notice, ...]:
    """Make the notice that tells an agent's actor that the agent has banks or offers."""
    return (Told(AGENT, agent_id, LinksGained(has_banks=not offered, has_offers=offered)),)


class Attachments:
    """The agents of one bank: attached ones, and those with an offer."""

    __slots__ = ("attached", "offered")

    def __init__(self, rows: Iterable[AttachmentRow] = ()) -> None:
        self.attached: dict[str, AttachmentRow] = {}
        self.offered: dict[str, AttachmentRow] = {}
        for row in rows:
            (self.attached if row.state == "attached" else self.offered)[row.agent_id] = row

    def permission_of(self, user_id: str) -> str:
        """Return the highest permission of a user's attached agents."""
        held = (row.permission for row in self.attached.values() if row.owner_id == user_id)
        return max(held, key=LEVELS.__getitem__, default="none")

    def is_attached(self, agent_id: str) -> bool:
        """Return whether an agent is attached with a permission."""
        held = self.attached.get(agent_id)
        return held is not None and held.permission != "none"

    def offered_to(self, user_id: str) -> bool:
        """Return whether the bank is offered to one of this user's agents."""
        return any(row.owner_id == user_id for row in self.offered.values())

    def concerns(self, id: str) -> bool:
        """Return whether an agent with this id, or of the user with this id, is attached or offered the bank."""
        if id in self.attached or id in self.offered:
            return True
        return any(row.owner_id == id for rows in (self.attached, self.offered) for row in rows.values())

    def require_may_grant(self, given: Grant, own: str, bank: str) -> None:
        """Refuse a grant above the caller's permission; only admins may change an agent's permission or offer.

        Raises:
            NotPermitted: the caller, whose own permission is `own`, may not grant this.
        """
        if own == "admin":
            return
        if LEVELS[given.permission] > LEVELS[own]:
            raise NotPermitted(f"You can't grant {given.permission} in {bank}: it is above your own permission.")
        held = self.attached.get(given.agent_id)
        if held is not None and not (given.by_owner and LEVELS[given.permission] <= LEVELS[held.permission]):
            raise NotPermitted(f"{held.agent} has a permission in {bank} already; only an admin may change it.")
        offered = self.offered.get(given.agent_id)
        if offered is not None and not given.by_owner and offered.permission != given.permission:
            raise NotPermitted(f"{offered.agent} is offered {bank} already; only an admin may change that.")

    def writes(self, bank_id: str, given: Grant, now: int) -> list[Write]:
        """Make the writes of `grant`, refused as `ROWS` when the agent is gone."""
        agent_id, permission = given.agent_id, given.permission
        if given.by_owner:
            return self.writes_of_owner(bank_id, agent_id, permission, now)
        writes = [
            still_there(agent_id),
            offers.lower(bank_id, agent_id, permission, above(permission)),
            offers.withdraw(bank_id, agent_id, [other for other in LEVELS if other != permission]),
        ]
        if permission != "none":
            unless_held = [permission, *above(permission)]
            writes.append(offers.put(bank_id, agent_id, permission, now, unless_held))
        return writes

    def writes_of_owner(self, bank_id: str, agent_id: str, permission: str, now: int) -> list[Write]:
        """Make the writes of `attach`, refused as `ROWS` when the agent is gone."""
        return [
            banks.attach(bank_id, agent_id, permission, now),
            offers.withdraw(bank_id, agent_id, settled_by(permission)),
        ]

    def grant(self, given: Grant, now: int) -> None:
        """Grant a permission: at once if the agent's owner grants it, or if it is no more than the agent has.

        More becomes an offer beside it. An earlier offer of another permission is withdrawn.
        """
        agent_id, permission = given.agent_id, given.permission
        if given.by_owner:
            self.attach(agent_id, given.agent_owner_id, given.agent_name, permission, now)
            return
        held, offered = self.attached.get(agent_id), self.offered.get(agent_id)
        if held is not None and LEVELS[held.permission] > LEVELS[permission]:
            held = self.attached[agent_id] = held._replace(permission=permission)
        if offered is not None and offered.permission != permission:
            del self.offered[agent_id]
        if LEVELS[permission] > (0 if held is None else LEVELS[held.permission]):
            offer = AttachmentRow(agent_id, given.agent_owner_id, given.agent_name, permission, now, "offered")
            self.offered.setdefault(agent_id, offer)

    def attach(self, agent_id: str, owner_id: str, name: str, permission: str, now: int) -> None:
        """Attach an agent for its owner; a higher offer stays, unless the permission is `none`."""
        held, offered = self.attached.get(agent_id), self.offered.get(agent_id)
        since = now if held is None else held.since
        self.attached[agent_id] = AttachmentRow(agent_id, owner_id, name, permission, since, "attached")
        if offered is not None and offered.permission in settled_by(permission):
            del self.offered[agent_id]

    def accepted(self, offer: AttachmentRow, now: int) -> AttachmentRow:
        """Make the attachment of an accepted offer; an earlier attachment keeps its `since`."""
        held = self.attached.get(offer.agent_id)
        return offer._replace(since=now if held is None else held.since, state="attached")

    def drop(self, agent_id: str) -> None:
        """Drop an agent's attachment and offer."""
        self.attached.pop(agent_id, None)
        self.offered.pop(agent_id, None)


def settled_by(permission: str) -> list[str]:
    """List the permissions whose offers end when the agent's owner attaches it with this one."""
    return list(LEVELS) if permission == "none" else up_to(permission)
