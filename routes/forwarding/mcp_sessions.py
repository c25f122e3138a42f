"""Sessions of MCP that live on other nodes (routes/mcp/sessions.py)."""

from collections.abc import AsyncIterator

import msgspec

from actors.errors import Overloaded
from actors.runtime.cluster.places import Places
from actors.runtime.cluster.post import Lost, NotReached, Post
from actors.runtime.cluster.wire import encode_error, raise_error
from routes.http.errors import as_service_error
from routes.mcp.sessions import McpSessions, SessionCall, SessionGone, SessionReply, no_session, tag_of

SUBJECT = "mcp"

LATE_S = 5.0
"""Seconds that an answer may take beyond the wait that it is asked for."""

_GONE, _ERROR, _REPLY = b"g", b"e", b"r"
_encode = msgspec.msgpack.Encoder().encode
_decode_call = msgspec.msgpack.Decoder(SessionCall).decode
_decode_reply = msgspec.msgpack.Decoder(SessionReply).decode


class SessionPassage:
    """Passes calls of sessions on to their nodes, and serves those of others."""

    def __init__(self, sessions: McpSessions, places: Places, post: Post) -> None:
        self._sessions = sessions
        self._places = places
        self._post = post

    async def pass_on(self, tag: str, call: SessionCall) -> SessionReply:
        """Have the node of a tag carry out a call.

        Raises:
            SessionGone: the node has left, or has no such session.
            Overloaded: it can't be reached now.
            ServiceError: it refuses the call.
        """
        node = next((node for node, row in self._places.nodes.items() if row.live and tag_of(node) == tag), None)
        if node is None:
            raise no_session()
        try:
            frame = await self._post.call(node, SUBJECT, _encode(call), timeout_s=call.wait_s + LATE_S)
        except (NotReached, Lost):
            raise Overloaded("The node of this session can't be reached now; try again.") from None
        kind, rest = frame[:1], frame[1:]
        if kind == _GONE:
            raise no_session()
        if kind == _ERROR:
            raise_error(rest)
        return _decode_reply(rest)

    async def serve(self, body: bytes) -> AsyncIterator[bytes]:
        """Carry out a call that another node passes on; a `Handler` of the post."""
        try:
            reply = await self._sessions.carry_out_here(_decode_call(body))
        except SessionGone:
            yield _GONE
        except Exception as raised:
            yield _ERROR + encode_error(as_service_error(raised))
        else:
            yield _REPLY + _encode(reply)


def share_sessions(sessions: McpSessions, places: Places, post: Post) -> None:
    """Reach the sessions of other nodes, and serve this node's to them; before the post starts."""
    passage = SessionPassage(sessions, places, post)
    sessions.passing = passage.pass_on
    post.serve(SUBJECT, passage.serve)
