"""A call: one command on its way through the core, and its answer."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from actors.agents.messages import AgentView, ReadAgent, no_such_agent
from actors.banks.messages import BankView
from actors.calls.request import EMPTY, NO_DEFINITION, NO_TARGET, Definition, Target, TPSRequest
from actors.core import Core
from actors.domains.messages import DomainView, DomainViewer, ReadDomain, no_such_domain, no_such_zone
from actors.errors import InvalidField, NotFound, NothingSelected, NotPermitted, Overloaded, ServiceError
from actors.idempotency.records import Audit, Quoting, Receipt
from actors.names import require_name_allowed
from actors.plans import PLANS
from actors.quotas.messages import COUNT, QuotaStatus, quota_exceeded
from actors.runtime.directory import ASK_TIMEOUT_S
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, MessageContext, Progress
from actors.sessions.messages import Caller
from actors.users.messages import ReadUser
from persistence import agents, audit, domains
from persistence.domains import ZoneRow
from persistence.store import Query, StoreUnavailable
from persistence.users import name_key

R = TypeVar("R")
V = TypeVar("V", AgentView, BankView, DomainView)

DEFAULT_PAGE = 50
NOBODY: dict[str, str | None] = {"user": None, "agent": None, "domain": None, "zone": None}


@dataclass(slots=True)
class Answer:
    """What a command answers: records in `profile`, the rest in `content`, a cursor when there is more.

    `quoted` are the places of memories whose texts stand in it, where it may be kept.
    """

    profile: Sequence[dict[str, Any]] = ()
    content: Sequence[dict[str, Any]] = ()
    next: str | None = None
    quoted: tuple[int, ...] = ()


A = TypeVar("A", bound=Quoting)


@dataclass(slots=True)
class Call:
    """One command: who sends it, from where, and what it says.

    `caller` is None on the public commands. `agent_id`, `domain_id` and `zone_id` are the selection as this command
    leaves it. `standing` is where its counting has left the user, `receipt` what it leaves beside its change,
    `target_names` what a gateway route's path names, and `resumes` the stored message of a chat with an
    Idempotency-Key that got no reply yet.
    """

    core: Core
    request_id: str
    address: str
    service: str = ""
    request: TPSRequest = EMPTY
    target: Target = NO_TARGET
    vx: Definition = NO_DEFINITION
    caller: Caller | None = None
    agent_id: str | None = None
    domain_id: str | None = None
    zone_id: str | None = None
    standing: QuotaStatus | None = None
    receipt: Receipt | None = None
    resumes: str | None = None
    target_names: dict[str, str] | None = None
    last_event_id: str | None = None
    _message_context: MessageContext | None = None
    _known_agent: tuple[str, str] | None = None
    _prepared: dict[str, tuple[str | None, str | None]] | None = None

    @property
    def progress(self) -> Progress | None:
        """What takes the pieces of an answer that comes in pieces."""
        return self._message_context and self._message_context.progress

    def stream_to(self, progress: Progress) -> None:
        """Have the pieces of the answer handed on as they come."""
        self._message_context = MessageContext(progress)

    def says(self, request: TPSRequest) -> None:
        """Note what it says."""
        self.request = request
        self.target = request.target or NO_TARGET
        self.vx = request.vx or NO_DEFINITION

    def sent_by(self, caller: Caller) -> None:
        """Note who sends it and what is selected."""
        self.caller = caller
        self.agent_id = caller.agent_id
        self.domain_id = caller.domain_id
        self.zone_id = caller.zone_id

    async def admit(self, credential: str | None) -> None:
        """Find out who sends it, and count it.

        Raises:
            NoCredential, InvalidCredential: nobody that the gateway knows.
            QuotaExceeded: the user has no request left today.
        """
        core = self.core
        caller = await core.credentials.authenticate(credential)
        self.sent_by(caller)
        counted = core.directory.ask_inline("quota", caller.user_id, COUNT)
        standing = self.standing = counted.get() if counted.done() else await counted
        if not standing.admitted:
            raise quota_exceeded(standing, core.clock())

    @property
    def held(self) -> AsyncFuture[Any] | None:
        """What its answer has to wait for: that the store's bound is not below its count."""
        stored = self.standing and self.standing.stored
        return None if stored is None or (stored.done() and stored.error is None) else stored

    async def counted(self) -> None:
        """Wait until its answer may be sent.

        Raises:
            ServiceError: its count could not be stored.
        """
        if self.held is not None:
            await self.held

    def audit(self) -> Audit | None:
        """Tell how to write this command to the audit log, on a plan that has one."""
        caller, standing = self.caller, self.standing
        if caller is None or standing is None or not PLANS[standing.plan].audited:
            return None
        target = "{}" if self.target is NO_TARGET else self.target.model_dump_json(exclude_none=True)
        if self.target_names:
            target = orjson.dumps(self.target_names).decode()
        at, address, service, request_id = self.core.clock(), self.address, self.service, self.request_id
        user_id, credential_id = caller.user_id, caller.credential_id
        return lambda code: audit.insert(user_id, at, credential_id, address, service, target, code, request_id)

    def logged_off(self) -> None:
        """Note that its session has ended with it."""
        self.caller = None
        self.agent_id = self.domain_id = self.zone_id = None

    @property
    def user(self) -> Caller:
        """Who sends it; the table lets nobody but a caller reach a flow that uses this."""
        assert self.caller is not None
        return self.caller

    def ask(self, kind: str, key: str, message: Ask[R], *, timeout: float = ASK_TIMEOUT_S) -> Coroutine[Any, Any, R]:
        """Ask an actor, on behalf of this request; await what this returns."""
        return self.core.directory.ask(
            kind, key, message, timeout=timeout, request_id=self.request_id, context=self._message_context
        )

    async def carry_out(
        self,
        kind: str,
        key: str,
        message: Ask[R],
        answer: Callable[[R], A],
        *,
        timeout: float = ASK_TIMEOUT_S,
        repeatable: bool = False,
    ) -> A:
        """Ask an actor to do what the command is for: the one ask of it whose unit changes anything.

        `answer` makes what the command answers (an `Answer`, or a gateway route's `Reply`) of what the actor answers,
        in one step and as if the change were stored, for with a receipt it is written in the change's own unit.
        `repeatable`: a second run does no harm and answers alike, so its answer may be kept after the change.
        """
        receipt = self.receipt
        ask = self.core.directory.ask
        if receipt is None:
            reply = await ask(
                kind, key, message, timeout=timeout, request_id=self.request_id, context=self._message_context
            )
            return answer(reply)
        receipt.make, receipt.repeatable = answer, repeatable
        context = MessageContext(self.progress, receipt)
        try:
            reply = await ask(kind, key, message, timeout=timeout, request_id=self.request_id, context=context)
        except ServiceError as error:
            if not isinstance(error, Overloaded):  # else it may still be carried out, as where the client goes away
                receipt.undo()
                receipt.make = None
            raise
        receipt.make = None  # it holds this call, which holds the receipt: leave the collector no cycle
        return receipt.answer if receipt.written else answer(reply)

    # targets

    async def target_agent(self) -> AgentView:
        """Read the agent that `target.agent` names, else the selected one, as the caller may see it.

        Raises:
            NotFound: there is none of that name that the caller may see.
            NothingSelected: no name was given and nothing is selected.
        """
        name = self.target.agent
        return await (self.selected_agent() if name is None else self.agent_named(name))

    async def target_agent_id(self) -> str:
        """Find the agent that `target.agent` names, else the selected one, without reading that.

        Raises:
            NotFound: there is none of that name that the caller may see.
            NothingSelected: no name was given and nothing is selected.
        """
        if self.target.agent is not None:
            return (await self.agent_named(self.target.agent)).row.id
        if self.agent_id is None:
            raise nothing_selected()
        return self.agent_id

    async def selected_agent(self) -> AgentView:
        """Read the selected agent.

        Raises:
            NothingSelected: none is, or it is gone or out of sight since.
        """
        if self.agent_id is not None:
            try:
                return await self._read_agent(self.agent_id)
            except NotFound:
                self.agent_id = None
        raise nothing_selected()

    async def agent_named(self, name: str) -> AgentView:
        """Read the agent of a name, in any case.

        Raises:
            NotFound: there is none that the caller may see, or `target.user` is not its owner.
        """
        view = await self.named("agent", name, agents.id_by_name, self._read_agent)
        if view is None:
            raise no_such_agent()
        return self._of_target_user(view)

    async def named(
        self, kind: str, name: str, find: Callable[[str], Query[str]], read: Callable[[str], Awaitable[V]]
    ) -> V | None:
        """Read what has a name: by the id that it had last where that is still right, else looked up anew."""
        names = self.core.names
        hint = names.hint(kind, name)
        if hint is not None:
            try:
                view = await read(hint)
                if name_key(view.row.name) == name_key(name):
                    return view
            except NotFound:
                pass
            names.forget(kind, name)
        found = await names.find(kind, name, find)
        return None if found is None else await read(found)

    async def _read_agent(self, agent_id: str) -> AgentView:
        try:
            view = await self.ask("agent", agent_id, ReadAgent(self.user.user_id))
        except NotFound:
            if not await self.has_access_to(agent_id):
                raise
            view = await self.ask("agent", agent_id, ReadAgent(self.user.user_id, access_granted=True))
        self._known_agent = agent_id, view.row.name
        return view

    async def has_access_to(self, agent_id: str) -> bool:
        """Tell whether the agent's access opens it to the caller, where the agent's actor alone can't tell."""
        return bool(await self.core.store.fetch(agents.opened_to(agent_id, self.user.user_id)))

    # domains

    async def target_domain(self) -> DomainView:
        """Read the domain that `target.domain` names, else the selected one, as the caller may see it.

        Raises:
            NotFound: there is none of that name that the caller may see.
            NothingSelected: no name was given and nothing is selected.
        """
        name = self.target.domain
        if name is not None:
            view = await self.named("domain", name, domains.id_by_name, self._read_domain)
            if view is None:
                raise no_such_domain()
            return view
        if self.domain_id is not None:
            try:
                return await self._read_domain(self.domain_id)
            except NotFound:
                self.domain_id = self.zone_id = None
        raise NothingSelected("No domain is selected: name one as target.domain, or select one with DM_Select.")

    async def target_zone(self) -> tuple[DomainView, ZoneRow]:
        """Read the target domain and find `target.zone` in it, else the selected zone if it is there, else the lobby.

        Raises:
            NotFound: there is no such domain that the caller may see, or no such zone in it.
            NothingSelected: no domain was named and none is selected.
        """
        view = await self.target_domain()
        name = self.target.zone
        if name is None:
            selected = (zone for zone in view.zones if zone.id == self.zone_id)
            return view, next(selected, view.lobby)
        for zone in view.zones:
            if name_key(zone.name) == name_key(name):
                return view, zone
        raise no_such_zone()

    async def speaks_in_zone(self) -> bool:
        """Tell whether a message goes to a zone: one that it names, or a selected one that is still there."""
        if self.target.domain or self.target.zone:
            return True
        if self.zone_id is None:
            return False
        try:
            view = await self.target_domain()
        except NothingSelected:
            return False
        return any(zone.id == self.zone_id for zone in view.zones)

    async def end_streams_of_outsiders(self, domain_ids: list[str]) -> None:
        """End the streams of those who have no member any more in domains that agents have left by being destroyed."""
        for domain_id in domain_ids:
            for reader in self.core.streams.readers_of(domain_id):
                try:
                    view = await self.ask("domain", domain_id, ReadDomain(DomainViewer(reader.user_id)))
                except NotFound:
                    there = await self.core.store.fetch(domains.by_id(domain_id))
                    reader.end("agent destroyed" if there else "domain destroyed")
                else:
                    if not view.is_member:
                        reader.end("agent destroyed")

    async def _read_domain(self, domain_id: str) -> DomainView:
        viewer = DomainViewer(self.user.user_id)
        try:
            return await self.ask("domain", domain_id, ReadDomain(viewer))
        except NotFound:
            if not await self.core.store.fetch(domains.shown_by_sharing(domain_id, viewer.user_id)):
                raise
        return await self.ask("domain", domain_id, ReadDomain(viewer._replace(access_granted=True)))

    def _of_target_user(self, view: AgentView) -> AgentView:
        """Refuse an agent that is neither `target.user`'s nor seen by it as the caller."""
        user = self.target.user
        if user is None or name_key(user) in (name_key(view.row.owner), name_key(self.user.user_name)):
            return view
        raise no_such_agent()

    def saw_agent(self, agent_id: str, name: str) -> None:
        """Note an agent's name as the command left it, so that the context need not ask for it."""
        self._known_agent = agent_id, name

    async def context(self) -> dict[str, str | None]:
        """Name what is selected after the command; never fails, for by now the command is done."""
        if self.caller is None:
            return NOBODY
        agent_id, known = self.agent_id, self._known_agent
        if known is not None and known[0] == agent_id:
            agent: str | None = known[1]
        else:
            agent = None if agent_id is None else await self._agent_name(agent_id)
        domain, zone = (None, None) if self.domain_id is None else await self._place(self.domain_id)
        return {"user": self.caller.user_name, "agent": agent, "domain": domain, "zone": zone}

    async def prepare_context(self) -> None:
        """Look the names of what is selected up, for `context_now`."""
        names = await self.context()
        ids = {"agent": self.agent_id, "domain": self.domain_id, "zone": self.zone_id}
        self._prepared = {what: (id, names[what]) for what, id in ids.items()}

    def context_now(self) -> dict[str, str | None]:
        """Name what is selected, as far as the names are known."""
        if self.caller is None:
            return NOBODY
        known = self._known_agent
        if known is not None and known[0] == self.agent_id:
            agent: str | None = known[1]
        else:
            agent = self._prepared_name("agent", self.agent_id)
        return {
            "user": self.caller.user_name,
            "agent": agent,
            "domain": self._prepared_name("domain", self.domain_id),
            "zone": self._prepared_name("zone", self.zone_id),
        }

    def _prepared_name(self, what: str, id: str | None) -> str | None:
        prepared_id, name = (self._prepared or {}).get(what, (None, None))
        return name if id == prepared_id else None

    async def _place(self, domain_id: str) -> tuple[str | None, str | None]:
        """Name the selected domain and zone, as far as the caller still sees them."""
        try:
            view = await self._read_domain(domain_id)
        except (ServiceError, StoreUnavailable):
            return None, None
        return view.row.name, next((zone.name for zone in view.zones if zone.id == self.zone_id), None)

    async def _agent_name(self, agent_id: str) -> str | None:
        try:
            return (await self._read_agent(agent_id)).row.name
        except NotFound:
            return None
        except (ServiceError, StoreUnavailable):  # a unit of that agent's failed just now, or the gateway stops
            with suppress(StoreUnavailable):
                for row in await self.core.store.fetch(agents.by_id(agent_id)):
                    return row.name
            return None

    # what a caller makes

    def require_own(self, what: str) -> None:
        """Refuse to make something for another user.

        Raises:
            NotPermitted: `target.user` is not the caller.
        """
        owner = self.target.user
        if owner is not None and name_key(owner) != name_key(self.user.user_name):
            raise NotPermitted(f"You make {what} for yourself only: leave target.user out or name yourself.")

    async def require_name_allowed(self, name: str) -> None:
        """Refuse a premium name where the caller's plan has none.

        Raises:
            NeedsPlan: the name is too short for the plan.
        """
        user = await self.ask("user", self.user.user_id, ReadUser())
        require_name_allowed(name, user.plan)

    # pages

    @property
    def page_limit(self) -> int:
        """Entries that the caller wants on a page."""
        page = self.request.page
        return page.limit if page is not None and page.limit is not None else DEFAULT_PAGE

    def cursor(self, *kinds: type[R]) -> R | None:
        """Return what the cursor holds, or None on the first page.

        Raises:
            InvalidField: it is not a cursor that this command made.
        """
        page = self.request.page
        if page is None or not page.cursor:
            return None
        try:
            service, value = orjson.loads(base64.urlsafe_b64decode(page.cursor.encode()))
        except (ValueError, TypeError, binascii.Error):
            service = value = None
        fits = isinstance(value, kinds) and (isinstance(value, str) or (type(value) is int and 0 <= value < 2**63))
        if service != self.service or not fits:
            raise InvalidField("Invalid value of page.cursor: send header.next of the page before, unchanged.")
        return value

    def next_cursor(self, value: str | int) -> str:
        """Make the cursor of the page after this one."""
        return base64.urlsafe_b64encode(orjson.dumps((self.service, value))).decode()


def nothing_selected() -> NothingSelected:
    """Make the error for a command that needs a selected agent."""
    return NothingSelected("No agent is selected: name one as target.agent, or select one with AP_Select.")
