# Made by `make client` from parley_client/_async: don't edit.
"""Calls over HTTP, each with all its tries."""

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from parley_client._decoding import json_of
from parley_client._repeating import Call, Repeats, may_repeat, refusal, retry_after
from parley_client._settings import proxy_of
from parley_client._sync.closing import Line
from parley_client._waiting import home, sleep
from parley_client.errors import InvalidSetting, NoConnection, ParleyError, Refused, UnexpectedAnswer

LOG = logging.getLogger("parley_client")
"""Tells of each call that is tried again; its messages hold addresses, codes and notes, and no credential or body."""

CONNECT_S = 10.0
"""Seconds that a connection may take."""

SHOWN_PATH = 200
"""Characters of a path that an error shows."""

EVENT_STREAM = "text/event-stream"

_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
"""Failures before anything was sent."""


class _Use:
    """Where the connections of an httpx2 client are used, and by which streams, whichever clients share it."""

    def __init__(self, home: object) -> None:
        self.home = home
        self.lines: set[Line] = set()
        self.is_over = False


_USES: WeakKeyDictionary[httpx2.Client, _Use] = WeakKeyDictionary()

_FULL = (
    "all connections of the client are in use: make fewer calls at once, or give it an httpx2 client with more (http=)"
)


class Transport:
    """Sends calls to one gateway, and repeats them as far as that is safe.

    Args:
        http: the httpx2 client to use, which may be used for other gateways, too.
        address: the gateway's address.
        repeats: how often a call is tried.
    """

    def __init__(self, http: httpx2.Client, address: str, repeats: Repeats) -> None:
        self.http = http
        self.address = address
        self.repeats = repeats

    def send(self, call: Call) -> tuple[Any, Mapping[str, str]]:
        """Return the decoded body and the headers of the answer; None without a body.

        Raises:
            Refused: the gateway answered with an error.
            NoConnection: no whole answer arrived.
            UnexpectedAnswer: something else answered.
            InvalidSetting: the call can't be sent.
            RuntimeError: the client is used in another process or event loop than before.
        """
        tries, reached = 0, False
        while True:
            tries += 1
            try:
                response = self.http.send(self._request(call))
                return self.answer(response), response.headers
            except (httpx2.HTTPError, Passing) as trouble:
                reached |= may_be_done(trouble)
                self.pause(call, tries, trouble, reached=reached)

    @contextmanager
    def open(self, call: Call, line: Line) -> Generator[httpx2.Response]:
        """Begin a stream of events, which is read piece by piece, in one try; `line` is the stream's.

        Raises:
            httpx2.HTTPError, Passing: it has not begun; `pause` waits for the next try.
            UnexpectedAnswer: something else answered.
            InvalidSetting: the call can't be sent.
            RuntimeError: the client is used in another process or event loop than before.
        """
        use = self._use
        use.lines.add(line)
        try:
            response = line.response = self.http.send(self._request(call), stream=True)
            if line.is_closed or use.is_over:  # meanwhile
                raise httpx2.ReadError("the stream is closed")
            if not response.is_success:
                response.read()
                self.answer(response)
            if response.headers.get("Content-Type", "").partition(";")[0].strip().lower() != EVENT_STREAM:
                raise UnexpectedAnswer(
                    f"{response.url}: the answer is no stream of events: is this a gateway's address?"
                )
            yield response
        finally:
            use.lines.discard(line)
            line.let_go()

    def close(self) -> None:
        """Close the connections; who waits for a stream is told at once."""
        use = self._use
        if use.home == home():  # those of a parent process are not this one's to end
            use.is_over = True
            for line in [*use.lines]:
                line.hang_up()
        self.http.close()

    @property
    def _use(self) -> _Use:
        use = _USES.get(self.http)
        return _USES.setdefault(self.http, _Use(home())) if use is None else use

    def _check_open(self, call: Call, *, reached: bool) -> None:
        if self._use.is_over or self.http.is_closed:
            raise NoConnection(f"{self._place_of(call)}: the client is closed", may_be_done=reached)

    def _request(self, call: Call) -> httpx2.Request:
        if self._use.home != home():
            raise RuntimeError(
                "the client is used in another process or event loop than before, where its connections can't be: "
                "make one there (with threads, Parley can be shared)"
            )
        self._check_open(call, reached=False)
        try:
            return self.http.build_request(
                call.method,
                self.address + call.path,
                json=call.body,
                headers=call.headers,
                timeout=_limits(call.timeout),
            )
        except (TypeError, ValueError, RecursionError, httpx2.InvalidURL) as error:  # such as half of a surrogate pair
            raise InvalidSetting(f"{self._place_of(call)}: what is given can't be sent: {error}") from None

    def answer(self, response: httpx2.Response) -> Any:
        """Return the body of an answer with success.

        Raises:
            Refused, UnexpectedAnswer: it is none.
        """
        try:
            body: Any = json_of(response.content) if response.content else None
        except ValueError:
            body = None if response.is_success else {}
            if response.is_success:
                raise UnexpectedAnswer(f"{response.url}: the answer is no JSON: is this a gateway's address?") from None
        if response.is_success:
            return body
        error = refusal(response.status_code, response.headers, body)
        if isinstance(error, UnexpectedAnswer):
            error = UnexpectedAnswer(f"{response.url}: {error}")
        raise Passing(error, response)

    def pause(
        self,
        call: Call,
        tries: int,
        trouble: "Trouble",
        repeats: Repeats | None = None,
        told: "Told | None" = None,
        line: Line | None = None,
        *,
        reached: bool,
    ) -> None:
        """Wait for the next try of a call that got no answer or was refused for now.

        Args:
            call: the call.
            tries: how often it was tried.
            trouble: what the last try raised.
            repeats: the client's, where absent.
            told: is called with the error and the seconds of the wait, before it begins.
            line: that of a stream, which may end the wait.
            reached: whether any of the tries may have been carried out.

        Raises:
            Refused, NoConnection, UnexpectedAnswer: there is no other try.
        """
        self._check_open(call, reached=reached)
        repeats = repeats or self.repeats
        error: ParleyError
        if isinstance(trouble, Passing):
            error, response = trouble.error, trouble.response
            passes = may_repeat(trouble.error, response.status_code, call)
            wait = repeats.wait_after(tries, retry_after(response.headers)) if passes else None
        elif isinstance(trouble, httpx2.LocalProtocolError):  # its text holds the header, which may be a secret
            raise NoConnection(f"{self._place_of(call)}: a header can't be sent as it is", may_be_done=False) from None
        else:
            unsent = isinstance(trouble, _UNSENT)
            said = _FULL if isinstance(trouble, httpx2.PoolTimeout) else str(trouble).rstrip(".")
            error = NoConnection(f"{self._place_of(call)}: {said or type(trouble).__name__}", may_be_done=reached)
            wait = repeats.wait_after(tries, None) if unsent or call.repeatable else None
        if wait is None:
            raise error from (None if isinstance(trouble, Passing) else trouble)
        if told is None:
            LOG.info("%s; trying again in %.1f s", error, wait, extra={"wait": wait})
        else:
            told(error, wait)
        if line is None:
            sleep(wait)
        else:
            self._sleep_on(line, wait)
        self._check_open(call, reached=reached)

    def _sleep_on(self, line: Line, wait: float) -> None:
        use = self._use
        use.lines.add(line)
        try:
            if not use.is_over:
                line.pause.sleep(wait)
        finally:
            use.lines.discard(line)

    def _place_of(self, call: Call) -> str:
        proxy = proxy_of(self.address) if self.http.trust_env else None
        path = call.path if len(call.path) <= SHOWN_PATH else f"{call.path[:SHOWN_PATH]}..."
        return f"{call.method} {self.address}{path}" + (f" through the proxy of {proxy}" if proxy else "")


class Passing(Exception):
    """A refusal that a repeat may mend."""

    def __init__(self, error: Refused | UnexpectedAnswer, response: httpx2.Response) -> None:
        super().__init__(str(error))
        self.error = error
        self.response = response


Trouble = httpx2.HTTPError | Passing


def may_be_done(trouble: Trouble) -> bool:
    """Return whether the gateway may have carried out a try that ended so."""
    if isinstance(trouble, Passing):  # what a proxy answers for the gateway tells nothing of it
        return isinstance(trouble.error, UnexpectedAnswer)
    return not isinstance(trouble, (*_UNSENT, httpx2.LocalProtocolError))


Told = Callable[[ParleyError, float], None]


def _limits(timeout: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout, connect=CONNECT_S)
