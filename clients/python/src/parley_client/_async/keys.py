"""API keys."""

from collections.abc import Mapping
from typing import Any

from parley_client._async.requests import AsyncRoutes, segment_of
from parley_client._decoding import decode
from parley_client.answers import listed
from parley_client.records import ApiKey, NewApiKey, SandboxKey


class AsyncKeys(AsyncRoutes):
    """API keys; making and listing them needs a session and an entitlement."""

    async def create(
        self,
        name: str,
        *,
        expires_in_days: int | None = None,
        scopes: Mapping[str, Any] | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> NewApiKey:
        """Make an API key; only this answer shows it.

        Args:
            name: its purpose.
            expires_in_days: days until it expires; absent: never.
            scopes: what it may do, such as `{"services": ["AP_*"], "agents": ["scout"]}`; absent: no restriction.
            limit: its requests a day, which also count for its user.
            idempotency_key: the key under which it is made once; one is made where absent.

        Example:
            await client.keys.create("nightly report", expires_in_days=90, scopes={"services": ["AP_*"]})

        Raises:
            AccessError: it needs a session (2003), or an entitlement (2004).
        """
        given = {"expires_in_days": expires_in_days, "scopes": scopes, "limit": limit}
        body = {"name": name} | {member: value for member, value in given.items() if value is not None}
        made = await self._client.request("POST", "/api/api-keys", body, idempotency_key=idempotency_key)
        return decode(NewApiKey, made)

    async def list(self) -> tuple[ApiKey, ...]:
        """List the user's API keys.

        Example:
            await client.keys.list()
        """
        return listed(ApiKey, await self._client.request("GET", "/api/api-keys"), "api_keys")

    async def revoke(self, key_id: str) -> None:
        """Revoke an API key at once; `key_id` is `key_...`.

        Example:
            await client.keys.revoke("key_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such key, or it is revoked already (3000).
        """
        await self._client.request("DELETE", f"/api/api-keys/{segment_of(key_id)}", repeatable=False)

    async def sandbox(self) -> SandboxKey:
        """Issue a sandbox key, with a throw-away user behind it; needs no credential.

        Example:
            await client.keys.sandbox()

        Raises:
            AccessError: the gateway issues none (2003).
            LimitError: too many for this address (4001).
        """
        return decode(SandboxKey, await self._client.request("POST", "/api/dev/sandbox-key", repeatable=False))
