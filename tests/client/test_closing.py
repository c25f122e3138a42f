"""Streams and clients that are closed while a task or a thread waits for them."""

import asyncio
import multiprocessing
import ssl
from collections.abc import AsyncIterable, Callable, Iterable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from parley_client import AccessError, AsyncParley, NoConnection, Parley, ParleyError
from tests.support.other_server import answering, events, refusal
from tests.support.receiver import Authority, raw_server

BEGUN = events("id: 1\n\n")
"""A stream that tells where it stands, and nothing else."""

EVENT = 'id: 2\ndata: {"headers": {}, "body": "{}"}\n\n'
DELTA = 'event: delta\ndata: {"text": "One"}\n\n'

STREAMS: list[tuple[bytes, Callable[[Any], Any]]] = [
    (BEGUN, lambda client: client.zones.stream(domain="observatory")),
    (BEGUN, lambda client: client.webhooks.stream()),
    (events(": still here\n\n"), lambda client: client.agents.stream_chat("Hello", agent="scout")),
]


async def listed(stream: AsyncIterable[Any]) -> list[Any]:
    return [item async for item in stream]


async def begun(stream: Any) -> None:
    """Wait until a stream is open."""
    while stream._line.response is None:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("sent", "stream_of"), STREAMS)
async def test_a_stream_ends_where_it_is_closed_and_stays_closed(sent: bytes, stream_of: Callable[[Any], Any]) -> None:
    async with answering(sent, holds=True) as other, AsyncParley(other.url, "plk_x") as client:
        stream = stream_of(client)
        waiting = asyncio.create_task(listed(stream))
        async with asyncio.timeout(30):
            await begun(stream)
            await stream.close()
            assert await waiting == []
            await other.hung_up.wait()
        assert await listed(stream) == []
        assert len(other.heads) == 1


@pytest.mark.parametrize("is_tls", [False, True])
@pytest.mark.parametrize(("sent", "stream_of"), STREAMS)
async def test_a_stream_ends_where_another_thread_closes_it(
    sent: bytes, stream_of: Callable[[Any], Iterable[Any]], is_tls: bool, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    tls = authority.context("localhost") if is_tls else None
    http = httpx2.Client(verify=ssl.create_default_context(cafile=str(authority.file)), trust_env=False)
    async with answering(sent, holds=True, tls=tls) as other:
        with Parley(other.url, "plk_x", http=http) as client:
            stream: Any = stream_of(client)
            waiting = asyncio.create_task(asyncio.to_thread(list[Any], stream))
            async with asyncio.timeout(30):
                await begun(stream)
                stream.close()
                assert await waiting == []
            assert list(stream) == []
        assert len(other.heads) == 1


@pytest.mark.parametrize(("sent", "stream_of"), STREAMS)
async def test_a_client_that_is_closed_tells_who_waits_for_its_streams(
    sent: bytes, stream_of: Callable[[Any], Any]
) -> None:
    async with answering(sent, holds=True) as other, asyncio.timeout(60):
        client = AsyncParley(other.url, "plk_x")
        stream = stream_of(client.with_options(timeout=5))
        waiting = asyncio.create_task(listed(stream))
        await begun(stream)
        await client.close()
        with pytest.raises(NoConnection, match="the client is closed"):
            await waiting
        with pytest.raises(NoConnection, match="the client is closed"):
            await client.gateway.health()

        threads = Parley(other.url, "plk_x")
        stream = stream_of(threads)
        waiting = asyncio.create_task(asyncio.to_thread(list[Any], stream))
        await begun(stream)
        threads.close()
        with pytest.raises(NoConnection, match="the client is closed"):
            await waiting
        with pytest.raises(NoConnection, match="the client is closed"):
            threads.gateway.health()


@pytest.mark.parametrize("of_client", [False, True])
@pytest.mark.parametrize("kind", [AsyncParley, Parley])
async def test_a_pause_of_an_hour_ends_where_it_is_closed(kind: Callable[..., Any], of_client: bool) -> None:
    async with answering(BEGUN, refusal(5003, 503, Retry_After="3600")) as other, asyncio.timeout(60):
        loop, paused = asyncio.get_running_loop(), asyncio.Event()
        client = kind(other.url, "plk_x")
        stream = client.webhooks.stream()

        def lost(_: ParleyError, wait: float) -> None:
            if wait >= 3600:
                loop.call_soon_threadsafe(paused.set)

        stream.on_loss = lost
        waiting = asyncio.create_task(listed(stream) if kind is AsyncParley else asyncio.to_thread(list[Any], stream))
        await paused.wait()
        closed = (client if of_client else stream).close()
        if kind is AsyncParley:
            await closed
        if of_client:
            with pytest.raises(NoConnection, match="the client is closed"):
                await waiting
        else:
            assert await waiting == []


async def test_a_stream_that_is_left_closes_its_connection_with_its_block() -> None:
    async with answering(events(EVENT + EVENT), holds=True) as other, AsyncParley(other.url, "plk_x") as client:
        async with client.webhooks.stream() as stream:
            shown = aiter(stream)
            assert (await anext(shown)).id == "2"
        await asyncio.wait_for(other.hung_up.wait(), 30)
        assert [item async for item in shown] == []
    async with answering(events(DELTA + DELTA), holds=True) as other, AsyncParley(other.url, "plk_x") as client:
        async with client.agents.stream_chat("Hello") as chat:
            async for _ in chat:
                break
        await asyncio.wait_for(other.hung_up.wait(), 30)


def _close(client: Parley) -> None:
    client.close()


async def test_a_forked_process_does_not_end_the_streams_of_its_parent_where_it_closes_the_client() -> None:
    is_closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(BEGUN)
        await is_closed.wait()
        writer.write(EVENT.encode() + b'event: end\ndata: {"reason": "revoked"}\n\n')
        await writer.drain()

    async with raw_server(serve) as port, asyncio.timeout(60):
        with Parley(f"http://127.0.0.1:{port}", "plk_x") as client:
            stream = client.webhooks.stream()
            waiting = asyncio.create_task(asyncio.to_thread(list[Any], stream))
            await begun(stream)
            child = multiprocessing.get_context("fork").Process(target=_close, args=(client,))
            child.start()
            await asyncio.to_thread(child.join, 30)
            assert child.exitcode == 0
            is_closed.set()
            assert [event.id for event in await waiting] == ["2"]


async def test_an_ended_stream_that_is_iterated_again_tells_of_its_refusal() -> None:
    ended = events('id: 1\ndata: {"headers": {}, "body": ""}\n\nevent: end\ndata: {"reason": "revoked"}\n\n')
    async with answering(ended, refusal(2001, 401)) as other, AsyncParley(other.url, "plk_x") as client:
        stream = client.webhooks.stream()
        assert [event.id for event in await listed(stream)] == ["1"]
        assert stream.reason == "revoked"
        with pytest.raises(AccessError):
            await listed(stream)
