"""The stream of a gateway's figures."""

from collections.abc import AsyncIterator

from parley_client._async.following import AsyncFollowed
from parley_client._decoding import decode
from parley_client.figures import Figures


class AsyncFigureStream(AsyncFollowed):
    """A gateway's figures, each second while it is iterated.

    After a cut it goes on by itself; `on_loss` is called before each pause, with the error and the seconds until the
    next try. It ends where the gateway ends it for good; `reason` tells why.
    """

    async def __aiter__(self) -> AsyncIterator[Figures]:
        async for event in self._follow():
            if event.type == "message":
                yield decode(Figures, event.members())
