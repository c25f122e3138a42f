"""GET /metrics: histograms of commits, batches and engine turns, requests under way, loop lag, readers of streams."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from tests.support.debug_stream import figures
from tests.support.gateway import Client
from tests.support.mcp_streams import begun, listening, stream
from tests.support.operator import SECRET
from tests.support.workspaces import following, founded

pytestmark = pytest.mark.one_node(reason="it reads counts of /metrics, which are of one node")


async def metrics(client: Client) -> dict[str, float]:
    """Read the values by name and labels."""
    page = (await client.request("GET", "/metrics")).body
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:{[^}]*})?) ([\d.e+-]+)$", page, re.MULTILINE)}


async def test_commits_batches_and_engine_turns_are_measured(user: Client, unique: str):
    await user.agent(f"{unique}-a")
    before, began = await metrics(user), monotonic()
    for _ in range(5):
        (await user.command("AP_Chat", content="Hello")).ok()
    took_s, after = monotonic() - began, await metrics(user)

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown("parley_engine_seconds_count") == 5
    assert 0 < grown("parley_engine_seconds_sum") < took_s  # one after another
    assert grown("parley_store_commit_seconds_count") == grown("parley_store_commits_total") >= 5
    assert grown("parley_store_batch_units_count") == grown("parley_store_commits_total")
    assert grown("parley_store_batch_units_sum") == grown("parley_store_units_total")
    assert 0 < grown("parley_store_commit_seconds_sum") < 60
    buckets = [value for name, value in after.items() if name.startswith("parley_store_commit_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == after["parley_store_commit_seconds_count"]
    assert after["parley_loop_lag_seconds"] >= 0
    async with asyncio.timeout(30):  # units of the gateway's own may be under way
        while not after["parley_store_oldest_unit_seconds"] == after["parley_store_waiting_units"] == 0:
            after = await metrics(user)


async def test_streams_are_counted_as_long_as_they_are_read(user: Client, unique: str):
    await user.agent(f"{unique}-a")
    await founded(user, f"{unique}-d")
    await until_counted(user, 0)  # those of earlier tests have gone
    async with following(user, f"{unique}-d"), following(user, f"{unique}-d"):
        await until_counted(user, 2)
    await until_counted(user, 0)


@asynccontextmanager
async def opened(user: Client, service: str, unique: str) -> AsyncIterator[None]:
    """Open a stream without end."""
    if service == "ZN_Stream":
        async with following(user, f"{unique}-d"):
            yield
    elif service == "streamFigures":
        async with figures(user, **SECRET):
            yield
    elif service == "mcp_stream":
        async with stream(user, await begun(user)):
            yield
    elif service == "mcp_stream of a listener":
        async with listening(user):
            yield
    else:
        path = {"streamEvents": "/api/webhooks/stream", "watchForConsole": "/console/watch"}[service]
        async with user.http.get(user.base + path, headers=user.headers({})) as response:
            assert response.status == 200
            yield


@pytest.mark.parametrize(
    "service",
    ["ZN_Stream", "streamEvents", "watchForConsole", "streamFigures", "mcp_stream", "mcp_stream of a listener"],
)
async def test_the_time_of_a_stream_without_end_is_that_to_its_head(user: Client, unique: str, service: str):
    await user.agent(f"{unique}-a")
    await founded(user, f"{unique}-d")
    await until_counted(user, 0)
    label = f'{{service="{service.split(maxsplit=1)[0]}"}}'
    total, count = "parley_request_seconds_sum" + label, "parley_request_seconds_count" + label
    before, began = await metrics(user), monotonic()
    async with opened(user, service, unique):
        head_s = monotonic() - began
        await asyncio.sleep(head_s)  # so that its whole time is longer
    await until_counted(user, 0)
    after = await metrics(user)
    assert after[count] - before.get(count, 0) == 1
    assert 0 < after[total] - before.get(total, 0) <= head_s


async def test_a_session_of_mcp_counts_as_a_reader_while_its_stream_is_open(user: Client):
    await until_counted(user, 0)
    readers = 'parley_stream_readers{stream="other"}'
    before = (await metrics(user))[readers]
    async with stream(user, await begun(user)):
        assert (await metrics(user))[readers] - before == 1
    await until_counted(user, 0)
    assert (await metrics(user))[readers] == before


async def until_counted(client: Client, count: int) -> None:
    """Wait until this number of streams of zones is read, and no other request is under way."""
    async with asyncio.timeout(30):
        while True:
            found = await metrics(client)
            if found['parley_stream_readers{stream="zone"}'] == found["parley_requests_under_way"] == count:
                return
            await asyncio.sleep(0.05)
