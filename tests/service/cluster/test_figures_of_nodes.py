"""GET /debug/stream on three nodes: each shows all of them, together and one by one."""

import pytest

from tests.support.debug_stream import figures
from tests.support.operator import SECRET
from tests.support.roaming import Entries


@pytest.mark.parametrize("entry", range(3))
async def test_any_node_streams_the_figures_of_all(entries: Entries, unique: str, entry: int):
    users = [await entries.user_on(home, f"{unique}-{home}") for home in range(3)]
    async with figures(entries.clients[entry], **SECRET) as stream:
        event = await stream.next()
        assert event["unreachable"] == []
        assert len({node["node"] for node in event["nodes"]}) == 3
        for user in users:
            for client in user.through:
                (await client.command("US_Read")).ok()
        read = 0
        while read < 9:
            event = await stream.next()
            read += event["services"].get("US_Read", {"codes": {"0": 0}})["codes"]["0"]
            for member in ("units_waiting", "memory_bytes", "readers"):
                assert event[member] == sum(node[member] for node in event["nodes"])
            assert event["actors"]["user"] == sum(node["actors"]["user"] for node in event["nodes"]) >= 3
            assert event["loop_lag_ms"] == max(node["loop_lag_ms"] for node in event["nodes"])
        assert read == 9
        assert event["readers"] == 1
