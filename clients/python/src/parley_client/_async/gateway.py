"""The gateway itself."""

from parley_client._async.requests import AsyncRoutes
from parley_client._decoding import decode
from parley_client.records import Health


class AsyncGateway(AsyncRoutes):
    """The gateway itself."""

    async def health(self) -> Health:
        """Read how the gateway is: version, up-time, storage.

        Example:
            await client.gateway.health()
        """
        return decode(Health, await self._client.request("GET", "/api/health"))
