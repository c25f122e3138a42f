"""The messages that a bank's actor takes, and its replies."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from actors.errors import NotFound, Overloaded, StateConflict
from actors.runtime.mailbox import Ask
from actors.runtime.notices import Notice, Reload
from persistence.banks import AttachmentRow, BankChanges, BankRow
from persistence.memories import Choice, MemoryRow
from persistence.search_index import CountedTerms

BANK = "bank"
"""The kind of banks' actors."""


class BankViewer(NamedTuple):
    """The user who asks. `access_granted`: the store found that the bank's access opens it to this user.

    `answers`: the command accepts or declines an offer, so an offer to one of the user's agents makes the bank visible.
    """

    user_id: str
    access_granted: bool = False
    answers: bool = False


class BankView(NamedTuple):
    """A bank as a viewer sees it: its row, and the viewer's permission in it."""

    row: BankRow
    permission: str


class Accepted(NamedTuple):
    """A bank, and the agent that is now attached to it."""

    view: BankView
    attachment: AttachmentRow


class Grant(Ask[BankView], frozen=True):
    """Attach an agent, change its permission, or offer one; `access`, if given, is the bank's new access."""

    viewer: BankViewer
    agent_id: str
    agent_owner_id: str
    agent_name: str
    permission: str
    access: str | None

    @property
    def by_owner(self) -> bool:
        """Whether the agent's owner grants this."""
        return self.agent_owner_id == self.viewer.user_id


class AcceptOffer(Ask[Accepted], frozen=True):
    """Attach an agent with the permission that it is offered, for its owner."""

    viewer: BankViewer
    agent_id: str
    agent_owner_id: str


class Detach(Ask[BankView], frozen=True):
    """Detach an agent and withdraw its offer, for its owner or an admin."""

    viewer: BankViewer
    agent_id: str
    agent_owner_id: str


ALL_MEMORIES = "*"
"""The value of `vx.name` that means all memories; no memory has this name."""


class Loaded(NamedTuple):
    """The memories that a load made: one, or one for each part of a document."""

    view: BankView
    memories: tuple[MemoryRow, ...]


class ReadBank(Ask[BankView], frozen=True):
    """Return the bank to a user who may see it."""

    viewer: BankViewer


class RequirePermission(Ask[BankView], frozen=True):
    """Return the bank to a user with at least this permission."""

    viewer: BankViewer
    permission: str


class UpdateBank(Ask[BankView], frozen=True):
    """Change the members given, for an admin."""

    viewer: BankViewer
    changes: BankChanges


class DestroyBank(Ask[None], frozen=True):
    """Remove the bank, for its owner."""

    viewer: BankViewer


class LoadMemory(Ask[Loaded], frozen=True):
    """Load a memory as one of the caller's agents, which is attached if it isn't yet.

    `texts`: the text, or several, which become `name/1`, `name/2` ... `terms`: the terms of each for the index.
    `document_id`: the document that the texts are parts of, if any. `before`: the memories stored under that name now,
    parts included; they are replaced, and if they have changed since, `MemoryMoved` is raised.
    """

    viewer: BankViewer
    agent_id: str
    agent_owner_id: str
    agent_name: str
    name: str
    texts: tuple[str, ...]
    terms: tuple[CountedTerms, ...]
    before: tuple[MemoryRow, ...]
    document_id: str | None = None


class Removed(NamedTuple):
    """The number of memories that were deleted or censored, and the bank afterwards."""

    view: BankView
    memories: int


class RemoveMemories(Ask[Removed], frozen=True):
    """Remove memories, for an admin."""

    viewer: BankViewer
    choice: Choice


class CensorMemories(Ask[Removed], frozen=True):
    """Redact memories for good, for an admin; others may choose memories that their own agents wrote.

    `quoting`: the actors, by kind and key, whose messages quote them; `parts`: the conversation or zone of each entry,
    of which an actor may have several. A node of 0.2.0 sends none.
    """

    viewer: BankViewer
    choice: Choice
    quoting: tuple[tuple[str, str], ...]
    parts: tuple[str, ...] = ()


MAX_PARTS = 1_000
"""The number of conversations of an agent, or zones of a domain, beyond which the whole actor is loaded anew."""


def reloads(quoting: Iterable[tuple[str, str]], parts: Iterable[str]) -> list[Notice]:
    """Make the notices to actors, by kind and key, in parts of whose state messages were redacted."""
    redacted: dict[tuple[str, str], list[str]] = {}
    given = iter(parts)
    for actor in quoting:
        redacted.setdefault(actor, []).append(next(given, ""))
    return [
        Reload(kind, (key,), tuple(of_actor) if all(of_actor) and len(of_actor) <= MAX_PARTS else ())
        for (kind, key), of_actor in redacted.items()
    ]


MAX_TERMS_ASKED = 64
"""The number of distinct terms of a question that count, the first ones; bounds the cost of a long text."""


class RecalledMemory(Struct, frozen=True, array_like=True):
    """A memory that was found.

    `score` is comparable only within one recall of one bank; `share` is the share of the question's terms that the
    memory accounts for, 0 to 1; `answers`: whether that is enough for a chat to quote it.
    """

    memory: MemoryRow
    score: float
    share: float
    answers: bool


class RecalledMemories(Struct, frozen=True, array_like=True):
    """A bank, and the memories in it that match a question, best first."""

    view: BankView
    found: tuple[RecalledMemory, ...]

    @property
    def row(self) -> BankRow:
        """The bank's row."""
        return self.view.row


class RecallMemories(Ask[RecalledMemories], frozen=True):
    """Find up to `limit` memories that match a text best, for a viewer with the permission `read`.

    `terms`: the distinct terms of the question in the text, in order. `agent_id`, in a chat: the agent that recalls. It
    has to be attached with a permission; the viewer then only has to see the bank.
    """

    viewer: BankViewer
    text: str
    terms: tuple[str, ...]
    limit: int
    agent_id: str = ""


class MemoryMoved(Overloaded):
    """Another request changed the memory of that name at the same time."""


def no_such_bank() -> NotFound:
    """Make the error for a bank that does not exist or that the user may not see."""
    return NotFound("There is no such bank that you may see; check the name with MB_List.")


def not_offered() -> StateConflict:
    """Make the error for an agent without an offer of the bank."""
    return StateConflict("This agent is offered nothing here; AP_Read shows its owner what it is offered.")


def no_such_memory() -> NotFound:
    """Make the error for a memory that does not exist."""
    return NotFound("There is no memory of this name in the bank; look at MB_Read.")
