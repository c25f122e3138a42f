"""Streamed answers of an OpenAI-compatible server: time-outs, retries before the first token, a limit on concurrency.

No text of a server goes into an error or a log, because it may repeat the key or the conversation.
"""

import asyncio
import logging
import math
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import httpx2
import openai

from actors.engines.openai.chunks import MalformedChunk, ToolCall, add_calls, read_chunk, read_usage
from actors.engines.openai.http import OutOfBounds, open_client
from actors.engines.options import Usage
from actors.errors import MessageKept, Overloaded, ServiceError
from actors.wire import http_date_s

log = logging.getLogger("parley.openai")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the engine; times in seconds.

    Args:
        connect_s: until the server takes the connection.
        first_token_s: from there to the first token, for each attempt.
        idle_s: from one token to the next.
        total_s: for a whole turn, tools included; less than a chat may take.
        retries: attempts after the first one.
        backoff_s: wait before the first retry, doubled for each one after it.
        retry_after_cap_s: the longest Retry-After to wait for; a longer one is a failure.
        concurrent: the number of answers that may stream at once.
        per_speaker: the same for one user.
        tool_rounds: the number of times that a model may use tools in a turn.
        prompt_tokens: the budget of a prompt, estimated.
        reply_chars: the longest reply; the rest is cut off.
    """

    connect_s: float = 5.0
    first_token_s: float = 60.0
    idle_s: float = 30.0
    total_s: float = 270.0
    retries: int = 2
    backoff_s: float = 0.5
    retry_after_cap_s: float = 20.0
    concurrent: int = 64
    per_speaker: int = 8
    tool_rounds: int = 8
    prompt_tokens: int = 12_000
    reply_chars: int = 32_000


class Completed(NamedTuple):
    """The end of an answer: the server's reason for it, and its usage if the server reports it."""

    reason: str
    usage: Usage | None


@dataclass(slots=True)
class _Answer:
    """The state of an answer that is streaming."""

    begun: bool = False
    alive: bool = False
    finish: str | None = None
    usage: Usage | None = None
    calls: list[ToolCall] = field(default_factory=list[ToolCall])


class _Failure(Exception):
    """An attempt failed.

    Args:
        error: the error for the client.
        again: whether another attempt may succeed.
        retry_after: the seconds that the server wants the next attempt to wait.
    """

    def __init__(self, error: ServiceError, *, again: bool, retry_after: float | None = None) -> None:
        super().__init__(error.note)
        self.error = error
        self.again = again
        self.retry_after = retry_after


_DRAIN_S = 1.0  # wait for the end of a complete answer, so that its connection can be reused


class _Slots:
    """Limits the answers that stream at once, in total and for each speaker, so that none keeps the others waiting."""

    def __init__(self, in_all: int, of_one: int) -> None:
        self._all = asyncio.Semaphore(in_all)
        self._of_one = of_one
        self._own: dict[str, asyncio.Semaphore] = {}
        self._held: Counter[str] = Counter()  # including those that wait

    @asynccontextmanager
    async def one(self, speaker: str, deadline: float) -> AsyncGenerator[None, None]:
        """Hold a slot, after waiting for it until the deadline."""
        own = self._own.setdefault(speaker, asyncio.Semaphore(self._of_one))
        self._held[speaker] += 1
        try:
            async with AsyncExitStack() as held:
                try:
                    async with asyncio.timeout_at(deadline):
                        await held.enter_async_context(own)
                        await held.enter_async_context(self._all)
                except TimeoutError:
                    busy = Overloaded(
                        "Too many agents wait for the chat engine already; your message is kept, try again."
                    )
                    raise _Failure(busy, again=False) from None
                yield
        finally:
            self._held[speaker] -= 1
            if not self._held[speaker]:
                del self._held[speaker], self._own[speaker]


class Completions:
    """Streams chat completions of one server."""

    def __init__(self, base_url: str, api_key: str | None, limits: Limits) -> None:
        self._limits = limits
        self._asks_usage = True
        self._slots = _Slots(limits.concurrent, limits.per_speaker)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            max_retries=0,  # only our own retries know whether a token came
            http_client=open_client(httpx2.Timeout(None, connect=limits.connect_s)),
        )
        # only our settings count, not the environment variables of other programs
        self._client.organization = self._client.project = None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def run(
        self, request: dict[str, Any], speaker: str, deadline: float
    ) -> AsyncGenerator[str | ToolCall | Completed, None]:
        """Stream the answer to a request: its texts, then the model's tool calls, then its end.

        Args:
            request: members of the request's body; `stream` and `stream_options` are added.
            speaker: the user who is answered, for the limit of one user.
            deadline: the end of all attempts, in the event loop's time.

        Raises:
            MessageKept: there is no answer, or not all of it.
            Overloaded: too many other answers are streaming.
        """
        tries = self._limits.retries + 1
        for attempt in range(1, tries + 1):
            answer = _Answer()
            try:
                async with aclosing(self._try(request, speaker, deadline, answer)) as pieces:
                    async for piece in pieces:
                        yield piece
            except _Failure as failure:
                wait = failure.retry_after
                if wait is None:
                    wait = self._limits.backoff_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
                late = asyncio.get_running_loop().time() + wait >= deadline
                if (
                    answer.begun
                    or not failure.again
                    or attempt == tries
                    or late
                    or wait > self._limits.retry_after_cap_s
                ):
                    raise failure.error from None
            else:
                return
            await asyncio.sleep(wait)

    async def _try(
        self, request: dict[str, Any], speaker: str, deadline: float, answer: _Answer
    ) -> AsyncGenerator[str | ToolCall | Completed, None]:
        limits = self._limits
        try:
            async with self._slots.one(speaker, deadline):
                first = min(asyncio.get_running_loop().time() + limits.connect_s + limits.first_token_s, deadline)
                async with asyncio.timeout_at(first):
                    stream = await self._begin(request)
                async with stream:
                    async for text in self._texts(cast(AsyncIterator[Any], stream), first, deadline, answer):
                        yield text
                for call in answer.calls:
                    yield call
                yield Completed(answer.finish or "stop", answer.usage)
        except (openai.OpenAIError, httpx2.HTTPError, TimeoutError) as error:
            raise _failure_of(error, answer) from None
        except (MalformedChunk, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            log.warning("the model server broke its protocol (%s)", type(error).__name__)
            raise _Failure(MessageKept("The model server sent an unreadable answer."), again=False) from None

    async def _begin(self, request: dict[str, Any]) -> Any:
        """Send a request that asks for the usage, unless the server has refused one for that."""
        create: Any = self._client.chat.completions.create
        if self._asks_usage:
            try:
                return await create(**request, stream=True, stream_options={"include_usage": True})
            except openai.APIStatusError as error:
                if error.status_code not in (400, 422) or "stream_options" not in str(error):
                    raise
                self._asks_usage = False
                log.info("the model server reports no usage, so it is estimated")
        return await create(**request, stream=True)

    async def _texts(
        self, stream: AsyncIterator[Any], first: float, deadline: float, answer: _Answer
    ) -> AsyncIterator[str]:
        """Yield texts as they come; `answer` receives the rest."""
        loop = asyncio.get_running_loop()
        chunks = aiter(stream)
        drained = deadline
        while True:
            until = min(loop.time() + self._limits.idle_s, deadline) if answer.alive else first
            try:
                async with asyncio.timeout_at(drained if answer.finish else until):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                break
            except Exception:
                if answer.finish:  # the answer is complete
                    break
                raise
            answer.usage = read_usage(chunk) or answer.usage
            if answer.finish:
                continue
            delta = read_chunk(chunk)
            answer.alive = answer.alive or delta.alive
            answer.finish = delta.finish
            drained = loop.time() + _DRAIN_S
            if delta.calls:
                answer.begun = True
                add_calls(answer.calls, delta.calls)
            if delta.text:
                answer.begun = True
                yield delta.text
        if answer.finish is None:
            log.warning("the model server broke off an answer")
            raise _Failure(MessageKept("The model server broke off its answer."), again=True)
        if answer.finish == "content_filter" and not answer.begun:
            raise _Failure(MessageKept("The model server's filter let no answer through."), again=False)


def _failure_of(error: Exception, answer: _Answer) -> _Failure:
    """Return the failure that an exception means."""
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        log.warning("the model server answered %d at %s", status, error.request.url)
        if status in (408, 409, 429) or status >= 500:
            busy = "is overloaded" if status == 429 else f"failed ({status})"
            told = MessageKept(f"The model server {busy}.")
            return _Failure(told, again=True, retry_after=_retry_after(error.response.headers))
        reasons = {401: "refused the gateway's key", 403: "refused the gateway", 404: "does not know the model"}
        other = (
            f"answered a redirect ({status}), which is not followed"
            if status < 400
            else f"refused the request ({status})"
        )
        reason = reasons.get(status, other)
        return _Failure(MessageKept(f"The model server {reason}; tell the operator."), again=False)
    cause = error.__cause__ or error
    if isinstance(cause, OutOfBounds):
        log.warning("the model server broke a bound: %s", cause)
        return _Failure(MessageKept(f"The model server broke a bound of the gateway: {cause}."), again=False)
    if isinstance(error, openai.APIConnectionError):
        # Only what happens before a request is sent can't repeat anything of it.
        why = cause if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout) else type(cause).__name__
        log.warning("the model server failed (%s) at %s", why, error.request.url)
    else:
        log.warning("the model server failed (%s)", type(error).__name__)
    if isinstance(error, TimeoutError):
        when = "went silent in the middle of its answer" if answer.alive else "did not begin to answer in time"
        return _Failure(MessageKept(f"The model server {when}."), again=True)
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        where = "broke off its answer" if answer.begun else "can't be reached"
        return _Failure(MessageKept(f"The model server {where}."), again=True)
    return _Failure(MessageKept("The model server reported an error."), again=True)


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Read Retry-After in seconds, in any of its forms; None if it is absent or unreadable."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name)
        if given is None:
            continue
        try:
            seconds = float(given) / unit
        except ValueError:
            at = http_date_s(given)
            if at is None:
                continue
            seconds = at - time.time()
        if not math.isnan(seconds):
            return max(seconds, 0.0)
    return None
