from collections.abc import Awaitable, Callable

from nats.aio.subscription import Subscription
from nats.aio.transport import Transport

class Client:
    _pending: list[bytes]
    _pending_data_size: int
    _transport: Transport
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
    async def subscribe(self, subject: str) -> Subscription: ...
    async def _connect_to_server(self, s: object) -> None: ...
    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None
    ) -> None: ...
    async def close(self) -> None: ...
