"""Commands that another node carries out, on their way from the command bus."""

from collections.abc import Awaitable, Callable
from typing import Any

from actors.calls.call import Call, Elsewhere
from actors.calls.request import MEMBERS
from actors.commands.command import Command
from routes.bus.request import BusRequest
from routes.forwarding.entry import Forwarding
from routes.forwarding.run import Admitted, Delta, Opening, Run, headers_of
from routes.http.answers import HttpAnswer, credential_of

Answering = Callable[[BusRequest, Call, Command, dict[str, Any]], Awaitable[tuple[int, HttpAnswer]]]


class BusPassage:
    """Passes requests to the command bus on to other nodes."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    async def home_of(self, request: BusRequest, command: Command) -> str | None:
        """Return the key of the home of a request if it is another node's, else None.

        A stream without end runs where its connection is.

        Raises:
            NoCredential, InvalidCredential: the command needs a credential, and there is none, or an unknown one.
        """
        if command.follow is not None:
            return None
        if command.public:
            return self._forwarding.away_by_address(request.address)
        return await self._forwarding.away(credential_of(request.header))

    async def answered(
        self,
        here: Answering,
        home: str | None,
        request: BusRequest,
        call: Call,
        command: Command,
        body: dict[str, Any],
    ) -> tuple[int, HttpAnswer]:
        """Run a command `here`, or have another node run it: its `home`, or the owner of what it changes.

        Returns an answer of another node with 0 if it is a success, else with 1.
        """
        if home is not None:
            named = {} if command.public else self._forwarding.naming(home)  # a public one's home is an address's
            return await self._passed_on(request, call, command, _run_of(request, call, command, home), named)
        try:
            return await here(request, call, command, body)
        except Elsewhere as change:
            run = self._forwarding.moved_on(_run_of(request, call, command, change.key), Admitted.of(call))
        return await self._passed_on(request, call, command, run, {})

    async def _passed_on(
        self, request: BusRequest, call: Call, command: Command, run: Run, named: dict[str, str]
    ) -> tuple[int, HttpAnswer]:
        def hear(piece: Opening | Delta) -> None:
            if isinstance(piece, Delta):
                if call.progress is not None:
                    call.progress(piece.text)
            elif request.opening is not None:
                request.opening.update(piece.headers | named)

        keyed = request.header("idempotency-key") is not None and not command.public
        answered = await self._forwarding.carry_out(call, run, safe=keyed or not command.mutates, hear=hear)
        body, *rest = (b"".join(answered.pieces),) if run.events else answered.pieces
        return int(answered.status != 200), HttpAnswer(body, answered.status, answered.headers | named, rest=rest)


def _run_of(request: BusRequest, call: Call, command: Command, key: str) -> Run:
    """Return a request as it travels."""
    return Run(
        key=key,
        door="bus" if request.members is MEMBERS else "tool",
        name=command.service,
        request_id=request.request_id,
        address=request.address,
        headers=headers_of(request.header),
        body=request.body,
        events=call.progress is not None,
    )
