"""Nodes are replaced one by one by the next version, under load: real processes, two versions side by side."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from config.version import VERSION
from persistence.postgres.migrate import MIGRATIONS
from tests.support.cluster import Node, Nodes, nodes
from tests.support.gateway import INTERNAL_SECRET, Answer, Client
from tests.support.stores import postgres_only

pytestmark = [postgres_only, pytest.mark.timeout(240)]

SCRIPT = Path(__file__).parents[1] / "gateways" / "other_version.py"
USERS = 6
OVERLOADED = 5003
NEWEST = max(int(file.name[:4]) for file in MIGRATIONS.glob("*.sql"))
EXPANDING = "ALTER TABLE agents ADD mood text;"
CONTRACTING = "-- needs: 9.1.0\nALTER TABLE agents DROP COLUMN mood;"


def become(all: Nodes, folder: Path, version: str, protocol: int, *migrations: str) -> None:
    """Have the nodes that start from now on be of another version."""
    its = folder / f"migrations of {version}"
    shutil.copytree(MIGRATIONS, its)
    for number, sql in enumerate(migrations, NEWEST + 1):
        (its / f"{number:04}_of_the_test.sql").write_text(sql)
    all.script = SCRIPT
    all.settings |= {"TEST_VERSION": version, "TEST_PROTOCOL": str(protocol), "TEST_MIGRATIONS": str(its)}


@dataclass
class Talk:
    """A user's chat with an agent, of numbered notes, and the answers that count as failed."""

    user: Client
    sent: int = 0
    again: int = 0
    failed: list[object] = field(default_factory=list)

    async def until(self, over: asyncio.Event) -> None:
        while not over.is_set():
            self.sent += 1
            answer = await self._answered(lambda: self.user.command("AP_Chat", content=f"Note {self.sent}"))
            if answer.code != 0 or answer.content[0]["content"] != f"Note {self.sent}":
                self.failed.append(answer.body)
            await asyncio.sleep(0.02)

    async def _answered(self, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Send a command again for as long as the answer says that nothing was begun."""
        while True:
            answer = await send()
            not_begun = answer.code == OVERLOADED and "Retry-After" in answer.headers
            if not not_begun or "carried out" in answer.note:
                return answer
            self.again += 1
            await asyncio.sleep(int(answer.headers["Retry-After"]))

    async def verify(self) -> None:
        """Assert that every note is there, once and in order, with its reply."""
        assert self.failed == []
        assert self.sent > 0
        history: list[dict[str, object]] = []
        page: dict[str, object] = {"limit": 200}
        while True:
            answer = (await self.user.command("AP_History", page=page)).ok()
            history[:0] = answer.content
            if answer.next is None:
                break
            page = {"limit": 200, "cursor": answer.next}
        assert [message["seq"] for message in history] == list(range(1, 2 * self.sent + 1))
        assert [message["content"] for message in history[::2]] == [f"Note {n}" for n in range(1, self.sent + 1)]


@asynccontextmanager
async def load(anyone: Client, prefix: str = "user") -> AsyncIterator[None]:
    """Have users chat through random nodes meanwhile; check all that they were told."""
    talks: list[Talk] = []
    for number in range(USERS):
        user = await anyone.register(f"{prefix}-{number}")
        await user.agent(f"{user.name}-scout")
        talks.append(Talk(user))
    over = asyncio.Event()
    work = [asyncio.create_task(talk.until(over)) for talk in talks]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*work)
    for talk in talks:
        await talk.verify()
    print(f"{sum(talk.sent for talk in talks)} notes, {sum(talk.again for talk in talks)} sent again")  # noqa: T201


async def replace(all: Nodes, old: Node) -> None:
    """Stop a node in order and start another one, of the version that nodes have now."""
    assert await old.term() == 0, old.gateway.log.read_text()
    await all.join()


async def versions(anyone: Client) -> list[tuple[str, int]]:
    answer = await anyone.request("GET", "/debug/cluster", headers={"X-Internal-Secret": INTERNAL_SECRET})
    return sorted((node["version"], node["protocol"]) for node in answer.body["nodes"])


async def test_nodes_are_replaced_one_by_one_by_the_next_version_and_no_request_fails(tmp_path: Path):
    async with nodes(tmp_path, 3, PARLEY_DEFAULT_PLAN="enterprise") as all, all.by_proxy() as anyone:
        old = list(all.live)
        become(all, tmp_path, "9.1.0", 2, EXPANDING)
        async with load(anyone):
            for node in old:
                await asyncio.sleep(0.5)
                await replace(all, node)
                if node is old[0]:  # the old ones may still be started again
                    assert await versions(anyone) == [(VERSION, 1), (VERSION, 1), ("9.1.0", 2)]
        assert f"schema brought from version {NEWEST} to {NEWEST + 1}" in all.logs()
        assert await versions(anyone) == [("9.1.0", 2)] * 3


async def test_a_version_that_takes_something_away_waits_until_no_node_uses_it(tmp_path: Path):
    async with nodes(tmp_path, 2, PARLEY_DEFAULT_PLAN="enterprise") as all, all.by_proxy() as anyone:
        old = list(all.live)
        async with load(anyone):
            become(all, tmp_path, "9.2.0", 2, EXPANDING, CONTRACTING)
            with pytest.raises(AssertionError):
                await all.join()
            assert "takes away what versions before 9.1.0 use" in all.all[-1].gateway.log.read_text()
            become(all, tmp_path, "9.1.0", 2, EXPANDING)
            for node in old:
                await replace(all, node)
            become(all, tmp_path, "9.2.1", 3, EXPANDING, CONTRACTING)
            for node in list(all.live):
                await replace(all, node)
        assert await versions(anyone) == [("9.2.1", 3)] * 2
