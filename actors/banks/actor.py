"""The bank actor: one memory bank, the permissions in it, and recall. Texts are in memory only while it is in use."""

from typing import Any

from actors.agents.messages import no_such_agent
from actors.banks.attachments import LEVELS, Attachments, links_notice
from actors.banks.loading import moved, replacing, require_may_load
from actors.banks.messages import (
    BANK,
    Accepted,
    AcceptOffer,
    BankView,
    BankViewer,
    CensorMemories,
    DestroyBank,
    Detach,
    Grant,
    Loaded,
    LoadMemory,
    ReadBank,
    RecalledMemories,
    RecallMemories,
    Removed,
    RemoveMemories,
    RequirePermission,
    UpdateBank,
    no_such_bank,
    not_offered,
    reloads,
)
from actors.banks.recalling import Recalling
from actors.banks.resident import Residents
from actors.errors import NotPermitted, StateConflict
from actors.ids import Clock
from actors.names import name_taken
from actors.runtime.actor import handles
from actors.runtime.changes import Changes
from actors.runtime.durable import DurableActor, RowCount, in_turn
from actors.runtime.future import AsyncFuture
from persistence import banks, censoring, memories, offers
from persistence.banks import BankChanges, BankRow
from persistence.store import FOREIGN_KEY, ROWS, Store


class BankActor(DurableActor):
    """Owns one bank; its key is the bank's id. It decides every permission in the bank."""

    kind = BANK
    SIDE_BY_SIDE = LoadMemory
    __slots__ = ("_arriving", "_attachments", "_bank", "_changes", "_clock", "_recalling", "_residents")

    def __init__(self, key: str, store: Store, clock: Clock, residents: Residents, changes: Changes) -> None:
        super().__init__(key, store)
        self._changes = changes
        self._residents = residents
        self._recalling: Recalling | None = None  # from the first recall on
        self._clock = clock
        self._bank: BankRow | None = None
        self._arriving = 0  # memories of the loads under way
        self._attachments = Attachments()

    async def on_begin(self) -> None:
        """Load the bank, its attachments and offers.

        Raises:
            NotFound: there is no such bank.
        """
        found = await self.store.fetch(banks.by_id(self.key))
        if not found:
            raise no_such_bank()
        self._bank = found[0]
        self._attachments = Attachments(await self.store.fetch(offers.all_of_bank(self.key)))

    def on_stored(self) -> None:
        """Tell those who watch the bank."""
        self._changes.changed(self.key)

    # permissions

    def _permission_of(self, user_id: str) -> str:
        """Return a user's permission: `admin` for the owner, else the highest of its attached agents."""
        if self._bank is not None and self._bank.owner_id == user_id:
            return "admin"
        return self._attachments.permission_of(user_id)

    def _seen_by(self, viewer: BankViewer) -> BankRow:
        """Return the bank to a viewer who may see it; to others it does not exist."""
        bank = self._bank
        if bank is None:
            raise no_such_bank()
        opened = bank.access == "public" or (viewer.access_granted and bank.access != "agent")
        opened = opened or (viewer.answers and self._attachments.offered_to(viewer.user_id))
        if not opened and self._permission_of(viewer.user_id) == "none":
            raise no_such_bank()
        return bank

    def _may(self, viewer: BankViewer, permission: str) -> BankRow:
        bank = self._seen_by(viewer)
        if LEVELS[self._permission_of(viewer.user_id)] < LEVELS[permission]:
            raise NotPermitted(
                f"This takes the permission {permission} in {bank.name} for one of your agents; "
                "one who has it grants it with MB_Permissions."
            )
        return bank

    def _view(self, viewer: BankViewer, bank: BankRow | None = None) -> BankView:
        bank = bank or self._bank
        assert bank is not None
        return BankView(bank, self._permission_of(viewer.user_id))

    @handles(ReadBank)
    def _read(self, message: ReadBank) -> BankView:
        self._seen_by(message.viewer)
        return self._view(message.viewer)

    @handles(RequirePermission)
    def _require(self, message: RequirePermission) -> BankView:
        self._may(message.viewer, message.permission)
        return self._view(message.viewer)

    # the bank

    @handles(UpdateBank)
    @in_turn
    def _update(self, message: UpdateBank) -> AsyncFuture[BankView]:
        bank, now = self._may(message.viewer, "admin"), self._clock()
        stored = banks.updated(bank, message.changes, now)
        return self.commit_or_refuse(
            banks.update(self.key, message.changes, now),
            reply=lambda: self._view(message.viewer, stored),
            applied=lambda: self._hold_bank(stored),
            constraint_errors={banks.NAME_TAKEN: name_taken, ROWS: no_such_bank},
        )

    def _hold_bank(self, bank: BankRow) -> None:
        """Keep the bank's row as it is stored."""
        self._bank = bank

    @handles(DestroyBank)
    @in_turn
    def _destroy(self, message: DestroyBank) -> AsyncFuture[None]:
        bank = self._seen_by(message.viewer)
        if bank.owner_id != message.viewer.user_id:
            raise NotPermitted(f"Only the owner of {bank.name} may do this; ask {bank.owner}.")

        def applied() -> None:
            self._bank = None
            self.retire()

        writes = (banks.delete(self.key), censoring.DUE)
        return self.commit_or_refuse(*writes, applied=applied, constraint_errors={ROWS: no_such_bank})

    # attachments

    @handles(Grant)
    @in_turn
    def _grant(self, message: Grant) -> AsyncFuture[BankView]:
        bank = self._may(message.viewer, "read")
        self._attachments.require_may_grant(message, self._permission_of(message.viewer.user_id), bank.name)
        now = self._clock()
        writes = self._attachments.writes(self.key, message, now)
        stored = bank
        if message.access is not None:
            self._may(message.viewer, "admin")
            changes = BankChanges(access=message.access)
            stored = banks.updated(bank, changes, now)
            writes.append(banks.update(self.key, changes, now))

        def applied() -> None:
            self._attachments.grant(message, now)
            self._hold_bank(stored)

        return self.commit_or_refuse(
            *writes,
            reply=lambda: self._view(message.viewer, stored),
            applied=applied,
            constraint_errors={ROWS: no_such_agent, FOREIGN_KEY: no_such_bank},
            notices=links_notice(message.agent_id, offered=not message.by_owner),
        )

    @handles(AcceptOffer)
    @in_turn
    def _accept(self, message: AcceptOffer) -> AsyncFuture[Accepted]:
        bank = self._seen_by(message.viewer)
        if message.agent_owner_id != message.viewer.user_id:
            raise NotPermitted("Only the owner of an agent accepts what it is offered; name one of your own agents.")
        offer = self._attachments.offered.get(message.agent_id)
        if offer is None:
            raise not_offered()
        now = self._clock()
        attachment = self._attachments.accepted(offer, now)

        def applied() -> None:
            self._attachments.drop(message.agent_id)
            self._attachments.attached[message.agent_id] = attachment

        return self.commit_or_refuse(
            *offers.accept(self.key, message.agent_id, offer.permission, attachment.since),
            reply=lambda: Accepted(self._view(message.viewer, bank), attachment),
            applied=applied,
            constraint_errors={ROWS: not_offered},
            notices=links_notice(message.agent_id),
        )

    @handles(Detach)
    @in_turn
    def _detach(self, message: Detach) -> AsyncFuture[BankView]:
        bank = self._seen_by(message.viewer)
        if message.agent_owner_id != message.viewer.user_id:
            self._may(message.viewer, "admin")
        if message.agent_id not in self._attachments.attached and message.agent_id not in self._attachments.offered:
            raise StateConflict(
                f"This agent is neither attached to {bank.name} nor offered it: there is nothing to end."
            )
        view = self._view(message.viewer)
        return self.commit_or_refuse(
            banks.detach(self.key, message.agent_id),
            offers.withdraw(self.key, message.agent_id, tuple(LEVELS)),
            reply=lambda: view,
            applied=lambda: self._attachments.drop(message.agent_id),
            constraint_errors={ROWS: no_such_bank},
        )

    # memories

    @handles(LoadMemory)
    @in_turn
    def _load(self, message: LoadMemory) -> AsyncFuture[Loaded]:
        bank = self._seen_by(message.viewer)
        attaches = require_may_load(message, bank, self._attachments)
        now = self._clock()
        loaded, writes = replacing(bank, message, now)
        more = len(loaded) - len(message.before)
        self._arriving += more
        stored = bank._replace(memories=bank.memories + self._arriving)
        if attaches:
            writes += self._attachments.writes_of_owner(self.key, message.agent_id, "write", now)

        def settled(outcome: AsyncFuture[Loaded]) -> None:
            if outcome.error is not None:
                self._arriving -= more

        def applied() -> None:
            self._arriving -= more
            if self._bank is not None:
                self._hold_bank(self._bank._replace(memories=self._bank.memories + more))
            if self._recalling is not None:
                self._recalling.resident.loaded(memory.position for memory in (*message.before, *loaded))
            if attaches:
                self._attachments.attach(message.agent_id, message.agent_owner_id, message.agent_name, "write", now)

        outcome: AsyncFuture[Loaded] = self.commit_or_refuse(
            *writes,
            reply=lambda: Loaded(self._view(message.viewer, stored), loaded),
            applied=applied,
            constraint_errors={memories.NAME_TAKEN: moved, ROWS: moved, FOREIGN_KEY: no_such_bank},
            notices=links_notice(message.agent_id) if attaches else (),
        )
        outcome.then(settled)
        return outcome

    @handles(RecallMemories)
    def _recall(self, message: RecallMemories) -> RecalledMemories | AsyncFuture[RecalledMemories]:
        if message.agent_id:
            bank = self._seen_by(message.viewer)
            if not self._attachments.is_attached(message.agent_id):
                raise no_such_bank()
        else:
            bank = self._may(message.viewer, "read")
        self._recalling = self._recalling or Recalling(self.key, self.store, self._residents)
        return self._recalling.recall(self._view(message.viewer, bank), message)

    @handles(RemoveMemories)
    @in_turn
    def _remove(self, message: RemoveMemories) -> AsyncFuture[Removed]:
        bank = self._may(message.viewer, "admin")
        view, removed = self._view(message.viewer), RowCount()

        def left() -> BankRow:
            return bank._replace(memories=max(bank.memories - removed.rows, 0))

        def applied() -> None:
            self._memories_removed()
            self._hold_bank(left())

        return self.commit_or_refuse(
            *memories.remove(self.key, message.choice),
            counts=removed,
            reply=lambda: Removed(view._replace(row=left()), removed.rows),
            applied=applied,
        )

    @handles(CensorMemories)
    @in_turn
    def _censor(self, message: CensorMemories) -> AsyncFuture[Removed]:
        if message.choice.owner_id == message.viewer.user_id:
            self._seen_by(message.viewer)
        else:
            self._may(message.viewer, "admin")
        view, censored = self._view(message.viewer), RowCount()
        return self.commit_or_refuse(
            *censoring.censor(self.key, message.choice, self._clock()),
            counts=censored,
            reply=lambda: Removed(view, censored.rows),
            applied=self._memories_removed,
            notices=reloads(message.quoting, message.parts),
        )

    def _memories_removed(self) -> None:
        if self._recalling is not None:
            self._recalling.resident.removed()

    # for maintainers

    def concerns(self, user_id: str) -> bool:
        """Return whether the bank belongs to this user or concerns one of its agents; also takes an agent's id."""
        if self._attachments.concerns(user_id) or (self._bank is not None and self._bank.owner_id == user_id):
            return True
        return self._recalling is not None and self._recalling.resident.concerns(user_id)

    @property
    def engaged(self) -> bool:
        """Return whether a recall waits for the store."""
        return self._recalling is not None and self._recalling.under_way

    def on_finished(self) -> None:
        """Drop the memories."""
        super().on_finished()
        if self._recalling is not None:
            self._recalling.resident.drop()

    @property
    def title(self) -> str | None:
        """The bank's name."""
        return self._bank and self._bank.name

    def snapshot(self) -> dict[str, Any]:
        """Show the bank and its attachments, never the texts of memories."""
        bank = self._bank
        if bank is None:
            return {"destroyed": True}
        return {
            "name": bank.name,
            "owner": bank.owner,
            "access": bank.access,
            "memories": bank.memories,
            "in_memory": 0 if self._recalling is None else self._recalling.in_memory,
            "attachments": {row.agent: row.permission for row in self._attachments.attached.values()},
        }
