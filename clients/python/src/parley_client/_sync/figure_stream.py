# Made by `make client` from parley_client/_async: don't edit.
"""The stream of a gateway's figures."""

from collections.abc import Iterator

from parley_client._decoding import decode
from parley_client._sync.following import Followed
from parley_client.figures import Figures


class FigureStream(Followed):
    """A gateway's figures, each second while it is iterated.

    After a cut it goes on by itself; `on_loss` is called before each pause, with the error and the seconds until the
    next try. It ends where the gateway ends it for good; `reason` tells why.
    """

    def __iter__(self) -> Iterator[Figures]:
        for event in self._follow():
            if event.type == "message":
                yield decode(Figures, event.members())
