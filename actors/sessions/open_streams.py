"""The open streams of this process that end with the credential of their reader."""

from typing import Protocol

from actors.errors import Overloaded
from actors.sessions.messages import CredentialsEnded


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


class OpenStreams:
    """All of them; `Core` ends those whose credentials end."""

    def __init__(self) -> None:
        self._open: set[OpenStream] = set()
        self._closing = False

    def __len__(self) -> int:
        """Return their number."""
        return len(self._open)

    def add(self, stream: OpenStream) -> None:
        """Add a stream.

        Raises:
            Overloaded: the gateway is stopping.
        """
        if self._closing:
            raise Overloaded("The gateway is stopping; try again in a few seconds.", retry_after=5)
        self._open.add(stream)

    def discard(self, stream: OpenStream) -> None:
        """Remove a stream, if it is there."""
        self._open.discard(stream)

    def of(self, credential_id: str) -> int:
        """Count the streams of a credential."""
        return sum(stream.credential_id == credential_id for stream in self._open)

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
