"""A call: one command on its way through the core, and its answer."""

from collections.abc import Callable, Coroutine, Sequence
from operator import attrgetter
from time import perf_counter
from typing import Any, TypeVar

from msgspec import Struct

from actors.calls.request import EMPTY, NO_DEFINITION, NO_TARGET, Definition, Target, TPSRequest
from actors.core import Core
from actors.errors import Overloaded, RefusedAlone, ServiceError
from actors.idempotency.records import Quoting, Receipt
from actors.quotas.messages import QuotaStatus
from actors.runtime.directory import ASK_TIMEOUT_S, NotOwner
from actors.runtime.mailbox import Ask, MessageContext, Progress
from actors.sessions.messages import Caller, ReadSession
from actors.sessions.scopes import GATEWAY_ROUTE, Scopes

R = TypeVar("R")
A = TypeVar("A", bound=Quoting)


class Answer(Quoting, frozen=True):
    """The answer of a command: records in `profile`, the rest in `content`, and a cursor if there is another page."""

    profile: Sequence[dict[str, Any]] = ()
    content: Sequence[dict[str, Any]] = ()
    next: str | None = None


class Elsewhere(BaseException):
    """The change of a command belongs to another node; nothing has changed yet, and the command moves there.

    Without a caller in its call the command is not even admitted, and begins anew there.

    Not an `Exception`, so that a command which handles those, as a refusal or a fault, does not take it for one.

    Args:
        key: the key of the actor that changes.
        call: the command, which has been admitted here if it has a caller.
    """

    def __init__(self, key: str, call: "Call") -> None:
        super().__init__(key)
        self.key = key
        self.call = call


_NOTES = ("caller", "agent_id", "domain_id", "zone_id", "known_agent", "prepared_names")
"""The members of a call in which an `answer` may note the state after the change."""

_notes = attrgetter(*_NOTES)


class Call(Struct):
    """One command on its way: its sender, its origin and its body.

    `caller` is None on the public commands. `agent_id`, `domain_id` and `zone_id` are the selection as this command
    leaves it. `quota` is the user's quota after this request was counted, `receipt` takes the rows to commit with the
    change, `target_names` are the names in a gateway route's path, and `resumes` is the stored message of a chat with
    an Idempotency-Key that has no reply yet.
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
    quota: QuotaStatus | None = None
    receipt: Receipt | None = None
    resumes: str | None = None
    target_names: dict[str, str] | None = None
    last_event_id: str | None = None
    run: str | None = None
    """The id of the run of a chat in private, once it is answered."""
    counts_as: str | None = GATEWAY_ROUTE
    """The service that a key's scopes must allow; GATEWAY_ROUTE for none, None if it is checked later, part by part."""
    mutates: bool = True
    """Whether it changes something, which a key's scopes may forbid."""
    by_secret: bool = False
    """Whether a request without a credential has the internal secret."""
    is_act: bool = False
    """Whether it is an operator's, on a route of theirs."""
    head_at: float | None = None
    """When the head of a stream without end was ready, on the clock of the metrics; None for other answers."""
    elsewhere: bool = False
    """Whether another node carries it out, which then logs it."""
    left_zone: bool = False
    """Whether it is a chat that the selected zone has refused because it is private; it stays so if it moves on."""
    known_agent: tuple[str, str] | None = None
    """Id and name of the last agent that the command read, so that the context need not ask for the name."""
    prepared_names: dict[str, tuple[str | None, str | None]] | None = None
    """Ids and names of the selection, looked up ahead of the change (see `actors/calls/context.py`)."""
    _message_context: MessageContext | None = None

    @property
    def progress(self) -> Progress | None:
        """The channel for the pieces of a streamed answer."""
        return self._message_context and self._message_context.progress

    @property
    def begun(self) -> Callable[[Any], None] | None:
        """The channel for what is known of a streamed answer before its first piece."""
        return self._message_context and self._message_context.begun

    def stream_to(self, progress: Progress, begun: Callable[[Any], None] | None = None) -> None:
        """Pass the pieces of the answer on as they come; `begun` is called before the first one."""
        self._message_context = MessageContext(progress, None, begun)

    def begins_stream(self) -> None:
        """Note that the head of a stream without end is ready: its time is over for the metrics."""
        self.head_at = perf_counter()

    def says(self, request: TPSRequest) -> None:
        """Set the body."""
        self.request = request
        self.target = request.target or NO_TARGET
        self.vx = request.vx or NO_DEFINITION

    def sent_by(self, caller: Caller) -> None:
        """Set the sender and its selection."""
        self.caller = caller
        self.agent_id = caller.agent_id
        self.domain_id = caller.domain_id
        self.zone_id = caller.zone_id

    def logged_off(self) -> None:
        """Note that the command has ended its own session."""
        self.caller = None
        self.agent_id = None
        self.lost_domain()

    def lost_domain(self) -> None:
        """Note that the selected domain is gone or out of sight after the command."""
        self.domain_id = self.zone_id = None

    @property
    def user(self) -> Caller:
        """The sender. Only commands that need a credential use this."""
        assert self.caller is not None
        return self.caller

    @property
    def scopes(self) -> Scopes | None:
        """The scopes of the sender's API key; None without restrictions."""
        return None if self.caller is None else self.caller.scopes

    def require_in_scope(self, kind: str, id: str | None) -> None:
        """Refuse an entity that the sender's API key is not for; see `Scopes.require`.

        Raises:
            NotPermitted: it is not for it.
        """
        scopes = None if self.caller is None else self.caller.scopes
        if scopes is not None:
            scopes.require(kind, id)

    async def require_credential(self) -> None:
        """Ask whether the sender's session or API key has not ended meanwhile.

        A stream asks once it is registered, because it is told of an end only from then on.

        Raises:
            InvalidCredential, UserSuspended: it has ended since the request was admitted.
        """
        await self.ask(self.user.kind, self.user.credential_id, ReadSession())

    def ask(self, kind: str, key: str, message: Ask[R], *, timeout: float = ASK_TIMEOUT_S) -> Coroutine[Any, Any, R]:
        """Ask an actor on behalf of this request; await the returned coroutine."""
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
        listed: bool = False,
    ) -> A:
        """Ask an actor for the change that the command makes: the only ask of a command that changes anything.

        `answer` turns the actor's reply into the answer of the command (an `Answer`, or a gateway route's
        `RouteReply`). It runs in one step, before the change is stored, because a receipt writes the answer in the
        change's own unit. `repeatable`: the command is idempotent, so its answer may be stored after
        the change. `listed`: lists of banks or zones may show the change, so the caller's watches are told of it.

        Raises:
            Elsewhere: this node does not serve the actor.
        """
        receipt, directory = self.receipt, self.core.directory
        if not directory.serves(key):
            raise Elsewhere(key, self)
        ask = directory.ask
        if receipt is None:
            context = self._message_context
            try:
                reply = await ask(kind, key, message, timeout=timeout, request_id=self.request_id, context=context)
            except NotOwner:
                raise Elsewhere(key, self) from None
            if listed:
                self.core.changes.changed(self.user.user_id)
            return answer(reply)
        receipt.make, receipt.repeatable = answer, repeatable
        noted = _notes(self)
        beside = self._message_context
        context = (
            MessageContext(None, receipt) if beside is None else MessageContext(beside.progress, receipt, beside.begun)
        )
        try:
            reply = await ask(kind, key, message, timeout=timeout, request_id=self.request_id, context=context)
        except NotOwner:  # the actor's shard left this node meanwhile
            raise Elsewhere(key, self) from None
        except ServiceError as error:
            # else it may still run, as when the client disconnects
            if not isinstance(error, Overloaded) or isinstance(error, RefusedAlone):
                receipt.undo()
                receipt.make = None
                for name, value in zip(_NOTES, noted, strict=True):  # forget the notes on the refused change
                    setattr(self, name, value)
            raise
        receipt.make = None  # break the reference cycle of call and receipt
        if listed:
            self.core.changes.changed(self.user.user_id)
        return receipt.answer if receipt.written else answer(reply)

    def waive_receipt(self, *, reads: bool = False) -> None:
        """Leave no audit row and store no answer if the command succeeds, because its user is gone then.

        Args:
            reads: leave no audit row if it fails, either, because it changes nothing.
        """
        if self.receipt is not None:
            self.receipt.waived, self.receipt.reads = True, reads
            self.receipt = None

    def saw_agent(self, agent_id: str, name: str) -> None:
        """Note an agent's name after the command, so that the context need not ask for it."""
        self.known_agent = agent_id, name

    def saw_domain(self, domain_id: str, name: str) -> None:
        """Note a domain's name after the command, for an answer that is written before its change is stored."""
        if self.prepared_names is not None and domain_id == self.domain_id:
            self.prepared_names = {**self.prepared_names, "domain": (domain_id, name)}
