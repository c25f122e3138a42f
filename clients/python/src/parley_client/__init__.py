"""Python client of Parley, an API gateway for workspaces of AI agents.

`Parley` is synchronous, `AsyncParley` asynchronous; both have the same methods, one for each service.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from parley_client._version import __version__
from parley_client.errors import (
    AccessError,
    BadSignature,
    EntityError,
    GatewayError,
    InvalidSetting,
    LimitError,
    NoConnection,
    ParleyError,
    Refused,
    RequestError,
    UnexpectedAnswer,
)

if TYPE_CHECKING:
    from parley_client._async.client import AsyncParley
    from parley_client._async.event_stream import AsyncEventStream
    from parley_client._async.figure_stream import AsyncFigureStream
    from parley_client._async.pages import AsyncPages
    from parley_client._async.streams import AsyncChatStream, AsyncZoneStream
    from parley_client._decoding import encode
    from parley_client._sync.client import Parley
    from parley_client._sync.event_stream import EventStream
    from parley_client._sync.figure_stream import FigureStream
    from parley_client._sync.pages import Pages
    from parley_client._sync.streams import ChatStream, ZoneStream
    from parley_client.answers import (
        Answer,
        ChatDelta,
        ChatDone,
        Page,
        SignedEvent,
        StreamSecret,
        ZoneMembership,
        ZoneMessage,
    )
    from parley_client.figures import Figures
else:
    # Imported at their first use, because `parley` and programs with one of the two clients need few of them.
    _MODULES = {
        "Answer": "parley_client.answers",
        "AsyncChatStream": "parley_client._async.streams",
        "AsyncEventStream": "parley_client._async.event_stream",
        "AsyncFigureStream": "parley_client._async.figure_stream",
        "AsyncPages": "parley_client._async.pages",
        "AsyncParley": "parley_client._async.client",
        "AsyncZoneStream": "parley_client._async.streams",
        "ChatDelta": "parley_client.answers",
        "ChatDone": "parley_client.answers",
        "ChatStream": "parley_client._sync.streams",
        "EventStream": "parley_client._sync.event_stream",
        "FigureStream": "parley_client._sync.figure_stream",
        "Figures": "parley_client.figures",
        "Page": "parley_client.answers",
        "Pages": "parley_client._sync.pages",
        "Parley": "parley_client._sync.client",
        "SignedEvent": "parley_client.answers",
        "StreamSecret": "parley_client.answers",
        "ZoneMembership": "parley_client.answers",
        "ZoneMessage": "parley_client.answers",
        "ZoneStream": "parley_client._sync.streams",
        "encode": "parley_client._decoding",
    }

    def __getattr__(name):
        if name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name in ("answers", "figures", "records"):
            value = import_module(f"parley_client.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted(globals().keys() | __all__)


__all__ = [
    "AccessError",
    "Answer",
    "AsyncChatStream",
    "AsyncEventStream",
    "AsyncFigureStream",
    "AsyncPages",
    "AsyncParley",
    "AsyncZoneStream",
    "BadSignature",
    "ChatDelta",
    "ChatDone",
    "ChatStream",
    "EntityError",
    "EventStream",
    "FigureStream",
    "Figures",
    "GatewayError",
    "InvalidSetting",
    "LimitError",
    "NoConnection",
    "Page",
    "Pages",
    "Parley",
    "ParleyError",
    "Refused",
    "RequestError",
    "SignedEvent",
    "StreamSecret",
    "UnexpectedAnswer",
    "ZoneMembership",
    "ZoneMessage",
    "ZoneStream",
    "__version__",
    "encode",
]
