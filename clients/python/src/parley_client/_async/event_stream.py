"""The stream of a user's own events."""

from collections.abc import AsyncIterator

from parley_client._async.following import AsyncFollowed
from parley_client._decoding import member
from parley_client.answers import SignedEvent, StreamSecret


class AsyncEventStream(AsyncFollowed):
    """A user's own events as they happen, signed as deliveries to an endpoint are.

    The first item is the secret that signs them; it comes again only where it has changed. The stream begins when it is
    iterated, now or after the event `after`, and goes on by itself after each cut: nothing is missed and nothing comes
    twice. It ends where the gateway ends it for good; `reason` tells why. `position` is the id of the last event, from
    which a later stream goes on. `on_loss` is called before each pause after a cut, with the error and the seconds
    until the next try.
    """

    secret: str | None = None
    """The secret that signs the events, once it is known."""

    async def __aiter__(self) -> AsyncIterator[StreamSecret | SignedEvent]:
        async for event in self._follow():
            if event.type not in ("message", "secret"):  # of a later gateway
                continue
            data = event.members()
            if event.type == "message":
                headers, body = member(dict[str, str], data, "headers"), member(str, data, "body")
                yield SignedEvent(event.id, headers, body.encode())
            elif (secret := member(str, data, "secret")) != self.secret:
                self.secret = secret
                yield StreamSecret(secret, event.id)
