"""Sessions of the protocol, which clients before 2026-07-28 need to subscribe (docs/mcp.md, "Subscriptions").

A session is its subscriptions and the changes that its stream has not taken yet, in the memory of the node that began
it; its id names that node. All else of MCP is served without a look at the session, so losing one loses no more than
subscriptions. A session begins to take memory with its first subscription or stream.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from actors.calls.call import Call
from actors.commands.watching import PROMPTS, RESOURCES, Change, Watch, watch_of
from actors.core import Core
from actors.errors import NotFound
from actors.sessions.messages import Caller
from actors.sessions.open_streams import MAX_STREAMS
from routes.mcp.subscriptions import subscribe

HEADER = "mcp-session-id"

WAIT_S = 10.0
"""Seconds of one wait for changes; a silent stream gets a comment after each."""

IDLE_S = 600.0
"""Seconds that a session is kept without a stream."""

REMEMBERED = 10_000
"""The number of ended sessions that are remembered, so that none begins anew."""


class SessionGone(NotFound):
    """The session has ended, was lost with its node, or is another credential's."""


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A client's request to its session, as it travels to the session's node.

    Attributes:
        does: subscribe to `uri` or no more, wait for changes, or end the session.
        groups: those of the address, which choose the resources.
        stream: the id of the stream that waits; `opens` if it is its first wait.
        after: the number of the last changes that the stream has sent.
        wait_s: how long it waits for changes, in seconds.
    """

    does: Literal["subscribe", "unsubscribe", "wait", "end"]
    session: str
    caller: Caller
    request_id: str
    address: str
    uri: str = ""
    groups: frozenset[str] = frozenset()
    stream: str = ""
    opens: bool = False
    after: int = 0
    wait_s: float = WAIT_S


@dataclass(frozen=True, slots=True)
class SessionReply:
    """The changes to send, and their number for the next wait; `over`: the stream ends after them."""

    changes: tuple[Change, ...] = ()
    number: int = 0
    over: bool = False


Passing = Callable[[str, SessionCall], Awaitable[SessionReply]]
"""Has a session's node carry out a call; takes the node's tag."""


@dataclass(slots=True)
class _Session:
    watch: Watch
    used: float
    stream: str = ""
    number: int = 0
    untaken: tuple[Change, ...] = ()
    waiting: asyncio.Lock = field(default_factory=asyncio.Lock)


def tag_of(node: str) -> str:
    """Return the beginning of the ids of a node's sessions, which does not tell its name."""
    return sha256(node.encode()).hexdigest()[:16]


class McpSessions:
    """The sessions of this node, and the way to those of others.

    Args:
        core: of this node.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.passing: Passing | None = None
        """Reaches other nodes; None if there is only this one."""
        self._tag = tag_of(core.cluster.ownership.node if core.cluster is not None else secrets.token_hex())
        self._sessions: dict[str, _Session] = {}
        self._ended: OrderedDict[str | None, None] = OrderedDict()

    def new_id(self) -> str:
        """Return the id of a new session."""
        return f"{self._tag}-{secrets.token_hex(16)}"

    def has_ended(self, session: str | None) -> bool:
        """Return whether its client has ended a session, as far as this node knows."""
        return session in self._ended

    async def carry_out(self, call: SessionCall) -> SessionReply:
        """Carry out a call at the session's node.

        Raises:
            SessionGone: there is no such session of this credential.
            ServiceError: the resource can't be subscribed to, or the node can't be reached.
        """
        tag, dash, rest = call.session.partition("-")
        if not dash or not rest:
            raise no_session()
        if tag == self._tag:
            return await self.carry_out_here(call)
        if self.passing is None:
            raise no_session()
        return await self.passing(tag, call)

    async def carry_out_here(self, call: SessionCall) -> SessionReply:
        """Carry out a call of a session of this node; see `carry_out`."""
        if call.session in self._ended or not call.session.startswith(f"{self._tag}-"):
            raise no_session()
        if call.does == "end":
            self._end(call.session, call.caller)
            return SessionReply(over=True)
        session = await self._session(call)
        session.used = self._now()
        match call.does:
            case "subscribe":
                await subscribe(session.watch, call.groups, call.uri)
            case "unsubscribe":
                session.watch.unsubscribe(call.uri)
            case "wait":
                return await self._wait(session, call)
        return SessionReply()

    async def _wait(self, session: _Session, call: SessionCall) -> SessionReply:
        """Wait for changes. A new stream takes over from the one before; what that has not sent is sent again."""
        if call.opens:
            session.stream = call.stream
        if session.stream != call.stream:
            return SessionReply(over=True)
        if session.waiting.locked():
            session.watch.interrupt()
        async with session.waiting:
            if call.after == session.number and not call.opens:
                session.untaken = ()
            if not session.untaken:
                changes = await session.watch.next(call.wait_s)
                session.used = self._now()
                if changes is None:
                    self._end(call.session, call.caller)
                    return SessionReply(over=True)
                if changes:
                    session.untaken = tuple(changes)
                    session.number += 1
            if session.stream != call.stream:
                return SessionReply(over=True)
            return SessionReply(session.untaken, session.number)

    async def _session(self, call: SessionCall) -> _Session:
        session = self._sessions.get(call.session)
        if session is None:
            self._make_room(call.caller.credential_id)
            watch = watch_of(self._call_of(call), frozenset((RESOURCES, PROMPTS)), connected=False)
            session = self._sessions[call.session] = _Session(watch, self._now())
            try:
                await watch.start()
            except BaseException:
                watch.close()
                self._sessions.pop(call.session, None)
                raise
        if session.watch.credential_id != call.caller.credential_id:
            raise no_session()
        return session

    def _call_of(self, call: SessionCall) -> Call:
        made = Call(self._core, call.request_id, call.address, "mcp")
        made.sent_by(call.caller)
        return made

    def _make_room(self, credential_id: str) -> None:
        """End sessions that have no stream: those idle for long, and the longest idle of a credential with too many."""
        idle = sorted((one.used, id) for id, one in self._sessions.items() if not one.waiting.locked())
        for used, id in idle:
            session = self._sessions[id]
            mine = session.watch.credential_id == credential_id
            full = mine and self._core.open_streams.of(credential_id) >= MAX_STREAMS
            if full or used + IDLE_S < self._now():
                self._end(id)

    def _end(self, id: str, caller: Caller | None = None) -> None:
        """End a session, for its own caller if one is given.

        Raises:
            SessionGone: it is another credential's.
        """
        session = self._sessions.get(id)
        if session is not None:
            if caller is not None and session.watch.credential_id != caller.credential_id:
                raise no_session()
            del self._sessions[id]
            session.watch.close()
        self._ended[id] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def no_session() -> SessionGone:
    """Make the error for a session that is not there."""
    return SessionGone("There is no such session (any more): connect again, and subscribe anew.")
