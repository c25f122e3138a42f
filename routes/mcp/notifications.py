"""GET /mcp: the stream of a session's notifications, on the node of its connection."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
from sanic import Request

from actors.calls.call import Call
from actors.commands.watching import PROMPTS, RESOURCES, Change
from actors.errors import Overloaded
from actors.ids import random_hex
from actors.wire import json_event
from routes.http.server_sent_events import STILL_HERE, begin_events
from routes.mcp.asgi_bridge import send_piece
from routes.mcp.sessions import McpSessions, SessionCall, SessionGone, SessionReply, no_session

AGAIN_S = 0.5
"""The pause before a node that can't be reached is asked again, in seconds."""

_LISTS = {RESOURCES: "notifications/resources/list_changed", PROMPTS: "notifications/prompts/list_changed"}


def session_call(call: Call, session: str, does: Any, **more: Any) -> SessionCall:
    """Return a call of a session by the caller of a request."""
    return SessionCall(does, session, call.user, call.request_id, call.address, **more)


async def send_changes(request: Request, call: Call, sessions: McpSessions, session: str) -> None:
    """Send the notifications of a session until the client disconnects, or the session or the stream ends.

    Raises:
        SessionGone: there is no such session of this credential.
        ServiceError: it can't be followed now.
    """
    waits = session_call(call, session, "wait", stream=random_hex(16), opens=True, wait_s=0.0)
    reply = await sessions.carry_out(waits)
    if reply.over:
        raise no_session()
    waits = session_call(call, session, "wait", stream=waits.stream)
    connection = _Connection(call)
    call.core.open_streams.add(connection)
    try:
        response = await begin_events(request, call)
        while True:
            written = b"".join([json_event(_notification(change), "message") for change in reply.changes])
            await send_piece(request, response, written or STILL_HERE)
            if reply.over:
                break
            waits = replace(waits, after=reply.number)
            reply = await connection.wait(sessions, waits)
        await response.eof()
    finally:
        call.core.open_streams.discard(connection)


class _Connection:
    """A stream on a connection of this node; it ends with its credential, and when this node stops."""

    def __init__(self, call: Call) -> None:
        self.user_id, self.credential_id = call.user.user_id, call.user.credential_id
        self._over = False
        self._waiting: asyncio.Future[SessionReply] | None = None

    def end(self, reason: str) -> None:
        """End the stream."""
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def wait(self, sessions: McpSessions, waits: SessionCall) -> SessionReply:
        """Wait for the next changes."""
        with suppress(SessionGone):
            while not self._over:
                self._waiting = asyncio.ensure_future(sessions.carry_out(waits))
                try:
                    return await self._waiting
                except Overloaded:
                    await asyncio.sleep(AGAIN_S)
                except asyncio.CancelledError:
                    if not self._over:
                        raise
        return SessionReply(over=True)


def _notification(change: Change) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": _LISTS.get(change, "notifications/resources/updated")}
    return orjson.dumps(message | ({"params": {"uri": change.uri}} if change.uri else {}))
