"""Limits on wrong passwords for a user and from a place (docs/contract.md, "Users and passwords")."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from actors.throttle import AttemptLimiter, Throttle

WINDOW_S = 300
FAILURES_OF_USER_HERE = 10
FAILURES_OF_PLACE = 30
FAILURES_OF_USER = 100

AT_ONCE_OF_USER_HERE = 4
AT_ONCE_OF_PLACE = 16
AT_ONCE_OF_USER = 8
"""The number of attempts in the hasher at once; it has room for 64, so no user and no place can fill it."""

WAITING = 256
"""The number of attempts that wait for others of their place or user; one user from one place has a lower limit."""

TOO_MANY = "Too many failed log-ons; wait a few minutes, then try again."


class PasswordAttempts:
    """Limits wrong passwords: of a user from a place, from a place, and of a user from all places together.

    Attributes:
        on_failed: called with the user of each attempt that failed here.
    """

    def __init__(self, ticks: Callable[[], float]) -> None:
        self.on_failed: Callable[[str], None] = lambda _: None
        self._of_user_here = AttemptLimiter(
            Throttle(FAILURES_OF_USER_HERE, WINDOW_S, ticks), at_once=AT_ONCE_OF_USER_HERE
        )
        self._of_place = AttemptLimiter(
            Throttle(FAILURES_OF_PLACE, WINDOW_S, ticks), at_once=AT_ONCE_OF_PLACE, waiting=WAITING
        )
        self._of_user = AttemptLimiter(
            Throttle(FAILURES_OF_USER, WINDOW_S, ticks), at_once=AT_ONCE_OF_USER, waiting=WAITING
        )

    @asynccontextmanager
    async def one(
        self, user: str, place: str, is_known: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[Callable[[], None]]:
        """Make one attempt; the caller calls the yielded function if the password was wrong.

        `is_known` returns whether the user logged on from this place recently. There the limit on the whole user does
        not apply, so that attempts from many other places can't lock users out of their own.

        Raises:
            TooManyAttempts: too many failed already.
            Overloaded: too many wait already.
        """
        here = f"{place} {user}"
        async with AsyncExitStack() as stack:
            # The user's limit comes first, so that attempts waiting for it take no room of others at this address.
            await stack.enter_async_context(self._of_user_here.one(here, TOO_MANY))
            await stack.enter_async_context(self._of_place.one(place, TOO_MANY))
            if not await is_known():
                await stack.enter_async_context(self._of_user.one(user, TOO_MANY))

            def failed() -> None:
                self._of_user_here.failed(here)
                self._of_place.failed(place)
                self._of_user.failed(user)
                self.on_failed(user)

            yield failed

    def failed_elsewhere(self, user: str) -> None:
        """Count an attempt that failed on another node, from a place that is that node's."""
        self._of_user.failed(user)
