"""A crash separates no change from its row in the audit log."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import Client, GatewayProcess, running
from tests.support.load import UNKNOWN
from tests.support.operator import on_plan
from tests.support.stored import read


async def rows(gateway: GatewayProcess, service: str) -> int:
    """Return the number of logged successes of a service."""
    ((count,),) = await read(gateway, "SELECT count(*) FROM audit WHERE service = ? AND internal_code = 0", service)
    return count


async def count(gateway: GatewayProcess, table: str, where: str = "1 = 1") -> int:
    ((found,),) = await read(gateway, f"SELECT count(*) FROM {table} WHERE {where}")
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kills", [3, pytest.param(8, marks=pytest.mark.soak)])
async def test_after_crashes_there_are_as_many_rows_as_changes(tmp_path: Path, kills: int):
    rng = random.Random(4)
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        user = await on_plan(await nobody.register("lovelace"), "enterprise")
        talker = await user.log_on(user.name)
        await user.agent("first-agent")
        (await talker.command("AP_Select", target={"agent": "first-agent"})).ok()
        (await user.command("DM_Create", vx={"name": "observatory", "description": "d"})).ok()
        (await user.command("MB_Create", vx={"name": "star-notes", "description": "d"})).ok()
        numbers = iter(range(1, 1_000_000))
        acknowledged = 0

        async def repeat(client: Client, service: str, make: Any) -> None:
            nonlocal acknowledged
            while True:
                try:
                    (await client.command(service, **make(next(numbers)))).ok()
                    acknowledged += 1
                except UNKNOWN:
                    return

        def agent(n: int) -> dict[str, Any]:
            return {"vx": {"name": f"agent-{n}", "description": "d"}}

        def memory(n: int) -> dict[str, Any]:
            target = {"bank": "star-notes", "agent": "first-agent"}
            return {"target": target, "vx": {"name": f"note {n}"}, "content": f"note {n}"}

        def post(n: int) -> dict[str, Any]:
            return {"target": {"domain": "observatory"}, "content": f"post {n}"}

        def create(n: int) -> dict[str, Any]:
            return agent(n) | {"headers": {"Idempotency-Key": f"key-{n}"}}

        for _ in range(kills):
            acting = asyncio.gather(
                repeat(user, "AP_Create", agent),
                repeat(talker, "AP_Create", create),
                repeat(user, "MB_Load", memory),
                repeat(user, "ZN_Post", post),
                repeat(talker, "AP_Chat", lambda n: {"content": f"message {n}"}),
            )
            await asyncio.sleep(rng.uniform(0.1, 0.4))
            await gateway.kill()
            await acting
            await gateway.start()
            user.base = talker.base = gateway.base
            assert await rows(gateway, "AP_Create") == await count(gateway, "agents")
            assert await rows(gateway, "MB_Load") == await count(gateway, "memories")
            assert await rows(gateway, "ZN_Post") == await count(gateway, "zone_messages")
            assert await rows(gateway, "AP_Chat") == await count(gateway, "messages") / 2
        logged = sum([await rows(gateway, service) for service in ("AP_Create", "MB_Load", "ZN_Post", "AP_Chat")])
        assert acknowledged + 1 <= logged <= acknowledged + 1 + 5 * kills
        print(f"{acknowledged} changes acknowledged, {logged} rows, {kills} kills")  # noqa: T201
