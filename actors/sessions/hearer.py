"""Who hears a run, as long as its session or API key lives."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from actors.sessions.messages import Caller, ended

T = TypeVar("T")


class Hearer:
    """An `OpenStream` of a caller that is told as an error that its credential has ended.

    Args:
        caller: who hears.
        hears: whether anything is heard yet; what is not is answered whatever becomes of the credential.
    """

    def __init__(self, caller: Caller, *, hears: bool = True) -> None:
        self.user_id, self.credential_id = caller.user_id, caller.credential_id
        self._hears, self._has_ended = hears, False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self) -> None:
        """Note that it hears from now on."""
        self._hears = True
        self._look()

    def end(self, reason: str) -> None:
        """Let it hear no more."""
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
            await asyncio.wait((task, self._over), return_when=asyncio.FIRST_COMPLETED)
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
