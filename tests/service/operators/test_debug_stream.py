"""GET /debug/stream: its figures under load, beside the metrics; who may read it, and how it ends."""

import asyncio
import re
from typing import Any

import pytest

from tests.support.debug_stream import figures
from tests.support.gateway import Client, GatewayProcess
from tests.support.operator import SECRET, Cast

pytestmark = pytest.mark.one_node(reason="it compares with /metrics, which are of one node")

MEMBERS = [
    *("at", "requests_s", "services", "loop_lag_ms", "units_waiting", "commits_s", "actors", "mailboxes"),
    *("memory_bytes", "readers", "deliveries"),
]


async def metrics(client: Client) -> dict[str, float]:
    page = (await client.request("GET", "/metrics")).body
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:{[^}]*})?) ([\d.e+-]+)$", page, re.MULTILINE)}


async def until_unread(client: Client) -> None:
    """Wait until nobody reads the stream, and no other request is under way."""
    async with asyncio.timeout(30):
        while True:
            found = await metrics(client)
            if found['parley_stream_readers{stream="debug"}'] == found["parley_requests_under_way"] == 0:
                return
            await asyncio.sleep(0.05)


async def test_the_figures_are_those_of_the_load(operator: Client, cast: Cast):
    user = cast.user
    await user.agent(f"{user.name}-a")
    chats = 'parley_requests_total{internal_code="0",service="AP_Chat"}'
    before = (await metrics(user)).get(chats, 0)
    await until_unread(operator)
    async with figures(operator) as stream:
        seen: list[dict[str, Any]] = [await stream.next()]
        for _ in range(20):
            (await user.command("AP_Chat", content="Hello")).ok()
        while sum(event["services"].get("AP_Chat", {"codes": {"0": 0}})["codes"]["0"] for event in seen) < 20:
            seen.append(await stream.next())
        now = await metrics(user)
        last = await stream.next()
    assert now[chats] - before == 20
    assert all(list(event) == MEMBERS for event in seen)
    busy = next(event for event in seen if "AP_Chat" in event["services"])
    chat = busy["services"]["AP_Chat"]
    assert set(chat) == {"rate", "p50", "p99", "codes"}
    assert 0 < chat["p50"] <= chat["p99"] < 30_000
    assert 0 < chat["rate"] <= busy["requests_s"] + 0.01
    assert busy["commits_s"] > 0
    assert last["readers"] == 1
    assert now['parley_stream_readers{stream="debug"}'] == 1
    for kind in ("agent", "user", "session"):
        assert last["actors"][kind] == now[f'parley_actors{{kind="{kind}"}}']
    assert 0.5 < last["memory_bytes"] / now["process_resident_memory_bytes"] < 2
    assert last["units_waiting"] == now["parley_store_waiting_units"] == 0
    assert last["deliveries"] == {"in_flight": 0, "attempts_s": 0, "failed_s": 0}
    assert last["loop_lag_ms"] >= 0
    assert last["mailboxes"] == []


async def test_a_reader_that_leaves_ends_the_work_for_it(operated: GatewayProcess, operator: Client):
    async with figures(operator) as first, figures(operator) as second, figures(operator, **SECRET) as third:
        for stream in (first, second, third):
            assert (await stream.next())["readers"] >= 1
        while (await first.next())["readers"] < 3:  # its next event may be of before the others came
            pass
        assert (await metrics(operator))['parley_stream_readers{stream="debug"}'] == 3
    await until_unread(operator)


async def test_one_event_comes_each_second(operator: Client):
    now = asyncio.get_running_loop().time
    start = now()
    async with figures(operator) as stream:
        times = {(await stream.next())["at"] for _ in range(4)}
    assert now() - start > 2, "not more often; a slow machine may make it less often"
    assert len(times) == 4


@pytest.mark.parametrize("act", ["suspend", "role"])
async def test_it_ends_with_the_right_to_read_it(operator: Client, cast: Cast, act: str):
    async with figures(cast.auditor) as stream:
        await stream.next()
        body = {"role": "user"} if act == "role" else None
        method = "PUT" if act == "role" else "POST"
        answer = await operator.request(method, f"/api/admin/users/{cast.auditor.name}/{act}", json=body)
        assert answer.http == 200, answer.body
        while "end" not in (event := await stream.next()):
            pass
        assert event == {"end": "suspended" if act == "suspend" else "not permitted"}


async def test_a_read_leaves_one_row_in_the_audit_log(operator: Client, cast: Cast):
    for _ in range(2):
        async with figures(cast.auditor) as stream:
            await stream.next()
    rows = (await operator.request("GET", "/api/admin/audit?service=streamFigures&limit=200")).body["entries"]
    assert [row["user"] for row in rows].count(cast.auditor.name) == 1
