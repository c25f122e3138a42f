"""`make run`, the development start: no limits for new users, and sandbox keys, unless set otherwise."""

import asyncio
import shutil
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from tests.support.gateway import CHECKOUT, MAKE_RUN, PASSWORD, REAL, SERVER, Client, ran, running
from tests.support.operator import SECRET
from tests.support.stored import read

DEVELOPMENT: dict[str, Any] = {"script": SERVER, "arguments": ("--development",)}
"""What `make run` runs, without make and an interpreter of its own."""

SANDBOX_KEY = ("POST", "/api/dev/sandbox-key")


async def new_plan(client: Client, name: str) -> tuple[str, int | None]:
    """Register a user; return its plan and its daily limit."""
    (record,) = (await client.command("US_Create", vx={"name": name, "secret": PASSWORD})).ok().profile
    return record["plan"], record["quota"]["limit"]


async def said_at_start(data: Path) -> str:
    """Start a gateway as for production and stop it; return its output."""
    async with running(data) as gateway:
        return gateway.said


async def test_make_run_gives_new_users_no_limit_issues_sandbox_keys_and_says_so(tmp_path: Path):
    async with running(tmp_path / "data", command=MAKE_RUN) as gateway, gateway.client() as client:
        assert await new_plan(client, "lovelace") == ("enterprise", None)
        assert (await client.request(*SANDBOX_KEY)).http == 201
        assert "New users have the plan enterprise (PARLEY_DEFAULT_PLAN sets another one)" in gateway.said
        assert "Sandbox keys are issued (PARLEY_SANDBOX_KEYS_ENABLED=false turns them off)" in gateway.said


async def test_make_run_takes_its_port_as_make_cluster_does(tmp_path: Path):
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = (*MAKE_RUN, f"PORT={port}")
    async with running(tmp_path / "data", command=command, PARLEY_PORT="") as gateway:
        assert gateway.base == f"http://127.0.0.1:{port}"


async def test_without_make_new_users_are_on_the_free_plan_and_there_are_no_sandbox_keys(tmp_path: Path):
    async with running(tmp_path / "data", command=REAL) as gateway, gateway.client() as client:
        assert await new_plan(client, "lovelace") == ("free", 100)
        assert (await client.request(*SANDBOX_KEY)).http == 403
        assert "evelopment" not in gateway.said
        ((secret_hash,),) = await read(gateway, "SELECT secret_hash FROM users")
        assert secret_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_the_environment_wins_over_a_development_start(tmp_path: Path):
    chosen: dict[str, Any] = {"PARLEY_DEFAULT_PLAN": "free", "PARLEY_SANDBOX_KEYS_ENABLED": "false"}
    async with running(tmp_path / "data", **DEVELOPMENT, **chosen) as gateway, gateway.client() as client:
        assert await new_plan(client, "lovelace") == ("free", 100)
        assert (await client.request(*SANDBOX_KEY)).http == 403
        assert "New users" not in gateway.said
        assert "Sandbox keys" not in gateway.said


@pytest.mark.parametrize("file", ["", 'default_plan = ""\n'])
async def test_an_empty_setting_leaves_the_plan_to_the_development_start(tmp_path: Path, file: str):
    (tmp_path / "parley.toml").write_text(file)
    settings: dict[str, Any] = {"PARLEY_CONFIG": str(tmp_path / "parley.toml"), "PARLEY_DEFAULT_PLAN": ""}
    async with running(tmp_path / "data", **DEVELOPMENT, **settings) as gateway, gateway.client() as client:
        assert await new_plan(client, "lovelace") == ("enterprise", None)


async def test_the_settings_file_wins_over_a_development_start(tmp_path: Path):
    config = tmp_path / "parley.toml"
    config.write_text('default_plan = "builder"\nsandbox_keys_enabled = false\n')
    async with (
        running(tmp_path / "data", **DEVELOPMENT, PARLEY_CONFIG=str(config)) as gateway,
        gateway.client() as client,
    ):
        assert await new_plan(client, "lovelace") == ("builder", 10_000)
        assert (await client.request(*SANDBOX_KEY)).http == 403
        assert "New users" not in gateway.said
    assert "from a development start" not in await said_at_start(tmp_path / "data")


async def test_a_start_for_production_tells_which_users_a_development_start_gave_their_plan(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data) as gateway, gateway.client() as client:
        await client.register("of-before")
    async with running(data, **DEVELOPMENT) as gateway, gateway.client() as client:
        for number in range(6):
            await client.register(f"user-{number}")
        assert (await client.request(*SANDBOX_KEY)).http == 201  # its plan is that of sandbox keys everywhere
        assert "from a development start" not in gateway.said
    async with running(data) as gateway, gateway.client() as client:
        names = ", ".join(f"user-{number}" for number in range(5))
        assert f"6 users have their plan from a development start (make run): {names} and 1 more." in gateway.said
        assert "PUT /api/admin/users/NAME/plan with X-Internal-Secret" in gateway.said
        await client.register("of-later")
        user = await client.log_on("user-0")
        (await user.command("US_Update", vx={"description": "The first"})).ok()
        (await user.command("US_Destroy", vx={"secret": PASSWORD})).ok()
        for number in range(1, 5):
            answer = await client.request(
                "PUT", f"/api/admin/users/user-{number}/plan", json={"plan": "free"}, headers=SECRET
            )
            assert answer.http == 200
    assert "\n1 user has its plan from a development start (make run): user-5.\n" in await said_at_start(data)


async def test_a_plan_confirmed_by_the_operator_is_no_longer_told_of_and_emits_no_event(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data, **DEVELOPMENT) as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        endpoint = {"url": "https://receiver.example/hook", "events": ["billing.plan.changed"]}
        assert (await user.request("POST", "/api/webhooks/endpoints", json=endpoint)).http == 201
        confirmed = await client.request(
            "PUT", "/api/admin/users/lovelace/plan", json={"plan": "enterprise"}, headers=SECRET
        )
        assert (confirmed.http, confirmed.body["plan"]) == (200, "enterprise")
        assert (await user.request("GET", "/api/webhooks/deliveries")).body["deliveries"] == []
    assert "from a development start" not in await said_at_start(data)


async def test_the_first_make_run_says_how_long_set_up_takes_before_it_begins(tmp_path: Path):
    for name in ("Makefile", "requirements/uv.lock", "requirements/runtime.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] || { echo "runs $*"; exit 1; }\n')
    python.chmod(0o700)
    process = await asyncio.create_subprocess_exec(
        "make", "run", f"PYTHON={python}", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said = (await process.communicate())[0].decode()
    assert 0 <= said.find("Set-up takes about a minute") < said.find("runs -m venv --clear .venv")


async def test_help_tells_of_the_development_start_and_an_unknown_option_is_refused(tmp_path: Path):
    status, told = await ran(tmp_path, "--help")
    assert status == 0
    assert "--development" in told
    status, told = await ran(tmp_path, "--develop")
    assert status == 2
    assert "unrecognized arguments: --develop" in told
