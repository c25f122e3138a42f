# Made by `make client` from the command table: don't edit.
"""The services of conversations."""

from parley_client._async.pages import AsyncPages
from parley_client._async.service import AsyncServices, body_of, entities
from parley_client.records import Conversation, Message


class AsyncConversations(AsyncServices):
    """The services of conversations."""

    async def create(
        self, *, agent: str | None = None, name: str | None = None, idempotency_key: str | None = None
    ) -> Conversation:
        """Begin another conversation with an agent.

        Sends CV_Create.

        Args:
            agent: The name of the agent to converse with; the selected agent when absent.
            name: The conversation's title, 1 to 200 characters; none when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.conversations.create(agent="scout", name="Travel plans")

        Raises:
            EntityError: 3000, 3003
        """
        answer = await self._client.send(
            "CV_Create", body_of(target={"agent": agent}, vx={"name": name}), idempotency_key=idempotency_key
        )
        return answer.record(Conversation)

    async def destroy(self, conversation: str, *, agent: str | None = None, idempotency_key: str | None = None) -> None:
        """Erase one of your conversations and its messages for good.

        Sends CV_Destroy.

        Args:
            conversation: The conversation's id (`cnv_...`, from CV_List), or `default` for the default one with the
                agent.
            agent: The agent whose default conversation is meant, the selected one when absent; an id needs no
                agent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.conversations.destroy("cnv_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: 3000, 3003
        """
        await self._client.send(
            "CV_Destroy",
            body_of(target={"agent": agent, "conversation": conversation}),
            idempotency_key=idempotency_key,
        )

    async def fork(
        self, conversation: str, *, agent: str | None = None, seq: int | None = None, idempotency_key: str | None = None
    ) -> Conversation:
        """Begin a conversation with a copy of another one's messages, all or those up to a seq.

        Sends CV_Fork.

        Args:
            conversation: The conversation's id (`cnv_...`, from CV_List), or `default` for the default one with the
                agent.
            agent: The agent whose default conversation is meant, the selected one when absent; an id needs no
                agent.
            seq: The `seq` of the last message to copy; all messages when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.conversations.fork("cnv_067b9c1c8e40a5f13d5e8f0b6c2a4907", seq=4)

        Raises:
            EntityError: 3000, 3002, 3003
        """
        answer = await self._client.send(
            "CV_Fork",
            body_of(target={"agent": agent, "conversation": conversation}, vx={"seq": seq}),
            idempotency_key=idempotency_key,
        )
        return answer.record(Conversation)

    def list(
        self, *, agent: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Conversation, None]:
        """List your conversations, the most recently used first.

        Sends CV_List.

        Args:
            agent: Lists only the conversations with this agent; those with all agents when absent.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.conversations.list(agent="scout")]

        Raises:
            EntityError: 3000
        """
        return entities(
            self._client,
            "CV_List",
            body_of(target={"agent": agent}, page={"limit": limit, "cursor": cursor}),
            Conversation,
        )

    async def read(self, conversation: str, *, agent: str | None = None) -> Conversation:
        """Read the record of one of your conversations.

        Sends CV_Read.

        Args:
            conversation: The conversation's id (`cnv_...`, from CV_List), or `default` for the default one with the
                agent.
            agent: The agent whose default conversation is meant, the selected one when absent; an id needs no
                agent.

        Example:
            await client.conversations.read("cnv_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: 3000, 3003
        """
        answer = await self._client.send("CV_Read", body_of(target={"agent": agent, "conversation": conversation}))
        return answer.record(Conversation)

    async def search(
        self, content: str, *, agent: str | None = None, conversation: str | None = None, limit: int | None = None
    ) -> tuple[Message, ...]:
        """Find messages in your conversations, best first.

        Sends CV_Search.

        Args:
            content: The words to find, or a question.
            agent: Searches only the conversations with this agent; those with all agents when absent.
            conversation: Searches only this conversation: its id (`cnv_...`), or `default`.
            limit: The largest number of messages to return; 50 when absent.

        Example:
            await client.conversations.search("the door of the dome")

        Raises:
            EntityError: 3000, 3003
        """
        answer = await self._client.send(
            "CV_Search",
            body_of(target={"agent": agent, "conversation": conversation}, page={"limit": limit}, content=content),
        )
        return answer.items(Message)

    async def update(
        self, conversation: str, name: str, *, agent: str | None = None, idempotency_key: str | None = None
    ) -> Conversation:
        """Set the title of one of your conversations.

        Sends CV_Update.

        Args:
            conversation: The conversation's id (`cnv_...`, from CV_List), or `default` for the default one with the
                agent.
            name: The conversation's title from now on, 1 to 200 characters.
            agent: The agent whose default conversation is meant, the selected one when absent; an id needs no
                agent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            await client.conversations.update("cnv_067b9c1c8e40a5f13d5e8f0b6c2a4907", "Travel plans")

        Raises:
            EntityError: 3000, 3003
        """
        answer = await self._client.send(
            "CV_Update",
            body_of(target={"agent": agent, "conversation": conversation}, vx={"name": name}),
            idempotency_key=idempotency_key,
        )
        return answer.record(Conversation)
