"""The watch over a caller's session or API key while it hears a run or a streamed answer."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from actors.runtime.directory import Directory
from actors.sessions.messages import Caller, ended
from actors.sessions.open_streams import PeriodicUse

T = TypeVar("T")


class CredentialWatch:
    """An `OpenStream` that raises the end of the caller's credential as an error, and counts as a use of its session.

    Args:
        caller: the holder of the session or API key.
        directory: reaches the caller's session or API key.
        use_every_s: seconds between the times that it counts as a use.
        hears: whether the caller hears anything yet; until then the answer does not depend on the credential.
    """

    def __init__(self, caller: Caller, directory: Directory, use_every_s: float, *, hears: bool = True) -> None:
        self.user_id, self.credential_id = caller.user_id, caller.credential_id
        self._hears, self._has_ended = hears, False
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = loop.create_future()
        self._now = loop.time
        self._uses = PeriodicUse(self, caller, directory, use_every_s)
        self._using: asyncio.Task[None] | None = None  # beside the run, which does not wait for the session's node

    def use(self) -> None:
        """Look whether the credential has ended, which counts as a use of its session, beside the run."""
        self._using = asyncio.create_task(self._uses.use())

    def begin(self) -> None:
        """Note that the caller hears something from now on."""
        self._hears = True
        self._look()

    def end(self, reason: str) -> None:
        """Note that the credential has ended."""
        self._has_ended = True
        self._look()

    def _look(self) -> None:
        if self._hears and self._has_ended and not self._over.done():
            self._over.set_result(None)

    async def unless_ended(
        self, running: Coroutine[Any, Any, T], give_up: Callable[[asyncio.Task[T]], object] | None = None
    ) -> T:
        """Wait for a coroutine; its task is given to `give_up`, or cancelled, once the credential has ended.

        Raises:
            InvalidCredential: the session or API key has ended.
        """
        task = asyncio.create_task(running)
        try:
            while not await self._first_of(task):
                self.use()
        except asyncio.CancelledError:
            task.cancel()
            raise
        if self._over.done():
            if give_up is None:
                task.cancel()
            else:
                give_up(task)
            raise ended()
        return await task

    async def _first_of(self, task: asyncio.Task[T]) -> bool:
        """Wait for a task or the end of the credential, until the next use; return whether one of them has come."""
        until_use_s = max(self._uses.due_at - self._now(), 0)
        done, _ = await asyncio.wait((task, self._over), timeout=until_use_s, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
