"""The one writer: group commit on the event loop, fencing of incarnations, and commits in doubt told right.

All waiting units become one transaction; then every caller is answered, in order. The bound is the batch, not a timer.
Each transaction stores its number beside what it changes (`parley_begin`). When the connection is lost within a
batch, a new one reads that number and so learns whether the batch is stored. If it is not, it is tried again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from persistence.batches import MAX_BATCH, Outcome, answer
from persistence.histogram import SIZES, Histogram
from persistence.postgres.constraints import Constraints
from persistence.postgres.session import RETRY_S, SILENT, FencedForEver, Unreachable, WriterSession
from persistence.postgres.transaction import BatchFailed, ConnectionLost, TakenOver, Transaction
from persistence.postgres.watching import Watch
from persistence.store import InDoubt, Settled, StoreUnavailable, Unit

PATIENCE_S = 5.0
"""How long units wait in an outage, in seconds from its beginning; later ones are refused at once."""

LEAST_S = 1.0
"""The same from when the outage is noticed, if the server hung before."""

TRY_S = 15.0
"""The longest time of one try to connect again, in seconds; the server may need some of it to end the lost session."""

TRIES = 3
"""How often a batch is tried whose connection is lost each time."""

UNREACHABLE = "the database can't be reached"
TAKEN_OVER = "another gateway has taken over the database"
MAY_BE_STORED = "the connection was lost within the commit, so this may be stored"
LOST_COMMITS = "the database has lost commits that were acknowledged"

log = logging.getLogger("parley.writer")


class _Waiting(NamedTuple):
    unit: Unit
    settled: Settled
    since: float


class Writer:
    """Commits units in the order of `submit`, many in one transaction. `start` it with an open session.

    `before_commit` runs in a thread just before each COMMIT; an exception from it fails the batch. Tests of failures
    inject their faults there. `node`: the id of a cluster's node. `on_over` is called once this gateway may store no
    more, with the reason.

    Attributes:
        certain: set while the connection is there and no commit is in doubt, so that reads see all that is stored; set
            as well once this gateway may store no more.
    """

    def __init__(
        self,
        url: str,
        before_commit: Callable[[], None] | None = None,
        node: str | None = None,
        on_over: Callable[[str], None] | None = None,
    ) -> None:
        self.session = WriterSession(url, self._connection_ended, node)
        self.constraints = Constraints()
        self.certain = asyncio.Event()
        self.batches = 0
        self.units = 0
        self.commit_s = Histogram()
        self.batch_units = Histogram(SIZES)
        self.exclusive = 0
        self.in_doubt = 0
        self._url = url
        self._before_commit = before_commit
        self._on_over = on_over
        self._queue: deque[_Waiting] = deque()
        self._fenced: set[int] = set()
        self._number = 0
        self._transaction: Transaction | None = None
        self._acknowledged = 0
        self._over: str | None = None
        self._outage: asyncio.TimerHandle | None = None  # when the patience with it ends
        self._away = False
        self._reasons: set[str] = set()  # of the outage, each logged once
        self._told: str | None = None
        self._closing = False
        self._woken: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._work: asyncio.Task[None] | None = None

    @property
    def depth(self) -> int:
        """The number of units that wait for a commit."""
        return len(self._queue)

    @property
    def oldest_s(self) -> float:
        """The seconds that the oldest unit has waited; 0 if none waits."""
        return monotonic() - self._queue[0].since if self._queue else 0.0

    @property
    def over(self) -> str | None:
        """Why this gateway may store no more, or None."""
        return self._over

    @property
    def trouble(self) -> str | None:
        """Why units are refused now, or None."""
        away = f"{UNREACHABLE}: {self._told}" if self._told else UNREACHABLE
        return self._over or (away if self._away else None)

    async def start(self) -> None:
        """Take the database and begin to work.

        Raises:
            StoreLocked: another gateway has it.
        """
        await self.session.open()
        assert self.session.connection is not None
        await self.constraints.read(self.session.connection.fetch)
        self.certain.set()
        self._work = asyncio.create_task(self._run(), name="writer")

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit; `settled` is called on the event loop when its batch has ended."""
        if self._closing:
            settled(StoreUnavailable("the store is closed"))
            return
        self._queue.append(_Waiting(unit, settled, monotonic()))
        if self._away:
            self._loop.call_soon(self._lose_patience)
        self._wake()

    def forget(self, incarnation: int) -> None:
        """Drop the fence of an incarnation that can submit no more."""
        self._fenced.discard(incarnation)

    async def close(self) -> None:
        """Commit all waiting units and take no more; those that can't be stored within `PATIENCE_S` are refused."""
        self._closing = True
        self._wake()
        if self._work is not None:
            await asyncio.shield(self._work)
        self._end_outage()
        await self.session.close()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _connection_ended(self) -> None:
        """Have a lost connection replaced at once, whether units wait or not."""
        self.certain.clear()
        self._begin_outage(self._loop.time())
        self._wake()

    def _begin_outage(self, since: float) -> None:
        """Let all units wait up to one time, however often the connection is tried and lost until it is there again."""
        if self._outage is None:
            until = max(since + PATIENCE_S, self._loop.time() + LEAST_S)
            self._outage = self._loop.call_at(until, self._lose_patience)

    def _lose_patience(self) -> None:
        if self._outage is not None:  # else it is over
            self._away = True
            self._refuse(len(self._queue), StoreUnavailable(UNREACHABLE))

    def _end_outage(self) -> None:
        if self._outage is not None:
            self._outage.cancel()
        self._outage, self._away, self._told = None, False, None
        self._reasons.clear()

    def _note(self, error: Unreachable) -> None:
        """Keep why a try failed, and log it once in an outage, however the reasons alternate."""
        self._told, reason = error.told, str(error)
        if reason not in self._reasons:
            self._reasons.add(reason)
            log.error("%s: %s", UNREACHABLE, reason)

    async def _run(self) -> None:
        while not (self._closing and not self._queue):
            if self.session.connection is None and self._over is None:
                await self._try_to_reconnect()
            elif self._over is not None and self._queue:
                self._refuse(len(self._queue), StoreUnavailable(self._over))
            elif self._queue:
                await self._store_a_batch()
            else:
                self._woken = self._loop.create_future()
                await self._woken
        await asyncio.sleep(0)  # until the last callers have been answered

    async def _store_a_batch(self) -> None:
        batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
        began = monotonic()
        outcomes = await self._outcomes([waiting.unit for waiting in batch])
        self._transaction = None
        self.batches += 1
        self.units += len(batch)
        self.commit_s.observe(monotonic() - began)
        self.batch_units.observe(len(batch))
        # after the next batch has begun, so that the database works meanwhile
        self._loop.call_soon(answer, [waiting.settled for waiting in batch], outcomes)

    async def _try_to_reconnect(self) -> None:
        """Try once to replace the lost connection."""
        self._begin_outage(self._loop.time())
        try:
            async with asyncio.timeout(TRY_S):
                await self._reconnect()
        except Unreachable:
            await asyncio.sleep(RETRY_S)
        except TimeoutError:
            self._note(Unreachable(SILENT))
            await asyncio.sleep(RETRY_S)
        except FencedForEver:
            pass  # it has been said; what waits is refused next

    def _refuse(self, count: int, error: StoreUnavailable) -> None:
        """Refuse the units that have waited longest."""
        refused = [self._queue.popleft() for _ in range(count)]
        outcomes = self._failed([waiting.unit for waiting in refused], error)
        answer([waiting.settled for waiting in refused], outcomes)

    async def _reconnect(self) -> int:
        """Replace the lost connection; return the number of the last batch that is stored.

        Raises:
            Unreachable: that is not possible now.
            FencedForEver: this gateway may store no more.
        """
        self.certain.clear()
        try:
            number = await self.session.reopen()
            if number < self._acknowledged:
                raise FencedForEver(LOST_COMMITS)
        except FencedForEver as over:
            self._end(str(over))
            raise
        except Unreachable as error:
            self._note(error)
            raise
        self.certain.set()
        self._end_outage()
        log.info("connected to the database again")
        return number

    def _end(self, reason: str) -> None:
        """Refuse everything from now on, because what actors have in memory may not be what is stored."""
        log.critical("%s: this gateway stores nothing any more; restart it", reason)
        self._over = reason
        self.session.drop()
        self.certain.set()
        self._end_outage()
        if self._on_over is not None:
            self._on_over(reason)

    async def _outcomes(self, units: list[Unit]) -> list[Outcome]:
        """Store a batch; return each unit's outcome."""
        for _ in range(TRIES):
            self._transaction = None
            try:
                return await self._try(units)
            except BatchFailed as failed:
                log.error("a batch of %d units failed: %s", len(units), failed)
                return self._failed(units, StoreUnavailable(str(failed)))
            except TakenOver:
                self._end(TAKEN_OVER)
                return self._failed(units, StoreUnavailable(TAKEN_OVER))
            except ConnectionLost as lost:
                log.error("the connection was lost with a batch of %d units: %s", len(units), lost)
                self.in_doubt += self._transaction is not None and self._transaction.commit_sent
            try:
                number = await self._reconnect_in_time()
            except (Unreachable, FencedForEver) as error:
                number = error.last if isinstance(error, FencedForEver) else None
                if number is None or number < self._number:
                    sent = number is None and self._transaction is not None and self._transaction.commit_sent
                    return self._failed(units, InDoubt(MAY_BE_STORED) if sent else StoreUnavailable(str(error)))
            if self._transaction is not None and number == self._number:
                log.info("the batch of %d units had been stored", len(units))
                return self._stored(self._transaction)
        return self._failed(units, StoreUnavailable("the connection was lost each time"))

    async def _try(self, units: list[Unit]) -> list[Outcome]:
        if self.session.connection is None:
            raise ConnectionLost("it ended")
        began = self._loop.time()
        with Watch(self._url, self.session.connection, lambda: self._begin_outage(began)):
            transaction = self._begin()
            stored = await transaction.store(self.session.node, self._number, units)
            if not stored and transaction.takes_steps:
                transaction = self._begin()
                stored = await transaction.store_in_steps(self.session.node, self._number, units)
            if not stored:
                transaction = self._begin()
                await transaction.store_apart(self.session.node, self._number, units)
        return self._stored(transaction)

    def _begin(self) -> Transaction:
        if self.session.connection is None:
            raise ConnectionLost("it ended")
        self._number += 1
        self._transaction = Transaction(
            self.session.connection, self.session.functions, self.constraints, self._fenced, self._before_commit
        )
        return self._transaction

    async def _reconnect_in_time(self) -> int:
        """Replace the lost connection as `_reconnect` does, with many tries, as long as units wait in an outage."""
        self.session.drop()
        self._begin_outage(self._loop.time())
        assert self._outage is not None
        try:
            async with asyncio.timeout_at(self._outage.when()):
                while True:
                    with suppress(Unreachable):
                        return await self._reconnect()
                    await asyncio.sleep(RETRY_S)
        except TimeoutError as error:
            raise Unreachable(UNREACHABLE) from error

    def _stored(self, transaction: Transaction) -> list[Outcome]:
        self._acknowledged = self._number
        self.exclusive += not transaction.shared
        self._fenced |= transaction.newly_fenced
        return transaction.outcomes

    def _failed(self, units: list[Unit], error: StoreUnavailable) -> list[Outcome]:
        for unit in units:
            self._fenced.update(unit.incarnations)
        return [error] * len(units)
