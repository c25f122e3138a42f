"""A store with random failures: nobody reads unstored data, and no count drifts from its rows."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import running
from tests.support.load import NOT_CARRIED_OUT, Crowd, Owner, crowd, verify_rows
from tests.support.stored import Fetch, reading

SCRIPT = Path(__file__).parents[1] / "gateways" / "failing.py"


class Watchers:
    """Number of concurrent readers that compare answers with the database."""

    def __init__(self, crowd: Crowd, fetch: Fetch) -> None:
        self.crowd = crowd
        self.fetch = fetch
        self.reads = 0
        self.refused = 0
        self.unstored: list[str] = []

    async def watch(self, owner: Owner, goes_on: Any) -> None:
        while goes_on():
            await self._count(owner)
            await self._history(owner)
            await asyncio.sleep(0)

    async def _count(self, owner: Owner) -> None:
        answer = await owner.client.command("AP_Read", target={"agent": owner.agent})
        if not self._usable(answer):
            return
        shown = answer.content[0]["messages"]
        stored = await self._value(
            "SELECT count(*) FROM messages JOIN conversations ON conversations.id = conversation_id"
            " JOIN agents ON agents.id = agent_id WHERE agents.name = ?",
            owner.agent,
        )
        if stored < shown:  # stored counts only ever grow
            self.unstored.append(f"{owner.agent} showed {shown} messages and has {stored}")

    async def _history(self, owner: Owner) -> None:
        answer = await owner.client.command("AP_History", target={"agent": owner.agent}, page={"limit": 10})
        if not self._usable(answer):
            return
        for message in answer.content:
            found = await self._value(
                "SELECT count(*) FROM messages WHERE id = ? AND seq = ?", message["id"], message["seq"]
            )
            if not found:
                self.unstored.append(f"{owner.agent} showed {message}")

    def _usable(self, answer: Any) -> bool:
        self.reads += 1
        if answer.code:
            assert answer.code in NOT_CARRIED_OUT, answer.body
            self.refused += 1
        return not answer.code

    async def _value(self, sql: str, *params: Any) -> Any:
        ((value,),) = await self.fetch(sql, *params)
        return value


SOAK = [(1, 0.2, 1_500, 20), (2, 0.05, 1_500, 20), (3, 0.6, 300, 20)]


@pytest.mark.parametrize(
    ("seed", "share", "chats", "agents"),
    [
        *[(1, 0.2, 500, 10), (2, 0.1, 800, 10), (3, 0.6, 150, 10)],
        *(pytest.param(*case, marks=pytest.mark.soak) for case in SOAK),
    ],
)
async def test_nobody_reads_what_is_not_stored_and_no_count_drifts_from_its_rows(
    tmp_path: Path, seed: int, share: float, chats: int, agents: int
):
    """It ends at a number of acknowledged chats."""
    failing = {"FAILING_SEED": str(seed), "FAILING_SHARE": str(share)}
    async with (
        running(tmp_path / "data", script=SCRIPT, PARLEY_DEFAULT_PLAN="enterprise", **failing) as gateway,
        crowd(gateway, agents, seed) as clients,
    ):
        async with reading(gateway.data) as fetch:
            watchers = Watchers(clients, fetch)

            def goes_on() -> bool:
                return clients.acknowledged < 2 * chats

            cut_off, *_ = await asyncio.gather(
                clients.act(goes_on), *(watchers.watch(owner, goes_on) for owner in clients.owners[::2])
            )
        assert cut_off == 0
        assert watchers.unstored == []
        assert watchers.reads > watchers.refused
        await clients.verify()
        assert await gateway.stop() == 0
        assert await verify_rows(gateway, clients) == clients.acknowledged
    (failed,) = re.findall(r"(\d+) batches failed", gateway.log.read_text())
    refused = sum(len(talk.refused) for talk in clients.talks)
    assert int(failed) > 10
    assert refused > 0
    print(  # noqa: T201
        f"{clients.acknowledged} messages acknowledged, {refused} chats refused, {failed} batches failed,"
        f" {watchers.reads} reads, {watchers.refused} of them refused"
    )
