"""The open streams of this process that end with the credential of their reader."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Protocol

from actors.errors import InvalidCredential, Overloaded, ServiceError, StateConflict, UserSuspended
from actors.runtime.directory import Directory
from actors.sessions.messages import Caller, CredentialsEnded, ReadSession, UseSession
from persistence.store import StoreUnavailable

MAX_STREAMS = 100
"""The largest number of streams that a session or API key has open at a node."""

USE_EVERY_S = 15.0
"""Seconds between the times that a stream counts as a use of its session; fewer where sessions are short."""


def use_every_s(session_ttl_ms: int) -> float:
    """Return the seconds between the times that a stream counts as a use of its session."""
    return min(USE_EVERY_S, session_ttl_ms / 3000)


class OpenStream(Protocol):
    """A stream of a caller."""

    @property
    def user_id(self) -> str:
        """Its user."""
        ...

    @property
    def credential_id(self) -> str:
        """Its session or API key."""
        ...

    def end(self, reason: str) -> None:
        """End it soon; the first reason counts."""
        ...


async def use_session(stream: OpenStream, directory: Directory, kind: str, *, counts: bool = True) -> None:
    """End a stream if its session or API key, of this kind, has ended; else it is a use of that, if it `counts`."""
    try:
        if counts:
            await directory.ask(kind, stream.credential_id, UseSession())
        else:
            await directory.ask(kind, stream.credential_id, ReadSession())
    except InvalidCredential:
        stream.end("expired")
    except UserSuspended:
        stream.end("suspended")
    except (ServiceError, StoreUnavailable):
        pass  # its state stays unknown until the next use


class PeriodicUse:
    """Uses the session or API key of a stream's caller every `every_s` seconds; see `use_session`.

    Attributes:
        due_at: the time of the next use, on the event loop's clock.
    """

    def __init__(
        self, stream: OpenStream, caller: Caller, directory: Directory, every_s: float, *, counts: bool = True
    ) -> None:
        self._stream, self._kind, self._directory = stream, caller.kind, directory
        self._every_s, self._counts = every_s, counts
        self._now = asyncio.get_running_loop().time
        self.due_at = self._now() + every_s

    @property
    def due(self) -> bool:
        """Whether the time of the next use has come."""
        return self._now() >= self.due_at

    def use(self) -> Coroutine[Any, Any, None]:
        """Begin the next period, and return the use to await."""
        self.due_at = self._now() + self._every_s
        return use_session(self._stream, self._directory, self._kind, counts=self._counts)


class OpenStreams:
    """All of them; `Core` ends those whose credentials end."""

    def __init__(self) -> None:
        self._open: dict[OpenStream, bool] = {}
        self._of_credential: Counter[str] = Counter()
        self._closing = False

    def __len__(self) -> int:
        """Return the number of those on a connection."""
        return sum(self._open.values())

    def add(self, stream: OpenStream, *, connected: bool = True, limited: bool = False) -> None:
        """Add a stream; one that is not `connected` waits for a stream that takes it, maybe at another node.

        Raises:
            Overloaded: the gateway is stopping.
            StateConflict: the stream is `limited`, and its credential has as many as it may.
        """
        if self._closing:
            raise Overloaded("The gateway is stopping; try again in a few seconds.", retry_after=5)
        if limited and self.of(stream.credential_id) >= MAX_STREAMS:
            raise StateConflict(f"This session or API key has {MAX_STREAMS} streams open, the limit; close some.")
        self._open[stream] = connected
        self._of_credential[stream.credential_id] += 1

    def discard(self, stream: OpenStream) -> None:
        """Remove a stream, if it is there."""
        if self._open.pop(stream, None) is not None:
            self._of_credential[stream.credential_id] -= 1
            if not self._of_credential[stream.credential_id]:
                del self._of_credential[stream.credential_id]

    def of(self, credential_id: str) -> int:
        """Count the streams of a credential."""
        return self._of_credential[credential_id]

    def credentials_ended(self, over: CredentialsEnded) -> None:
        """End the streams of credentials that have ended."""
        for stream in list(self._open):
            if over.ends(stream.user_id, stream.credential_id):
                stream.end(over.reason)

    def close(self, reason: str) -> None:
        """End all streams and take no more."""
        self._closing = True
        for stream in list(self._open):
            stream.end(reason)
