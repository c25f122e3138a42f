"""GET /metrics: histograms of commits, batches and engine turns, requests under way, loop lag, readers of streams."""

import asyncio
import re

import pytest

from tests.support.gateway import Client
from tests.support.workspaces import following, founded

pytestmark = pytest.mark.one_node(reason="it reads counts of /metrics, which are of one node")


async def metrics(client: Client) -> dict[str, float]:
    """Read the values by name and labels."""
    page = (await client.request("GET", "/metrics")).body
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:{[^}]*})?) ([\d.e+-]+)$", page, re.MULTILINE)}


async def test_commits_batches_and_engine_turns_are_measured(user: Client, unique: str):
    await user.agent(f"{unique}-a")
    before = await metrics(user)
    for _ in range(5):
        (await user.command("AP_Chat", content="Hello")).ok()
    after = await metrics(user)

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown("parley_engine_seconds_count") == 5
    assert 0 < grown("parley_engine_seconds_sum") < 5
    assert grown("parley_store_commit_seconds_count") == grown("parley_store_commits_total") >= 5
    assert grown("parley_store_batch_units_count") == grown("parley_store_commits_total")
    assert grown("parley_store_batch_units_sum") == grown("parley_store_units_total")
    assert 0 < grown("parley_store_commit_seconds_sum") < 60
    buckets = [value for name, value in after.items() if name.startswith("parley_store_commit_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == after["parley_store_commit_seconds_count"]
    assert after["parley_store_oldest_unit_seconds"] == after["parley_store_waiting_units"] == 0
    assert after["parley_loop_lag_seconds"] >= 0


async def test_streams_are_counted_as_long_as_they_are_read(user: Client, unique: str):
    await user.agent(f"{unique}-a")
    await founded(user, f"{unique}-d")
    before = await metrics(user)
    async with following(user, f"{unique}-d"), following(user, f"{unique}-d"):
        during = await metrics(user)
        assert during['parley_stream_readers{stream="zone"}'] == before['parley_stream_readers{stream="zone"}'] + 2
        assert during["parley_requests_under_way"] == before["parley_requests_under_way"] + 2
    for _ in range(100):
        after = await metrics(user)
        if after["parley_requests_under_way"] == before["parley_requests_under_way"]:
            break
        await asyncio.sleep(0.05)
    for name in ("parley_requests_under_way", 'parley_stream_readers{stream="zone"}'):
        assert after[name] == before[name]
