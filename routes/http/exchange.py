"""The frame around every request, shared by the command bus, the gateway routes and MCP.

It covers the request id and address, the timer, errors, metrics and the log, and the order in which a command's audit
row and idempotency record are stored. Each of them has its own checks and its own shape of answers.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct
from sanic import Request

from actors.calls.admission import admit, audit_of
from actors.calls.call import A, Call, Elsewhere
from actors.calls.context import prepare_context
from actors.calls.credential_watching import watching_credential
from actors.core import Core
from actors.errors import ServiceError
from actors.idempotency.once import Done, Execution, require_key
from actors.idempotency.records import Receipt, Rendered
from actors.ids import system_clock
from routes.http.access_log import AccessLog, RequestLine
from routes.http.addresses import Network, client_address
from routes.http.answers import request_id_of
from routes.http.background import BackgroundTasks
from routes.http.base_url import base_url
from routes.http.bodies import whole_header
from routes.http.console_cookie import Header, with_cookie
from routes.http.errors import as_service_error
from routes.http.metrics import RequestMetrics

if TYPE_CHECKING:
    from routes.doors.answer_stream import AnswerStream
    from routes.forwarding.entry import Forwarding

CUT_OFF = -1
"""The internal code in metrics and log if the client disconnected before its answer."""


class _WithStatus(Protocol):
    @property
    def status(self) -> int: ...


R = TypeVar("R")
T = TypeVar("T", bound=_WithStatus)


class Received(Struct, frozen=True):
    """A request without its connection, so that another node can serve it."""

    header: Callable[[str], str | None]
    """Returns the values of a header, joined by commas; names are in lower case."""
    args: dict[str, str]
    """The query parameters, with the first value of each."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Writing(Generic[A]):
    """The functions by which a front door writes the answers of a command with an Idempotency-Key.

    `redacted` writes the answer in place of one that is redacted.
    """

    answer: Callable[[A], Rendered]
    refusal: Callable[[ServiceError], Rendered]
    redacted: Callable[[], Rendered]


class Exchange:
    """Runs requests from arrival to their line in the log."""

    def __init__(
        self,
        core: Core,
        metrics: RequestMetrics,
        access_log: AccessLog,
        trusted_proxies: Sequence[Network],
        max_body_bytes: int,
        work: BackgroundTasks,
        public_url: str | None = None,
        *,
        takes_cookie: bool = True,
    ) -> None:
        self.core = core
        self.max_body_bytes = max_body_bytes
        self.work = work
        self.forwarding: Forwarding | None = None
        """Sends requests to other nodes; None if there is only this one."""
        self._metrics = metrics
        self._access_log = access_log
        self._trusted_proxies = trusted_proxies
        self._public_url = public_url
        self._takes_cookie = takes_cookie

    def address(self, peer: str, header: Callable[[str], str | None]) -> str:
        """Return the client's address; `header` returns the lines of a header, joined by commas."""
        return client_address(peer, header, self._trusted_proxies)

    def address_of(self, request: Request) -> str:
        """Return the client's address of a Sanic request."""
        connection: Any = request.conn_info
        return client_address(connection.client_ip, partial(whole_header, request), self._trusted_proxies)

    def header_of(self, request: Request, header: Header | None = None) -> Header:
        """Return the function that reads the headers of a Sanic request, or `header` for one that reads them otherwise.

        The console's cookie is a credential in them, unless the console is disabled.
        """
        headers: Any = request.headers
        read: Header = header or headers.get
        return with_cookie(request, read) if self._takes_cookie and "cookie" in headers else read

    def is_https(self, request: Request) -> bool:
        """Return whether the client of a request used https, as trusted proxies tell."""
        connection: Any = request.conn_info
        used = base_url(connection.client_ip, partial(whole_header, request), self._trusted_proxies)
        return used.startswith("https:")

    def base_url_of(self, request: Request) -> str:
        """Return the gateway's URL as the client of a request knows it, without a final slash."""
        connection: Any = request.conn_info
        return self.base_url(connection.client_ip, partial(whole_header, request))

    def base_url(self, peer: str, header: Callable[[str], str | None]) -> str:
        """Return the gateway's URL as a client knows it; `header` returns the lines of a header, joined by commas."""
        return self._public_url or base_url(peer, header, self._trusted_proxies)

    def call_of(self, request: Request, service: str) -> Call:
        """Return a new call for a Sanic request."""
        return Call(self.core, request_id_of(request), self.address_of(request), service=service)

    async def admit(self, call: Call, credential: str | None) -> None:
        """Admit a request that is carried out here, where its user is at home.

        Raises:
            NoCredential, InvalidCredential, QuotaExceeded, NotPermitted: as `admit` refuses it.
        """
        forwarding = self.forwarding
        home = None if forwarding is None else await forwarding.away(credential)
        if home is None:
            try:
                await admit(call, credential)
            except Elsewhere as gone:  # only where there are other nodes
                home = gone.key
        if home is not None and forwarding is not None:
            await forwarding.admit(call, home, credential)

    async def run(
        self,
        call: Call,
        started: float,
        serving: Coroutine[Any, Any, tuple[int, T | None]],
        refuse: Callable[[Call, ServiceError], Awaitable[T]],
        logged_elsewhere: Callable[[], bool] | None = None,
    ) -> T | None:
        """Run a request and return its answer, or None if it was streamed; `serving` returns it with the internal code.

        `refuse` writes the answer to an error. A request that another door or node has logged is not logged again.

        Raises:
            Elsewhere: the request came from another node, and moves on.
        """
        code, answer = CUT_OFF, None
        self._metrics.under_way += 1
        try:
            code, answer = await serving
        except Exception as raised:
            error = as_service_error(raised)
            code = error.internal_code
            answer = await refuse(call, error)
        except Elsewhere:
            call.elsewhere = True
            raise
        finally:  # a disconnect cancels this; its request is counted all the same
            self._metrics.under_way -= 1
            if not call.elsewhere and (logged_elsewhere is None or not logged_elsewhere()):
                status = answer.status if answer is not None else 0 if code == CUT_OFF else 200
                user = call.caller.user_name if call.caller else None
                seconds = perf_counter() - started
                latency = seconds if call.head_at is None else call.head_at - started
                line = RequestLine(
                    system_clock(), call.request_id, call.service, status, code, seconds, user, call.address
                )
                self.observe(line, latency)
        return answer

    def observe(self, line: RequestLine, latency: float) -> None:
        """Count and log one request; the metrics show `latency` as its time."""
        self._metrics.observe(line.what or "unknown", line.code, latency)
        self._access_log.write(line)

    async def heard(self, call: Call, running: Coroutine[Any, Any, R], stream: "AnswerStream | None" = None) -> R:
        """Run a command whose answer is streamed, at the latest once `stream` has begun.

        The answer ends with the caller's credential, and the command goes on, as after a disconnect.

        Raises:
            InvalidCredential: the session or API key has ended.
        """
        with watching_credential(call, hears=stream is None) as watch:
            if stream is not None:
                stream.on_begun = watch.begin
            return await watch.unless_ended(running, self.work.go_on)

    def carry_out(self, call: Call, run: Callable[[R], Coroutine[Any, Any, A]], request: R) -> Coroutine[Any, Any, A]:
        """Run a command without an Idempotency-Key, with its audit row on plans that have an audit log."""
        audit = audit_of(call)
        if audit is None:
            return run(request)
        return self.core.idempotency.audited(audit, partial(_with_receipt, call, run, request))

    def carry_out_once(
        self,
        call: Call,
        run: Callable[[R], Coroutine[Any, Any, A]],
        request: R,
        key: str,
        fingerprint: bytes,
        writing: Writing[A],
    ) -> Coroutine[Any, Any, Done]:
        """Run a command with an Idempotency-Key, or return its first answer again.

        Raises:
            InvalidField: the key is malformed.
        """
        execution = Execution(
            run=partial(_with_receipt, call, run, request),
            prepare=partial(prepare_context, call),
            render=writing.answer,
            failed=writing.refusal,
            redacted=writing.redacted,
        )
        user, idempotency = call.user, self.core.idempotency
        record = idempotency.key(user.credential_id, user.user_id, require_key(key), fingerprint)
        return idempotency.once(record, audit_of(call), execution)


async def _with_receipt(
    call: Call,
    run: Callable[[R], Coroutine[Any, Any, A]],
    request: R,
    receipt: Receipt,
    resumes: str | None = None,
) -> A:
    call.receipt, call.resumes = receipt, resumes
    return await run(request)
