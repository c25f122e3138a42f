# Made by `make client` from the command table: don't edit.
"""The services of banks."""

from typing import Literal

from parley_client._async.pages import AsyncPages
from parley_client._async.service import AsyncServices, body_of, entities, entries
from parley_client.answers import Page
from parley_client.records import Attachment, Bank, Memory, RecalledMemory, RemovedMemories


class AsyncBanks(AsyncServices):
    """The services of banks."""

    async def accept(
        self, bank: str, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> tuple[Bank, Attachment]:
        """Accept an offer: attach one of your agents to the bank. Until then, the offer has no effect.

        Sends MB_Accept.

        Args:
            bank: The name of the bank that is offered.
            agent: The name of your agent that the bank is offered to; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.accept("field-notes", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "MB_Accept", body_of(target={"bank": bank, "agent": agent}), idempotency_key=idempotency_key
        )
        return answer.record(Bank), answer.item(Attachment)

    def agent_list(
        self, bank: str, *, agent: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Attachment, Bank]:
        """List the agents that are attached to a bank or offered it, with their permissions.

        Sends MB_AgentList.

        Args:
            bank: The bank's name.
            agent: Shows this agent alone; all of them when absent.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.banks.agent_list("field-notes")]

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        return entries(
            self._client,
            "MB_AgentList",
            body_of(target={"bank": bank, "agent": agent}, page={"limit": limit, "cursor": cursor}),
            Attachment,
            Bank,
        )

    async def censor(
        self, bank: str, *, agent: str | None = None, name: str | None = None, idempotency_key: str | None = None
    ) -> tuple[Bank, RemovedMemories]:
        """Redact memories for good: the one of a name (`*`: all), all by target.agent, or those that match both.

        Sends MB_Censor.

        Args:
            bank: The bank's name.
            agent: Takes the memories that this agent loaded; with `vx.name`, those that fit both. The selected
                agent is no default.
            name: The memory's name, or a document's name for all its parts; `*` for every memory. Needed unless
                `target.agent` is sent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.censor("field-notes", name="The Moon's distance")

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        answer = await self._client.send(
            "MB_Censor",
            body_of(target={"bank": bank, "agent": agent}, vx={"name": name}),
            idempotency_key=idempotency_key,
        )
        return answer.record(Bank), answer.item(RemovedMemories)

    async def create(
        self,
        bank: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        name: str | None = None,
        description: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Bank:
        """Create a bank, with one of your agents as its admin.

        Sends MB_Create.

        Args:
            user: Your own user name, or nothing: nobody else can be named here.
            bank: The new bank's name where `vx.name` is absent.
            agent: The name of your agent that becomes the bank's admin; the selected agent when absent.
            name: The new bank's name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; not taken yet.
            description: What the bank is for, for people.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. `agent` when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.create(agent="scout", name="field-notes", description="What scout found")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = await self._client.send(
            "MB_Create",
            body_of(
                target={"user": user, "bank": bank, "agent": agent},
                vx={"name": name, "description": description, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Bank)

    async def delete(
        self, bank: str, *, agent: str | None = None, name: str | None = None, idempotency_key: str | None = None
    ) -> tuple[Bank, RemovedMemories]:
        """Remove memories, not the bank.

        The one of a name (`*`: all), all by target.agent, or those that match both. Sends MB_Delete.

        Args:
            bank: The bank's name.
            agent: Takes the memories that this agent loaded; with `vx.name`, those that fit both. The selected
                agent is no default.
            name: The memory's name, or a document's name for all its parts; `*` for every memory. Needed unless
                `target.agent` is sent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.delete("field-notes", name="The Moon's distance")

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        answer = await self._client.send(
            "MB_Delete",
            body_of(target={"bank": bank, "agent": agent}, vx={"name": name}),
            idempotency_key=idempotency_key,
        )
        return answer.record(Bank), answer.item(RemovedMemories)

    async def destroy(self, bank: str, *, idempotency_key: str | None = None) -> None:
        """Remove one of your banks with all its memories.

        Sends MB_Destroy.

        Args:
            bank: The bank's name.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.destroy("field-notes")

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        await self._client.send("MB_Destroy", body_of(target={"bank": bank}), idempotency_key=idempotency_key)

    def list(
        self, *, user: str | None = None, bank: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Bank, None]:
        """List the banks of you and your agents, or another user's banks that you may see.

        Sends MB_List.

        Args:
            user: Lists the banks of this user that you may see, instead of your own and your agents'.
            bank: The beginning of the banks' names, in any case; `field` finds `field-notes`.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.banks.list(bank="field")]

        Raises:
            EntityError: 3000
        """
        return entities(
            self._client,
            "MB_List",
            body_of(target={"user": user, "bank": bank}, page={"limit": limit, "cursor": cursor}),
            Bank,
        )

    async def load(
        self,
        bank: str,
        name: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        description: str | None = None,
        content: str | None = None,
        idempotency_key: str | None = None,
    ) -> tuple[Bank, Memory]:
        """Load a memory into a bank, or replace the one of its name; attaches the agent of yours that loads it.

        Sends MB_Load.

        Args:
            bank: The bank's name.
            name: The memory's name, 1 to 200 characters of any text but `*`; one of that name is replaced. Where
                neither `content` nor `vx.description` is sent, the name of an ingested document.
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: The name of your agent that loads the memory, its author; the selected agent when absent.
            description: The memory's text where `content` is absent.
            content: The memory's text, 1 to 32,000 characters.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.load(
                "field-notes", "The Moon's distance", agent="scout", content="The Moon is 384,400 km away on average."
            )

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "MB_Load",
            body_of(
                target={"user": user, "bank": bank, "agent": agent},
                vx={"name": name, "description": description},
                content=content,
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Bank), answer.item(Memory)

    async def permissions(
        self,
        bank: str,
        *,
        agent: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        permission: Literal["none", "read", "write", "admin"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Attachment, Bank]:
        """Read or set a bank's access and an agent's permission; another user's agent is only offered more.

        Sends MB_Permissions.

        Args:
            bank: The bank's name.
            agent: The name of the agent that gets `vx.permission`; needed with that.
            access: Sets who sees the bank: `public` everyone, `domain` or `bank` users who share one with it,
                `agent` only the owner.
            permission: What the agent may do in the bank from now on; `none` takes all away. Another user's agent
                is only offered more until its owner accepts.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            await client.banks.permissions("field-notes", agent="scout", permission="write")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        return await entries(
            self._client,
            "MB_Permissions",
            body_of(
                target={"bank": bank, "agent": agent},
                vx={"access": access, "permission": permission},
                page={"limit": limit, "cursor": cursor},
            ),
            Attachment,
            Bank,
        ).page()

    def read(
        self, bank: str, *, name: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Memory, Bank]:
        """Read a bank's memories, oldest first, or those of a name.

        Sends MB_Read.

        Args:
            bank: The bank's name.
            name: The memory's name, or a document's name for all its parts; all memories when absent.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.banks.read("field-notes")]

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        return entries(
            self._client,
            "MB_Read",
            body_of(target={"bank": bank}, vx={"name": name}, page={"limit": limit, "cursor": cursor}),
            Memory,
            Bank,
        )

    async def recall(self, bank: str, content: str, *, limit: int | None = None) -> tuple[RecalledMemory, ...]:
        """Find the memories of a bank that match a text best, best first; 5 without page.limit.

        Sends MB_Recall.

        Args:
            bank: The bank's name.
            content: The text to search for, in any words.
            limit: The largest number of memories to return; 5 when absent.

        Example:
            await client.banks.recall("field-notes", "How far is the Moon?")

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        answer = await self._client.send(
            "MB_Recall", body_of(target={"bank": bank}, page={"limit": limit}, content=content)
        )
        return answer.items(RecalledMemory)

    async def unload(self, bank: str, *, agent: str | None = None, idempotency_key: str | None = None) -> Bank:
        """Detach an agent from a bank, or decline its offer.

        Sends MB_Unload.

        Args:
            bank: The bank's name.
            agent: The name of the agent to detach; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.unload("field-notes", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "MB_Unload", body_of(target={"bank": bank, "agent": agent}), idempotency_key=idempotency_key
        )
        return answer.record(Bank)

    async def update(
        self,
        bank: str,
        name: str,
        description: str,
        *,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Bank:
        """Replace a bank's name and description, and its access where that is given.

        Sends MB_Update.

        Args:
            bank: The bank's name.
            name: The bank's name from now on: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending
                with a letter or digit. Send the present one to keep it.
            description: What the bank is for, for people.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. It stays as it is when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.banks.update("field-notes", "field-notes", "All that scout found")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001
        """
        answer = await self._client.send(
            "MB_Update",
            body_of(target={"bank": bank}, vx={"name": name, "description": description, "access": access}),
            idempotency_key=idempotency_key,
        )
        return answer.record(Bank)
