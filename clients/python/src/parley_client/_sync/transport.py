# Made by `make client` from parley_client/_async: don't edit.
"""Calls over HTTP, each with all its tries."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from parley_client._repeating import Call, Repeats, may_repeat, refusal, retry_after
from parley_client._waiting import sleep
from parley_client.errors import NoConnection, ParleyError, UnexpectedAnswer

CONNECT_S = 10.0
"""Seconds that a connection may take."""

_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Failures before anything was sent."""


class Transport:
    """Sends calls to one gateway, and repeats them as far as that is safe."""

    def __init__(self, http: httpx2.Client, repeats: Repeats) -> None:
        self.http = http
        self.repeats = repeats

    def send(self, call: Call) -> tuple[Any, Mapping[str, str]]:
        """Return the decoded body and the headers of the answer; None without a body.

        Raises:
            Refused: the gateway answered with an error.
            NoConnection: no whole answer arrived.
            UnexpectedAnswer: something else answered.
        """
        tries = 0
        while True:
            tries += 1
            try:
                response = self.http.request(
                    call.method, call.path, json=call.body, headers=call.headers, timeout=_limits(call.timeout)
                )
                return self.answer(response), response.headers
            except httpx2.HTTPError as lost:
                self.wait_after_loss(call, tries, lost)
            except _Passing as passing:
                self.wait_after_refusal(call, tries, passing)

    @contextmanager
    def open(self, call: Call) -> Generator[httpx2.Response]:
        """Begin an answer that is read piece by piece, with all its tries up to its headers.

        Raises:
            Refused, NoConnection, UnexpectedAnswer: as `send`, up to the headers.
        """
        response = self._opened(call)
        try:
            yield response
        finally:
            response.close()

    def _opened(self, call: Call) -> httpx2.Response:
        tries = 0
        while True:
            tries += 1
            request = self.http.build_request(
                call.method, call.path, json=call.body, headers=call.headers, timeout=_limits(call.timeout)
            )
            try:
                response = self.http.send(request, stream=True)
                if response.is_success:
                    return response
                response.read()
                self.answer(response)
            except httpx2.HTTPError as lost:
                self.wait_after_loss(call, tries, lost)
            except _Passing as passing:
                self.wait_after_refusal(call, tries, passing)

    def answer(self, response: httpx2.Response) -> Any:
        """Return the body of an answer with success.

        Raises:
            Refused, UnexpectedAnswer: it is none.
        """
        try:
            body: Any = response.json() if response.content else None
        except ValueError:
            body = None if response.is_success else {}
            if response.is_success:
                raise UnexpectedAnswer("the answer is no JSON: is this a gateway's address?") from None
        if response.is_success:
            return body
        raise _Passing(refusal(response.status_code, response.headers, body), response)

    def wait_after_loss(self, call: Call, tries: int, lost: httpx2.HTTPError) -> None:
        """Wait for the next try of a call that got no answer, or raise."""
        unsent = isinstance(lost, _UNSENT)
        wait = self.repeats.wait_after(tries, None) if unsent or call.repeatable else None
        if wait is None:
            said = str(lost) or type(lost).__name__
            where = f"{call.method} {self.http.base_url.join(call.path)}"
            raise NoConnection(f"{where}: {said}", may_be_done=not unsent) from lost
        sleep(wait)

    def wait_after_refusal(self, call: Call, tries: int, passing: "_Passing") -> None:
        """Wait for the next try of a call that was refused for now, or raise the refusal."""
        error, response = passing.error, passing.response
        wait = None
        if may_repeat(error, response.status_code, call):
            wait = self.repeats.wait_after(tries, retry_after(response.headers))
        if wait is None:
            raise error from None
        sleep(wait)


class _Passing(Exception):
    """A refusal that a repeat may mend."""

    def __init__(self, error: ParleyError, response: httpx2.Response) -> None:
        super().__init__(str(error))
        self.error: Any = error
        self.response = response


def _limits(timeout: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout, connect=CONNECT_S)
