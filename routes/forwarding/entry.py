"""Requests on their way to the node that carries them out: the home of their user, or the owner of what they change."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from time import monotonic

from actors.addresses import home_of
from actors.calls.admission import require_service_in_scope
from actors.calls.call import Call
from actors.errors import Overloaded
from actors.runtime.cluster.directory import WORK_S
from actors.runtime.cluster.map_changes import MapChanges
from actors.runtime.cluster.places import Places, name_of
from actors.runtime.cluster.post import Handler, Lost, NotReached, NotServed, Post
from actors.runtime.cluster.wire import raise_error
from actors.sessions.credentials import Credentials
from routes.forwarding.run import (
    Admission,
    Admitted,
    Delta,
    Head,
    Heard,
    Malformed,
    Moved,
    Opening,
    Part,
    Refused,
    Run,
    decode_frame,
    encode,
)

SUBJECT = "run"

NODE = "X-Parley-Node"
"""Header of answers that came over another node: the name of the user's home, for load balancers."""

NOT_REACHED_S = 4.0
"""Seconds for which a request that did not begin is sent again: a dead node's shards have an owner before that."""
FAIL_OVER_S = WORK_S + 1.0
"""The same where the shard has no owner or its owner refuses the request, as while it hands the shard over, or where an
owner died with a request that may be sent again."""
FRAME_S = 330.0
"""Seconds that a node may take for the next frame, as long as a connection waits for an answer."""
MAX_MOVES = 4
"""A chat that a selected zone refuses moves twice; each shard that leaves a node meanwhile costs a move more."""
_SOON_S, _LATER_S = 0.05, 0.4

log = logging.getLogger("parley.forwarding")


@dataclass(slots=True)
class Answered:
    """The answer of another node."""

    status: int
    headers: dict[str, str]
    pieces: list[bytes]
    """The body, in one or several pieces."""


class Forwarding:
    """Sends requests to the nodes that carry them out, and waits for a new owner where a node has died.

    Args:
        post: reaches the nodes.
        places: the owners of shards.
        credentials: finds a token's home.
        here: carries out a run on this node, to which its shard may come while it waits.
    """

    def __init__(self, post: Post, places: Places, credentials: Credentials, here: Handler) -> None:
        self._post = post
        self._places = places
        self._credentials = credentials
        self._here = here
        self._map_changes = MapChanges(places.on_change)
        self.forwarded: Counter[str] = Counter()
        """Requests sent to other nodes, by node."""
        self.moved = 0
        """Requests that moved on from the home of their user."""

    async def away(self, credential: str | None) -> str | None:
        """Return the key of a credential's home, or None if this node is the home.

        Raises:
            NoCredential, InvalidCredential: there is no credential, or an unknown one.
        """
        return self._unless_mine(await self._credentials.home_of(credential))

    def away_by_address(self, address: str) -> str | None:
        """Return the key of an address's home, where requests without a credential are limited; None if it is here."""
        return self._unless_mine(home_of(address))

    def _unless_mine(self, key: str) -> str | None:
        return None if self._places.is_mine(key) else key

    def naming(self, home: str) -> dict[str, str]:
        """Return the header by which a load balancer learns where a user is at home; empty while nobody knows."""
        owner = self._places.owner(home)
        return {} if owner is None else {NODE: name_of(owner)}

    async def admit(self, call: Call, home: str, credential: str | None) -> None:
        """Have the home of a request admit it; its count is stored.

        Raises:
            ServiceError: the home refuses it, or can't be reached.
            NotPermitted: the API key is not for it.
        """
        headers = {} if credential is None else {"x-api-key": credential}
        run = Run(
            key=home,
            door="admission",
            name=call.service,
            request_id=call.request_id,
            address=call.address,
            headers=headers,
        )
        admission = await self._sent(run, safe=True, hear=None)
        if isinstance(admission, Refused):
            if admission.admitted is not None:
                await admission.admitted.admit(call)  # for the quota in the refusal's headers
            raise_error(admission.error)
        if not isinstance(admission, Admission):
            raise _unknown_end()
        await admission.admitted.admit(call)
        require_service_in_scope(call)

    async def carry_out(self, call: Call, run: Run, *, safe: bool, hear: Heard | None = None) -> Answered:
        """Have a request carried out where its key is at home, and return the answer; that node logs it.

        Args:
            call: the request as this node knows it.
            run: the request as it travels.
            safe: whether it may be sent again although it may have been carried out.
            hear: takes the pieces of a streamed answer.

        Raises:
            Overloaded: it was not begun, or may have been carried out; the note says which.
        """
        answered = await self._sent(run, safe=safe, hear=hear)
        if not isinstance(answered, Answered):
            raise _unknown_end()
        call.elsewhere = True
        return answered

    def moved_on(self, run: Run, admitted: Admitted) -> Run:
        """Return the run for the owner of what it changes, once it has been admitted here."""
        self.moved += 1
        return run.moved(run.key, admitted)

    async def _sent(self, run: Run, *, safe: bool, hear: Heard | None) -> Answered | Admission | Refused:
        """Send a run, again where that is safe, and on where it moves.

        A run that was not begun is always sent again, because nothing has happened. After one that got lost, only a
        `safe` one is. A read is safe. So is a change with an Idempotency-Key: the store refuses a second unit that
        would keep an answer for the key, and a repeat returns the kept one. Two kinds of changes keep no answer: an
        idempotent one, which a repeat doesn't change further; and one that ends the caller's own credential or user,
        whose repeat is refused with 401 and so is not taken for the answer.
        """
        failing_since: float | None = None
        pause, lost, heard = _SOON_S, False, False

        def pass_on(piece: Opening | Delta) -> None:
            nonlocal heard
            heard = True
            if hear is not None:
                hear(piece)

        while True:
            owner, handed_over = self._places.owner(run.key), False
            try:
                ended = await self._attempt(owner, run, pass_on)
            except NotServed:
                handed_over = self._places.valid  # else the owner, too, may be without a lease
            except NotReached:
                pass
            except Lost:
                if not safe or heard:  # a client has the first pieces already
                    raise _unknown_end() from None
                lost = True
            else:
                if isinstance(ended, Moved):
                    self.moved += 1
                    run = run.moved(ended.key, ended.admitted)
                    if run.moves > MAX_MOVES:
                        raise _moves_on_and_on()
                    continue
                if lost and isinstance(ended, Answered) and ended.status == 401:
                    raise _unknown_end()
                return ended
            now = monotonic()
            failing_since = failing_since or now
            is_long = lost or handed_over or owner is None
            left_s = failing_since + (FAIL_OVER_S if is_long else NOT_REACHED_S) - now
            if left_s <= 0:
                raise _unknown_end() if lost else _not_begun()
            await self._map_changes.next(min(pause, left_s))
            pause = min(2 * pause, _LATER_S)

    async def _attempt(
        self, owner: str | None, run: Run, hear: Callable[[Opening | Delta], None]
    ) -> Answered | Admission | Refused | Moved:
        """Send a run once.

        Raises:
            NotReached: it was not begun.
            Lost: it may have been carried out.
        """
        if owner is None:
            raise NotReached
        frames = self._frames(owner, encode(run))
        try:
            async for data in frames:
                match decode_frame(data):
                    case Head() as head:
                        return Answered(head.status, head.headers, await _pieces(head, frames))
                    case Opening() | Delta() as piece:
                        hear(piece)
                    case Moved() | Admission() | Refused() as ended:
                        return ended
                    case Part():
                        break
        except Malformed as error:
            log.error("a node answered what this one can't read: %s", error)
        raise Lost

    def _frames(self, owner: str, body: bytes) -> AsyncIterator[bytes]:
        if owner == self._places.node:
            return self._here(body)
        self.forwarded[owner] += 1
        return self._post.request(owner, SUBJECT, body, timeout_s=FRAME_S)


async def _pieces(head: Head, frames: AsyncIterator[bytes]) -> list[bytes]:
    """Return the body of an answer with its further parts.

    Raises:
        Lost: a part is missing.
    """
    pieces = [head.body]
    while len(pieces) <= head.parts:
        part = decode_frame(await anext(frames, b""))
        if not isinstance(part, Part):
            raise Lost
        pieces.append(part.body)
    return pieces


def _not_begun() -> Overloaded:
    return Overloaded("The node of this user or entity can't be reached now; nothing was done, try again.")


def _moves_on_and_on() -> Overloaded:
    return Overloaded("This request was sent from node to node too often; nothing was done, try again.")


def _unknown_end() -> Overloaded:
    return Overloaded(
        "The node that served this was lost; it may have been carried out, so look before you send it again."
    )
