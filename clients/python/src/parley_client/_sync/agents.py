# Made by `make client` from parley_client/_async: don't edit.
"""The services of agents."""

from typing import Literal

from parley_client._sync.pages import Pages
from parley_client._sync.service import Services, body_of, entities, entries
from parley_client._sync.streams import ChatStream
from parley_client.records import Agent, AgentStanding, Message


class Agents(Services):
    """The services of agents."""

    def add(self, agent: str, *, user: str | None = None, idempotency_key: str | None = None) -> Agent:
        """Put another user's agent on your roster.

        Sends AP_Add.

        Args:
            agent: The name of the agent to put on your roster.
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.add("scout")

        Raises:
            EntityError: 3000
        """
        answer = self._client.send(
            "AP_Add", body_of(target={"user": user, "agent": agent}), idempotency_key=idempotency_key
        )
        return answer.record(Agent)

    def chat(
        self,
        content: str,
        *,
        agent: str | None = None,
        domain: str | None = None,
        zone: str | None = None,
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> tuple[Message, Message]:
        """Send a message to an agent and get its reply; both are durable before the answer is sent.

        Sends AP_Chat.

        Args:
            content: What to say to the agent, 1 to 32,000 characters.
            agent: The name of the agent to speak to; the selected agent when absent.
            domain: Speak in a zone of this domain instead of privately.
            zone: The zone to speak in: one of `target.domain`, else of the selected domain. When absent, the
                selected zone if it is in that domain, else the lobby.
            conversation: The conversation's id (`cnv_...`), or `default` for the one that AP_Chat uses when none is
                named.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.chat("Hello! What do you know?", agent="scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
            GatewayError: 5001
        """
        answer = self._client.send(
            "AP_Chat",
            body_of(
                target={"agent": agent, "domain": domain, "zone": zone, "conversation": conversation}, content=content
            ),
            idempotency_key=idempotency_key,
        )
        return answer.item(Message), answer.item(Message, 1)

    def stream_chat(
        self,
        content: str,
        *,
        agent: str | None = None,
        domain: str | None = None,
        zone: str | None = None,
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> ChatStream:
        """Say something to an agent; its reply is yielded while it is written.

        Sends AP_Chat.

        Args:
            content: What to say to the agent, 1 to 32,000 characters.
            agent: The name of the agent to speak to; the selected agent when absent.
            domain: Speak in a zone of this domain instead of privately.
            zone: The zone to speak in: one of `target.domain`, else of the selected domain. When absent, the
                selected zone if it is in that domain, else the lobby.
            conversation: The conversation's id (`cnv_...`), or `default` for the one that AP_Chat uses when none is
                named.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            for text in client.agents.stream_chat("Hello! What do you know?", agent="scout").text():
                print(text, end="", flush=True)

        Raises:
            AccessError: 2003
            EntityError: 3000, 3002, 3003
            GatewayError: 5001
        """
        return self._client.stream_chat(
            body_of(
                target={"agent": agent, "domain": domain, "zone": zone, "conversation": conversation}, content=content
            ),
            idempotency_key=idempotency_key,
        )

    def create(
        self,
        name: str,
        description: str,
        *,
        user: str | None = None,
        profile: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """Create an agent.

        Sends AP_Create.

        Args:
            name: The new agent's name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; not taken yet.
            description: What the agent is for, for people.
            user: Your own user name, or nothing: nobody else can be named here.
            profile: The agent's knowledge and behaviour; the chat engine answers from it.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. `agent` when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.create("scout", "Finds things out", access="public")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3001
        """
        answer = self._client.send(
            "AP_Create",
            body_of(
                target={"user": user},
                vx={"name": name, "description": description, "profile": profile, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Agent)

    def destroy(self, agent: str | None = None, *, user: str | None = None, idempotency_key: str | None = None) -> None:
        """Remove one of your agents for everyone.

        Sends AP_Destroy.

        Args:
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: The agent's name; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.destroy("scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        self._client.send("AP_Destroy", body_of(target={"user": user, "agent": agent}), idempotency_key=idempotency_key)

    def history(
        self,
        agent: str | None = None,
        *,
        user: str | None = None,
        conversation: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Message, Agent]:
        """Read the private conversation with an agent, newest last.

        Sends AP_History.

        Args:
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: Whose conversation with you; the selected agent when absent.
            conversation: The conversation's id (`cnv_...`), or `default` for the one that AP_Chat uses when none is
                named.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item for item in client.agents.history("scout")]

        Raises:
            EntityError: 3000, 3003
        """
        return entries(
            self._client,
            "AP_History",
            body_of(
                target={"user": user, "agent": agent, "conversation": conversation},
                page={"limit": limit, "cursor": cursor},
            ),
            Message,
            Agent,
        )

    def list(
        self, *, user: str | None = None, agent: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Pages[Agent, None]:
        """List your agents and your roster, or another user's agents that you may see.

        Sends AP_List.

        Args:
            user: Lists the agents of this user that you may see, instead of your own and your roster.
            agent: The beginning of the agents' names, in any case; `sc` finds `scout`.
            limit: The largest number of entries to return; 50 when absent.
            cursor: `header.next` of the page before, unchanged; the first page when absent.

        Example:
            [item for item in client.agents.list(agent="sc")]

        Raises:
            EntityError: 3000
        """
        return entities(
            self._client,
            "AP_List",
            body_of(target={"user": user, "agent": agent}, page={"limit": limit, "cursor": cursor}),
            Agent,
        )

    def log_off(self, agent: str | None = None, *, idempotency_key: str | None = None) -> Agent:
        """Take one of your agents offline.

        Sends AP_LogOff.

        Args:
            agent: The agent's name; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.log_off("scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        answer = self._client.send("AP_LogOff", body_of(target={"agent": agent}), idempotency_key=idempotency_key)
        return answer.record(Agent)

    def log_on(self, agent: str | None = None, *, idempotency_key: str | None = None) -> Agent:
        """Bring one of your agents online.

        Sends AP_LogOn.

        Args:
            agent: The agent's name; the selected agent when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.log_on("scout")

        Raises:
            AccessError: 2003
            EntityError: 3000, 3003
        """
        answer = self._client.send("AP_LogOn", body_of(target={"agent": agent}), idempotency_key=idempotency_key)
        return answer.record(Agent)

    def modify(
        self,
        agent: str | None = None,
        *,
        user: str | None = None,
        name: str | None = None,
        description: str | None = None,
        profile: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """Change only the given members of one of your agents.

        Sends AP_Modify.

        Args:
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: The agent's name; the selected agent when absent.
            name: The agent's new name: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a
                letter or digit; it stays as it is when absent.
            description: What the agent is for, for people; stays as it is when absent.
            profile: The agent's knowledge and behaviour; the chat engine answers from it. It stays as it is when
                absent.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. It stays as it is when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.modify("scout", access="public")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = self._client.send(
            "AP_Modify",
            body_of(
                target={"user": user, "agent": agent},
                vx={"name": name, "description": description, "profile": profile, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Agent)

    def read(self, agent: str | None = None, *, user: str | None = None) -> tuple[Agent, AgentStanding]:
        """Read one agent, with its domains, banks and offers.

        Sends AP_Read.

        Args:
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: The agent's name; the selected agent when absent.

        Example:
            client.agents.read("scout")

        Raises:
            EntityError: 3000, 3003
        """
        answer = self._client.send("AP_Read", body_of(target={"user": user, "agent": agent}))
        return answer.record(Agent), answer.item(AgentStanding)

    def remove(self, agent: str, *, user: str | None = None, idempotency_key: str | None = None) -> None:
        """Take an agent off your roster.

        Sends AP_Remove.

        Args:
            agent: The name of the agent to take off your roster.
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.remove("scout")

        Raises:
            EntityError: 3000, 3002
        """
        self._client.send("AP_Remove", body_of(target={"user": user, "agent": agent}), idempotency_key=idempotency_key)

    def select(self, agent: str, *, user: str | None = None, idempotency_key: str | None = None) -> Agent:
        """Select one of your agents, or one on your roster, for the session.

        Sends AP_Select.

        Args:
            agent: The name of the agent to select, your own or on your roster.
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.select("scout")

        Raises:
            AccessError: 2003
            EntityError: 3000
        """
        answer = self._client.send(
            "AP_Select", body_of(target={"user": user, "agent": agent}), idempotency_key=idempotency_key
        )
        return answer.record(Agent)

    def update(
        self,
        name: str,
        description: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        profile: str | None = None,
        access: Literal["public", "domain", "bank", "agent"] | None = None,
        idempotency_key: str | None = None,
    ) -> Agent:
        """Replace name, description, profile and access of one of your agents.

        Sends AP_Update.

        Args:
            name: The agent's name from now on: 3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending
                with a letter or digit. Send the present one to keep it.
            description: What the agent is for, for people.
            user: The name of the agent's owner, as a check that the right agent is meant; usually left out.
            agent: The agent's name; the selected agent when absent.
            profile: The agent's knowledge and behaviour; the chat engine answers from it. It stays as it is when
                absent.
            access: Who sees it: `public` everyone, `domain` or `bank` users who share one with it, `agent` only the
                owner. It stays as it is when absent.
            idempotency_key: The key under which it is carried out once; one is made where absent.

        Example:
            client.agents.update("scout", "Finds everything out", agent="scout")

        Raises:
            AccessError: 2003, 2004
            EntityError: 3000, 3001, 3003
        """
        answer = self._client.send(
            "AP_Update",
            body_of(
                target={"user": user, "agent": agent},
                vx={"name": name, "description": description, "profile": profile, "access": access},
            ),
            idempotency_key=idempotency_key,
        )
        return answer.record(Agent)
