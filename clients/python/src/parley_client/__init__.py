"""Python client of Parley, an API gateway for workspaces of AI agents.

`Parley` is synchronous, `AsyncParley` asynchronous; both have the same methods, one for each service.
"""

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
from parley_client._version import __version__
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
from parley_client.figures import Figures

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
