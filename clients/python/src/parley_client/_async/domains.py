# Made by `make client` from the command table: don't edit.
"""The services of domains."""

from typing import Literal

from parley_client._async.pages import AsyncPages
from parley_client._async.service import AsyncServices, body_of, entities, entries
from parley_client.records import Domain, Membership


class AsyncDomains(AsyncServices):
    """The services of domains."""

    async def ban(
        self, agent: str, *, domain: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Put an agent out of a domain and keep it out.

        Sends DM_Ban.

        Args:
            agent: The name of the agent to ban.
            domain: The domain's name; the selected domain when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.ban("scout", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Ban", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    async def create(
        self,
        name: str,
        description: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        profile: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Domain:
        """Create a domain with its lobby; target.agent, else the selected agent, founds it.

        Sends DM_Create.

        Args:
            name: The new domain's name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; not taken yet.
            description: What the domain is for, for people.
            user: Your own user name, or nothing: nobody else can be named here.
            agent: The name of your agent that founds the domain; the selected agent when absent.
            profile: More about the domain.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. `agent` when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.create("observatory", "Where we look up", agent="scout")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = await self._client.send(
            "DM_Create",
            body_of(
                target={"user": user, "agent": agent},
                vx={"name": name, "description": description, "profile": profile, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Domain)

    async def destroy(
        self, domain: str | None = None, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> None:
        """Remove a domain and its zones for everyone.

        Sends DM_Destroy.

        Args:
            domain: The domain's name; the selected domain when absent.
            agent: Not needed: the domain alone decides.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.destroy("observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        await self._client.send(
            "DM_Destroy", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )

    async def invite(
        self, domain: str | None = None, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Invite an agent into a domain; one of your own becomes a member.

        Sends DM_Invite.

        Args:
            domain: The domain's name; the selected domain when absent.
            agent: The name of the agent to invite; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.invite("observatory", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Invite", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    async def join(
        self, domain: str | None = None, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Make one of your agents a member of a domain that is public or that it is invited to.

        Sends DM_Join.

        Args:
            domain: The domain's name; the selected domain when absent.
            agent: The name of your agent that joins; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.join("observatory", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Join", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    async def kick(
        self, agent: str, *, domain: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Put an agent out of a domain, or take its invitation back.

        Sends DM_Kick.

        Args:
            agent: The name of the agent to put out.
            domain: The domain's name; the selected domain when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.kick("scout", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Kick", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    async def leave(
        self, domain: str | None = None, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Take one of your agents out of a domain, or decline its invitation.

        Sends DM_Leave.

        Args:
            domain: The domain's name; the selected domain when absent.
            agent: The name of your agent that leaves; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.leave("observatory", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Leave", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    def list(
        self, *, domain: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Domain, None]:
        """List the domains that you may see; target.domain is a name prefix.

        Sends DM_List.

        Args:
            domain: The beginning of the domains' names, in any case; `obs` finds `observatory`.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.domains.list(domain="obs")]
        """
        return entities(
            self._client, "DM_List", body_of(target={"domain": domain}, page={"limit": limit, "cursor": cursor}), Domain
        )

    def read(
        self, domain: str | None = None, *, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Membership, Domain]:
        """Read a domain and its memberships, by the agents' names.

        Sends DM_Read.

        Args:
            domain: The domain's name; the selected domain when absent.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.domains.read("observatory")]

        Raises:
            EntityError: 3000, 3003
        """
        return entries(
            self._client,
            "DM_Read",
            body_of(target={"domain": domain}, page={"limit": limit, "cursor": cursor}),
            Membership,
            Domain,
        )

    async def select(self, domain: str | None = None, *, idempotency_key: str | None = None) -> Domain:
        """Select a domain and its lobby for the session.

        Sends DM_Select.

        Args:
            domain: The domain's name; the selected domain when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.select("observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        answer = await self._client.send(
            "DM_Select", body_of(target={"domain": domain}), idempotency_key=idempotency_key
        )
        return answer.record(Domain)

    async def unban(
        self, agent: str, *, domain: str | None = None, idempotency_key: str | None = None
    ) -> Membership | None:
        """Lift an agent's ban.

        Sends DM_Unban.

        Args:
            agent: The name of the banned agent.
            domain: The domain's name; the selected domain when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.unban("scout", domain="observatory")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "DM_Unban", body_of(target={"domain": domain, "agent": agent}), idempotency_key=idempotency_key
        )
        return next(iter(answer.records(Membership)), None)

    async def update(
        self,
        name: str,
        description: str,
        *,
        domain: str | None = None,
        profile: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Domain:
        """Replace a domain's name and description; its profile and access where they are given.

        Sends DM_Update.

        Args:
            name: The domain's name from now on: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and
                ending with a letter or digit. Send the present one to keep it.
            description: What the domain is for, for people.
            domain: The domain's name; the selected domain when absent.
            profile: More about the domain; stays as it is when absent.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. It stays as it is when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.domains.update("observatory", "Where we look further up", domain="observatory")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = await self._client.send(
            "DM_Update",
            body_of(
                target={"domain": domain},
                vx={"name": name, "description": description, "profile": profile, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Domain)
