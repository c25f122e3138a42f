"""A database whose files are deleted under a running gateway: it stores nothing more, and says so."""

import shutil
from pathlib import Path

import pytest

from tests.support.gateway import Client, running
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

NOT_STORED, IN_DOUBT = 5002, 5003


async def create(user: Client, name: str) -> int:
    return (await user.command("AP_Create", vx={"name": name, "description": "d"})).code


@pytest.mark.parametrize("lost", ["parley.db", "parley.db-wal", "parley.db.lock"])
async def test_changes_are_refused_and_health_tells_why(tmp_path: Path, lost: str):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        assert await create(user, "before") == 0
        (gateway.data / lost).unlink()
        codes = [await create(user, f"after{number}") for number in range(4)]
        assert set(codes) <= {IN_DOUBT, NOT_STORED}
        assert codes[-1] == NOT_STORED
        health = await nobody.request("GET", "/api/health")
        assert (health.http, health.body["storage"]) == (503, "unavailable")
        assert health.body["note"] == "a file of the database was deleted, moved or replaced"
        assert gateway.log.read_text().count(f"{gateway.data / lost} is not the file that this gateway has opened") == 1


async def test_a_gateway_that_lost_its_lock_stores_nothing_beside_the_one_that_has_it_now(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as first, first.client() as nobody:
        user = await nobody.register("lovelace")
        (first.data / "parley.db.lock").unlink()
        async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as second, second.client() as there:
            lovelace = Client(there.http, there.base, user.token, "lovelace")
            assert await create(lovelace, "second") == 0
            assert {await create(user, f"first{number}") for number in range(4)} <= {IN_DOUBT, NOT_STORED}
            assert (await nobody.request("GET", "/api/health")).http == 503
            assert await create(lovelace, "third") == 0
            assert (await there.request("GET", "/api/health")).http == 200


async def test_what_it_has_can_be_saved_from_the_files_that_it_holds_open(tmp_path: Path):
    """As docs/operations.md tells it."""
    saved = tmp_path / "saved"
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        assert await create(user, "before") == 0
        for ending in ("", "-wal", "-shm"):
            (gateway.data / f"parley.db{ending}").unlink()
        assert (await nobody.request("GET", "/api/health")).http == 503
        assert gateway.process is not None
        saved.mkdir()
        shutil.copy(gateway.data / "master.key", saved)
        for descriptor in Path(f"/proc/{gateway.process.pid}/fd").iterdir():
            name = descriptor.readlink().name.removesuffix(" (deleted)")
            if name in ("parley.db", "parley.db-wal"):
                shutil.copy(descriptor, saved / name)
    async with running(saved) as gateway, gateway.client() as nobody:
        lovelace = Client(nobody.http, nobody.base, user.token, "lovelace")
        assert [agent["name"] for agent in (await lovelace.command("AP_List")).ok().profile] == ["before"]
