"""Pushing: tells the receivers of push notifications that their tasks have ended."""

import asyncio
import logging
import random

from actors.agents.messages import AGENT, HearRun
from actors.conversations.ids import conversation_id, run_of
from actors.core import Core
from actors.errors import NotFound, ServiceError
from actors.sealing import WrongMasterKey
from actors.throttle import Shares
from actors.webhooks.messages import Outcome
from actors.webhooks.push import PushTarget, TaskEnd, seal_purpose
from actors.webhooks.schedule import RetrySchedule, asked_wait_s
from persistence import conversations, push_configs
from persistence.push_configs import DuePush
from persistence.store import StoreUnavailable, Unit

LOOK_EVERY_S = 1.0
"""The interval of the search for tasks that have ended, unless a new config wakes it."""

PAGE = 200
AT_ONCE = 32
"""The number of notifications of a node under way; beyond it, each user has only one."""

AT_ONCE_OF_USER = 8
"""The same of one user, so that receivers that hang hold up no other user's."""

log = logging.getLogger("parley.webhooks")


async def keep_pushing(core: Core) -> None:
    """Send the push notifications that are due; run it as a task.

    The rows decide, so that none is lost in a crash. Of several nodes each sends those of its own shards.
    """
    pushing = Pushing(core)
    core.sender.join(pushing.stop)
    try:
        while not pushing.stopping:
            try:
                await pushing.look()
            except StoreUnavailable as error:
                log.warning("due push notifications could not be looked for: %s", error)
            await core.pushing.wait(LOOK_EVERY_S)
    finally:
        await pushing.close()
        await core.sender.leave(pushing.stop)


class Pushing:
    """The notifications of a node under way."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._schedule = RetrySchedule(core.options.webhooks.retry_delays_s, random.random)
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._shares = Shares(AT_ONCE, AT_ONCE_OF_USER, 1)  # of users in the tasks
        self.stopping = core.sender.stopping

    def stop(self) -> None:
        """Begin no more attempts."""
        self.stopping = True

    async def close(self) -> None:
        """Cut off the attempts under way; their rows make them due again."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def look(self) -> None:
        """Begin to tell the ends of tasks that are due, as far as their users have room.

        Raises:
            StoreUnavailable: the store can't be read.
        """
        core, after = self._core, ("", "")
        while not self.stopping:
            full = self._shares.without_room
            page = await core.store.fetch(push_configs.due_at(core.clock(), after, PAGE, full))
            for due in page:
                key = after = due.config.message_id, due.config.id
                if self.stopping:
                    return
                if (
                    key in self._tasks
                    or not core.placement.mine(due.agent_id)
                    or not self._shares.has_room(due.user_id)
                ):
                    continue
                end = await self._end_of(due)
                if end is not None:
                    self._begin(key, due, end)
            if len(page) < PAGE:
                return

    def _begin(self, key: tuple[str, str], due: DuePush, end: TaskEnd) -> None:
        task = self._tasks[key] = asyncio.create_task(self._tell(due, end))
        self._shares.take(due.user_id)

        def ended(_: object) -> None:
            if not self._shares.has_room(due.user_id):  # others of the user's may wait
                self._core.pushing.wake()
            del self._tasks[key]
            self._shares.leave(due.user_id)

        task.add_done_callback(ended)

    async def _end_of(self, due: DuePush) -> TaskEnd | None:
        """Return the end of a task; None if it is still under way, or nobody can tell now."""
        state = "failed" if due.replied_at is None else "completed"
        if due.mark == "cancelled":
            state = "cancelled"
        if state == "failed":
            hear = HearRun(due.user_id, due.config.message_id, 0)
            try:
                heard = await self._core.directory.ask(AGENT, due.agent_id, hear)
            except NotFound:
                pass  # the agent is destroyed
            except ServiceError as error:
                log.warning("an agent could not be asked for the state of a task: %s", error)
                return None
            else:
                if heard.state == "working" or await self._has_ended_since(due):
                    return None  # the next look sees the end
        context = due.name or conversation_id(due.config.conversation_id, due.agent_id)
        return TaskEnd(run_of(due.config.message_id), context, state, due.ended_at or due.said_at)

    async def _has_ended_since(self, due: DuePush) -> bool:
        """Return whether the store knows the end by now, because it came after the look."""
        replies = await self._core.store.fetch(conversations.reply_to(due.config.conversation_id, due.seq))
        said = await self._core.store.fetch(conversations.message(due.user_id, due.config.message_id))
        return bool(replies) or not said or said[0][1].mark is not None

    async def _tell(self, due: DuePush, end: TaskEnd) -> None:
        """Make one attempt, and note when the next one is due, if any."""
        core, config = self._core, due.config
        try:
            packed = core.sealer.open(config.target, seal_purpose(config.message_id, config.id))
        except WrongMasterKey:
            log.warning("a push notification config can't be opened with the master key")
            outcome = Outcome(None, 0, "address_refused", None)
        else:
            target = PushTarget.unpacked(packed)
            sender = await core.sender.opened()
            outcome = await sender.post(due.user_id, target.url, target.headers(), end.body())
        try:
            await core.store.commit(Unit((push_configs.attempted(config, self._next(due, outcome)),)))
        except StoreUnavailable as error:
            log.warning("an attempt of a push notification was not noted and will be repeated: %s", error)

    def _next(self, due: DuePush, outcome: Outcome) -> int | None:
        """Return the time of the next attempt; None after a success, and where there is none."""
        if outcome.error is None or outcome.status == 410:
            return None
        now = self._core.clock()
        asked_s = asked_wait_s(outcome.status, outcome.retry_after, now)
        wait_ms = self._schedule.wait_ms(due.config.failed + 1, asked_s)
        return None if wait_ms is None else now + wait_ms
