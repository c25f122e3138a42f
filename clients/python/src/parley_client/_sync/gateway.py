# Made by `make client` from parley_client/_async: don't edit.
"""The gateway itself."""

from parley_client._decoding import decode
from parley_client._sync.requests import Routes
from parley_client.records import Health


class Gateway(Routes):
    """The gateway itself."""

    def health(self) -> Health:
        """Read how the gateway is: version, up-time, storage.

        Example:
            client.gateway.health()
        """
        return decode(Health, self._client.request("GET", "/api/health"))
