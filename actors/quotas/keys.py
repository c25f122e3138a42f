"""The quota of an API key with a limit of its own, beside its user's."""

from actors.ids import Clock
from actors.quotas.actor import QuotaActor
from actors.quotas.messages import KEY_QUOTA
from actors.webhooks.outbox import Outbox
from persistence import quotas
from persistence.quotas import QuotaRow
from persistence.store import Query, Store, Write


class KeyQuotaActor(QuotaActor):
    """Counts the requests of one API key, as `QuotaActor` does a user's, without events; its key is the key's id."""

    kind = KEY_QUOTA
    __slots__ = ()

    def __init__(self, key: str, store: Store, clock: Clock, outbox: Outbox) -> None:
        super().__init__(key, store, clock, outbox)
        self._thresholds = ()

    def _stored_window(self) -> Query[QuotaRow]:
        return quotas.of_key(self.key)

    def _reservation(self, day: int, bound: int) -> Write:
        return quotas.reserve_for_key(self.key, day, bound)

    def _event(self, kind: str, at: int | None, **more: int) -> tuple[Write, ...]:
        return ()

    def concerns(self, user_id: str) -> bool:
        """Return False: it holds nothing of the user, and what it stores is refused once the key is gone."""
        return False
