"""Runs: private chats on their way."""

from parley_client._async.requests import AsyncRoutes, segment_of
from parley_client._decoding import decode
from parley_client.records import Run


class AsyncRuns(AsyncRoutes):
    """Runs: private chats on their way."""

    async def read(self, run: str) -> Run:
        """Read a run.

        Args:
            run: its id, `run_...`: that of the user's message, or `run` of a streamed chat.

        Example:
            await client.runs.read("run_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such run (3000).
        """
        return decode(Run, await self._client.request("GET", f"/api/runs/{segment_of(run)}"))

    async def cancel(self, run: str) -> Run:
        """Stop a run; what was said so far is stored. One that has ended stays as it is.

        Example:
            await client.runs.cancel("run_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such run (3000).
        """
        # A repeat changes nothing more, so the route keeps no Idempotency-Key.
        return decode(Run, await self._client.request("POST", f"/api/runs/{segment_of(run)}/cancel", repeatable=True))
