"""Chats whose run is followed beside them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.support.gateway import BUS, Answer, Client
from tests.support.wire import Event, events_of, streamed


class Streaming:
    """An AP_Chat that streams: its run's id and the events that have come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.run = response.headers["X-Run-Id"]
        self.events: list[Event] = []
        self._source = events_of(response)

    async def next(self) -> Event:
        """Wait for the next event."""
        self.events.append(await anext(self._source))
        return self.events[-1]

    async def rest(self) -> list[Event]:
        """Wait for all events to the end, and return all."""
        async for event in self._source:
            self.events.append(event)
        return self.events


@asynccontextmanager
async def chatting(user: Client, content: str, **more: Any) -> AsyncIterator[Streaming]:
    """Send an AP_Chat that streams, and wait for its head."""
    async with streamed(user, "AP_Chat", content=content, **more) as response:
        assert response.status == 200, await response.text()
        yield Streaming(response)


@asynccontextmanager
async def followed(user: Client, run: str, last_event_id: str | None = None) -> AsyncIterator[AsyncIterator[Event]]:
    """Follow a run after the event with an id."""
    headers = user.headers({} if last_event_id is None else {"Last-Event-ID": last_event_id})
    async with user.http.get(f"{user.base}/api/runs/{run}/events", headers=headers) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        assert response.headers["X-Run-Id"] == run
        yield events_of(response)


async def all_events(user: Client, run: str, last_event_id: str | None = None) -> list[Event]:
    """Follow a run to its end."""
    async with asyncio.timeout(30), followed(user, run, last_event_id) as events:
        return [event async for event in events]


def text_of(events: list[Event]) -> str:
    """Return the text of the pieces among events."""
    return "".join(event.data["text"] for event in events if event.name == "delta")


async def run_of(user: Client, run: str) -> dict[str, Any]:
    """Read a run."""
    answer = await user.request("GET", f"/api/runs/{run}")
    assert answer.http == 200, answer.body
    return answer.body


async def cancelled(user: Client, run: str) -> Answer:
    """Cancel a run."""
    return await user.request("POST", f"/api/runs/{run}/cancel")


A2A = {"A2A-Version": "1.0"}
Opening = tuple[str, str, Any, dict[str, str]]
"""A request that follows a run: method, path, body and headers."""


def by_events(run: str, agent: str) -> Opening:
    return "GET", f"/api/runs/{run}/events", None, {}


def by_a2a(run: str, agent: str) -> Opening:
    return "GET", f"/a2a/{agent}/tasks/{run}:subscribe", None, A2A


def by_json_rpc(run: str, agent: str) -> Opening:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": run}}
    return "POST", f"/a2a/{agent}", asked, A2A


FOLLOWING = [by_events, by_a2a, by_json_rpc]
"""The ways to follow a run under way, each with the run and its agent."""

EVENTS = {"Accept": "text/event-stream"}


def said_by_a2a(text: str) -> dict[str, Any]:
    return {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}}


DOORS: dict[str, Any] = {
    "the bus": lambda agent, text: (BUS, {"service": "AP_Chat", "target": {"agent": agent}, "content": text}, EVENTS),
    "the bus with a key": lambda agent, text: (
        BUS,
        {"service": "AP_Chat", "target": {"agent": agent}, "content": text},
        EVENTS | {"Idempotency-Key": "once"},
    ),
    "completions": lambda agent, text: (
        "/v1/chat/completions",
        {"model": agent, "stream": True, "messages": [{"role": "user", "content": text}]},
        {},
    ),
    "responses": lambda agent, text: ("/v1/responses", {"model": agent, "stream": True, "input": text}, {}),
    "A2A": lambda agent, text: (f"/a2a/{agent}/message:stream", said_by_a2a(text), A2A),
    "A2A by JSON-RPC": lambda agent, text: (
        f"/a2a/{agent}",
        {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": said_by_a2a(text)},
        A2A,
    ),
    "AG-UI": lambda agent, text: (
        f"/ag-ui/{agent}",
        {"threadId": "t-1", "runId": "r-1", "messages": [{"id": "m-1", "role": "user", "content": text}]},
        {},
    ),
}
"""The requests whose answers stream, each with the agent and what is said to it, as path, body and headers."""
