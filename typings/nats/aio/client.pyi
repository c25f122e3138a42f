from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

class Client:
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def max_payload(self) -> int: ...
    async def connect(
        self,
        servers: str,
        *,
        name: str,
        error_cb: Callable[[Exception], Awaitable[None]],
        disconnected_cb: Callable[[], Awaitable[None]],
        reconnected_cb: Callable[[], Awaitable[None]],
        closed_cb: Callable[[], Awaitable[None]],
        max_reconnect_attempts: int,
        reconnect_time_wait: float,
        ping_interval: float,
        pending_size: int,
    ) -> None: ...
    def publish(self, subject: str, payload: bytes = b"", reply: str = "") -> Coroutine[Any, Any, None]: ...
    async def subscribe(self, subject: str, *, cb: Callable[[Msg], Awaitable[None]]) -> Subscription: ...
    async def close(self) -> None: ...
