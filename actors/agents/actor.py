"""The agent actor: one agent, its state, and its private conversations."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from actors.agents import conversation_changes
from actors.agents.conversation_messages import BeginConversation, EraseConversation, FindBound, SetTitle, ShowCopy
from actors.agents.conversations_in_use import ConversationLoaded
from actors.agents.events import deployment_event
from actors.agents.messages import (
    AGENT,
    AGENT_GONE,
    AgentsSilenced,
    AgentView,
    CancelRun,
    DestroyAgent,
    HearRun,
    LinksGained,
    LinksKnown,
    ListRuns,
    MemoriesNeeded,
    NoBanksLeft,
    RanBefore,
    ReadAgent,
    RunHeard,
    SendChat,
    SetOnline,
    SetStopped,
    UpdateAgent,
    UserGone,
    membership_notices,
    no_such_agent,
    require_answering,
)
from actors.agents.private_chats import EngineEnded, PrivateChats
from actors.agents.records import agent_record, shown_state
from actors.agents.silence import silence_of
from actors.agents.waiting_chats import RunsWaiting
from actors.conversations.conversation import ChatSent
from actors.conversations.place import Binding
from actors.engines.turn import Engine, Persona
from actors.errors import NotPermitted
from actors.ids import Clock
from actors.names import name_taken
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor, in_turn
from actors.runtime.future import AsyncFuture
from actors.runtime.notices import Announced, ReloadConcerning
from actors.webhooks.outbox import Outbox
from actors.wire import Record
from persistence import agents, censoring, conversations, domains
from persistence.agents import AgentRow
from persistence.conversations import ConversationRow
from persistence.store import ROWS, Store


class AgentActor(DurableActor):
    """Owns one agent, and its part in private conversations; its key is the agent's id."""

    kind = AGENT
    works_for_callers = True
    __slots__ = (
        "_chats",
        "_clock",
        "_engine",
        "_has_banks",
        "_has_domains",
        "_has_offers",
        "_links",
        "_outbox",
        "_record",
        "_runs_waiting",
        "agent",
        "messages",
        "persona",
    )

    def __init__(self, key: str, store: Store, clock: Clock, engine: Engine, outbox: Outbox, runs: RunsWaiting) -> None:
        super().__init__(key, store)
        self._clock, self._engine, self._outbox, self._runs_waiting = clock, engine, outbox, runs
        self.agent: AgentRow | None = None
        self.persona = Persona("", "", "", "")
        self._record: Record = {}
        self.messages = 0
        self._has_banks = self._has_offers = self._has_domains = False
        self._links = LinksKnown(self.incarnation, 0)
        self._chats: PrivateChats | None = None  # from the first chat on

    async def on_begin(self) -> None:
        """Load the agent; of a destroyed one only the conversations are left.

        Raises:
            NotFound: there never was such an agent.
        """
        found = await self.store.fetch(agents.by_id(self.key))
        if not found:
            if not await self.store.fetch(agents.destroyed(self.key)):
                raise no_such_agent()
            return
        self._hold_agent(found[0])
        # LinksGained reports a new bank, offer or domain. The loss of one shows at a look-up that finds nothing.
        (summary,) = await self.store.fetch(conversations.agent_summary(self.key))
        self.messages, self._has_banks, self._has_offers, self._has_domains = summary

    def _hold_agent(self, agent: AgentRow) -> None:
        """Keep the agent's row, and build its record and persona once per change."""
        self.agent, self._record = agent, agent_record(agent)
        self.persona = Persona(agent.id, agent.name, agent.description, agent.profile or "")

    def _seen_by(self, viewer_id: str, access_granted: bool) -> AgentRow:
        """Return the agent to a user who may see it; to others it does not exist."""
        agent = self.agent
        if agent is None or not (
            agent.owner_id == viewer_id or agent.access == "public" or (access_granted and agent.access != "agent")
        ):
            raise no_such_agent()
        return agent

    def _owned_by(self, viewer_id: str) -> AgentRow:
        """Return the agent to its owner; others are refused, because whoever asks has read the agent before."""
        agent = self.agent
        if agent is None:
            raise no_such_agent()
        if agent.owner_id != viewer_id:
            raise NotPermitted(f"Only the owner of {agent.name} may do this; ask {agent.owner}.")
        return agent

    def _view(self, row: AgentRow | None = None) -> AgentView:
        """Return a view of the agent as it is, or with another row: what a change stores."""
        row = row or self.agent
        assert row is not None
        record = self._record if row is self.agent else agent_record(row)
        return AgentView(row, record, self.messages, self._has_banks, self._has_offers, self._has_domains, self._links)

    @handles(ReadAgent)
    def _read(self, message: ReadAgent) -> AgentView:
        return self._view(self._seen_by(message.viewer_id, message.access_granted))

    @handles(UpdateAgent)
    @in_turn
    def _update(self, message: UpdateAgent) -> AsyncFuture[AgentView]:
        agent = self._owned_by(message.viewer_id)
        changes, now = message.changes, self._clock()
        given = {member: text for member, text in asdict(changes).items() if text is not None}
        stored = replace(agent, updated_at=now, **given)
        renamed = (ReloadConcerning(self.key, is_agent=True, is_name=True),) if changes.name is not None else ()
        return self.commit_or_refuse(
            agents.update(self.key, changes, now),
            *self._outbox.emit(agent.owner_id, *deployment_event("updated", stored), at=now),
            reply=lambda: self._view(stored),
            applied=lambda: self._hold_agent(stored),
            constraint_errors={agents.NAME_TAKEN: name_taken, ROWS: no_such_agent},
            notices=(self._outbox.woken(agent.owner_id), *renamed),
        )

    @handles(SetOnline)
    @in_turn
    def _set_online(self, message: SetOnline) -> AsyncFuture[AgentView] | AgentView:
        agent = self._owned_by(message.viewer_id)
        if agent.online == message.online:
            return self._view()
        stored = replace(agent, updated_at=self._clock(), online=message.online)
        return self.commit_or_refuse(
            agents.set_online(self.key, message.online, stored.updated_at),
            reply=lambda: self._view(stored),
            applied=lambda: self._hold_agent(stored),
            constraint_errors={ROWS: no_such_agent},
        )

    @handles(SetStopped)
    @in_turn
    def _set_stopped(self, message: SetStopped) -> AsyncFuture[AgentView] | AgentView:
        agent, stopped = self.agent, message.stopped
        if agent is None:
            raise no_such_agent()
        if agent.stopped == stopped:
            return self._view()
        stored = replace(agent, stopped=stopped)

        def applied() -> None:
            self._hold_agent(stored)
            if stopped and self._chats is not None and self._chats.any_under_way:
                self.retire()  # which ends them

        return self.commit_or_refuse(
            agents.set_stopped(self.key, self._clock() if stopped else None),
            reply=lambda: self._view(stored),
            applied=applied,
            constraint_errors={ROWS: no_such_agent},
            notices=(Announced(AgentsSilenced(self.key)),) if stopped else (),
        )

    @handles(DestroyAgent)
    @in_turn
    def _destroy(self, message: DestroyAgent) -> AsyncFuture[AgentView]:
        agent = self._owned_by(message.viewer_id)
        view, now, gone = self._view(), self._clock(), ReloadConcerning(self.key, is_agent=True)
        self.agent = None
        return self.commit(
            *domains.leave_all(self.key),
            *agents.destroy(self.key, now),
            censoring.DUE,
            *self._outbox.emit(agent.owner_id, *deployment_event("deleted", agent), at=now),
            reply=lambda: view,
            applied=self.retire,
            constraint_errors=AGENT_GONE,
            notices=(gone, self._outbox.woken(agent.owner_id), *membership_notices(self.key, message.domain_ids)),
        )

    # notices of other actors

    @handles(LinksGained)
    def _links_gained(self, message: LinksGained) -> None:
        self._links = self._links._replace(gained=self._links.gained + 1)
        self._has_banks = self._has_banks or message.has_banks
        self._has_offers = self._has_offers or message.has_offers
        self._has_domains = self._has_domains or message.has_domains

    @handles(NoBanksLeft)
    def _no_banks_left(self, message: NoBanksLeft) -> None:
        if message.known == self._links:  # else a bank may have come after the look-up
            self._has_banks = False

    @handles(UserGone)
    def _forget(self, message: UserGone) -> None:
        if self._chats is None:
            self.retire()  # the next incarnation counts the messages left
        else:
            self._chats.forget(message.user_id)

    # chat

    @handles(SendChat)
    def _send_chat(self, message: SendChat) -> AsyncFuture[ChatSent] | MemoriesNeeded | RanBefore:
        agent = self._seen_by(message.viewer_id, message.access_granted)
        require_answering(agent)
        if self._has_banks and message.memories is None:
            return MemoriesNeeded(agent.name, self._links if agent.owner_id == message.viewer_id else None)
        return (self._chats or self._begin_chats()).send(agent, message)

    @handles(HearRun)
    def _hear_run(self, message: HearRun) -> RunHeard | AsyncFuture[RunHeard]:
        return RunHeard("ended") if self._chats is None else self._chats.runs.hear(message)

    @handles(ListRuns)
    def _list_runs(self, message: ListRuns) -> tuple[str, ...]:
        return () if self._chats is None else self._chats.runs.of_user(message.viewer_id)

    @handles(CancelRun)
    def _cancel_run(self, message: CancelRun) -> AsyncFuture[None] | None:
        return None if self._chats is None else self._chats.cancel(message)

    def _begin_chats(self) -> PrivateChats:
        self._chats = PrivateChats(self, self._engine, self._clock, self._runs_waiting)
        return self._chats

    @handles(ConversationLoaded)
    def _conversation_loaded(self, message: ConversationLoaded) -> None:
        if self._chats is not None:
            self._chats.loaded(message)

    @handles(EngineEnded)
    def _engine_ended(self, message: EngineEnded) -> None:
        if self._chats is not None:
            self._chats.engine_ended(message)

    # conversations

    @handles(FindBound)
    def _find_bound(self, message: FindBound) -> Binding:
        return Binding() if self._chats is None else self._chats.bound(message)

    @handles(BeginConversation)
    @in_turn
    def _begin_conversation(self, message: BeginConversation) -> AsyncFuture[ConversationRow]:
        agent = self._seen_by(message.viewer_id, message.access_granted)
        return conversation_changes.begin_conversation(self, agent, message)

    @handles(SetTitle)
    def _set_title(self, message: SetTitle) -> AsyncFuture[ConversationRow]:
        return conversation_changes.set_title(self, self._clock, message)

    @handles(ShowCopy)
    def _show_copy(self, message: ShowCopy) -> AsyncFuture[ConversationRow]:
        return conversation_changes.show_copy(self, message)

    @handles(EraseConversation)
    def _erase(self, message: EraseConversation) -> AsyncFuture[None]:
        return conversation_changes.erase(self, self._chats or self._begin_chats(), message)

    # life

    def on_refused(self) -> None:
        """Forget what a user who is gone has said; end if that is the agent's owner."""
        if self.agent is None:
            self.retire()
        elif self._chats is not None:
            self._chats.load_anew()

    @property
    def holds_something(self) -> bool:
        """Return whether an engine or a load is to be stopped."""
        return self._chats is not None and (self._chats.has_tasks or self._chats.any_under_way)

    @property
    def engaged(self) -> bool:
        """Return whether an engine is at work or a conversation is being loaded."""
        return self._chats is not None and self._chats.has_tasks

    async def on_end(self) -> None:
        """Stop the engines and fail the chats that still wait."""
        if (chats := self._chats) is not None:
            chats.stop()
            if chats.any_under_way:
                chats.refuse(await silence_of(self.store, self.key))

    def on_finished(self) -> None:
        """Drop the chats, because a reference cycle would keep both in memory until a rare full collection."""
        super().on_finished()
        self._chats = None

    def concerns(self, user_id: str) -> bool:
        """Return whether the agent belongs to this user."""
        return self.agent is not None and self.agent.owner_id == user_id

    def reloads_only(self, parts: Sequence[str]) -> bool:
        """Load conversations anew, by their numbers, if chats are under way."""
        return self._chats is not None and self._chats.reload(set(map(int, parts)))

    def name_for(self, user_id: str) -> str | None:
        """Return the agent's name to its owner."""
        return self.title if self.concerns(user_id) else None

    @property
    def title(self) -> str | None:
        """The agent's name."""
        return self.agent and self.agent.name

    def snapshot(self) -> dict[str, Any]:
        """Show state and conversations, without texts."""
        if self.agent is None:
            return {"destroyed": True}
        chats = [] if self._chats is None else self._chats.snapshot()
        return {**shown_state(self.agent), "messages": self.messages, "conversations": chats}
