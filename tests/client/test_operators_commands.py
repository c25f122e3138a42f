"""`client.admin`, `parley admin` and `parley top`: the operator's routes and figures, by role and by the secret."""

import asyncio
import io
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from parley_client import AccessError, AsyncParley, EntityError, Figures, encode
from parley_client._decoding import decode
from parley_client.cli.screen import screen
from parley_client.figures import DeliveryFigures, Mailbox, ServiceFigures
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import INTERNAL_SECRET, GatewayProcess

SECRET = {"PARLEY_INTERNAL_SECRET": INTERNAL_SECRET}


@pytest.fixture
async def operator(gateway: GatewayProcess) -> AsyncIterator[AsyncParley]:
    """A client with the internal secret."""
    async with AsyncParley(gateway.base, internal_secret=INTERNAL_SECRET) as client:
        yield client


@pytest.fixture
async def user(gateway: GatewayProcess, unique: str) -> AsyncIterator[AsyncParley]:
    """A user with an agent that everyone sees."""
    async with AsyncParley(gateway.base) as client:
        await client.users.create(f"{unique}-user", PASSWORD)
        await client.log_on(f"{unique}-user", PASSWORD)
        await client.agents.create(f"{unique}-agent", "Finds things", access="public")
        await client.agents.log_on(f"{unique}-agent")
        yield client


@pytest.fixture
async def parley(gateway: GatewayProcess, user: AsyncParley, tmp_path: Path, unique: str) -> CommandLine:
    """The command line of the user."""
    command_line = CommandLine(tmp_path, gateway.base)
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


async def test_an_operator_is_registered_with_the_internal_secret_alone(
    gateway: GatewayProcess, parley: CommandLine
) -> None:
    refused = await parley("--profile", "jemison", "login", "jemison", "--register")
    assert (refused.status, refused.err[:5], "INTERNAL_SECRET" in refused.err) == (12, "2003:", True)
    assert (await parley("--profile", "jemison", "login", "jemison", "--register", **SECRET)).status == 0
    listed = await parley("--profile", "jemison", "admin", "users", "list", "--role", "operator", "--json")
    assert [user["name"] for user in listed.records] == ["jemison"]


async def test_each_route_of_operators_has_a_method_with_its_record(
    operator: AsyncParley, user: AsyncParley, unique: str
) -> None:
    name, agent, admin = f"{unique}-user", f"{unique}-agent", operator.admin

    async def same(record: Any, path: str) -> None:
        assert encode(record) == await operator.request("GET", path)

    await same(await admin.user(name), f"/api/admin/users/{name}")
    listed = [account.name async for account in admin.users(prefix=unique, state="active", limit=1)]
    assert listed == [name]
    assert (await admin.set_role(name, "auditor")).role == "auditor"
    assert [account.name async for account in admin.users(prefix=unique, role="auditor")] == [name]
    assert [account.name async for account in admin.users(prefix=unique, role="user")] == []
    assert (await user.admin.user(name)).role == "auditor"
    with pytest.raises(AccessError) as refused:
        await user.admin.stop_agent(agent)
    assert refused.value.code == 2003
    plan = await admin.set_plan(name, "enterprise", limit=5_000)
    assert (plan.plan, plan.quota.limit) == ("enterprise", 5_000)

    assert (await admin.stop_agent(agent)).stopped
    with pytest.raises(EntityError) as stopped:
        await user.agents.chat("Hello", agent=agent)
    assert stopped.value.code == 3002
    assert not (await admin.start_agent(agent)).stopped
    await user.agents.chat("Hello", agent=agent)

    assert (await admin.suspend(name)).state == "suspended"
    with pytest.raises(AccessError):
        await user.users.read()
    assert (await admin.resume(name)).suspended_at is None
    reset = await admin.reset_secret(name)
    assert reset.secret not in repr(reset)
    await user.log_on(name, reset.secret)
    with pytest.raises(EntityError):
        await admin.user(f"{unique}-nobody")

    entries = [entry async for entry in admin.audit(service="resetSecret", limit=1)]
    page = await operator.request("GET", "/api/admin/audit?service=resetSecret&limit=1")
    assert encode(entries[0]) == page["entries"][0]
    assert [entry.target["name"] for entry in entries].count(name) == 1


async def test_users_and_agents_are_commands_with_questions_before_what_is_grave(
    parley: CommandLine, user: AsyncParley, unique: str
) -> None:
    name, agent = f"{unique}-user", f"{unique}-agent"

    async def admin(*arguments: str, stdin: str = "") -> Any:
        ran = await parley.inside("admin", *arguments, "--json", stdin=stdin, **SECRET)
        assert ran.status == 0, ran.err
        return json.loads(ran.out.splitlines()[-1])

    assert (await admin("users", "list", "--prefix", unique))["name"] == name
    assert (await admin("users", "role", name, "auditor"))["role"] == "auditor"
    assert (await admin("users", "plan", name, "enterprise", "--limit", "4000"))["quota"]["limit"] == 4_000
    assert (await admin("agents", "stop", agent))["stopped"] is True
    assert (await admin("agents", "start", agent))["stopped"] is False

    shown, table, forbidden = await asyncio.gather(
        parley("admin", "users", "show", name),  # as an auditor, by its session
        parley("admin", "users", "list", "--prefix", unique),
        parley("admin", "agents", "stop", agent),
    )
    assert "auditor" in shown.out
    assert "agents 1" in shown.out
    assert name in table.out
    assert (forbidden.status, forbidden.out, forbidden.err[:5]) == (12, "", "2003:")

    unsure = await parley("admin", "users", "suspend", name, stdin="n\n", **SECRET)
    assert (unsure.status, unsure.out) == (1, "")
    assert f"Suspend {name}" in unsure.err
    assert (await user.users.read()).name == name
    assert (await admin("users", "suspend", name, "--yes"))["state"] == "suspended"
    assert (await parley("admin", "users", "list")).status == 12  # its session has ended
    assert (await admin("users", "resume", name))["state"] == "active"
    new = (await admin("users", "reset-secret", name, stdin="y\n"))["secret"]
    assert (await parley("login", name, PARLEY_PASSWORD=new)).status == 0
    log = await parley("admin", "audit", "--service", "resetSecret", "--limit", "1", **SECRET)
    assert "resetSecret" in log.out
    wrong, nobody = await asyncio.gather(
        parley("admin", "users", "role", name, "emperor", **SECRET),
        parley("admin", "users", "show", f"{unique}-nobody", **SECRET),
    )
    assert (wrong.status, nobody.status, nobody.err[:5]) == (2, 13, "3000:")


async def test_top_prints_a_line_each_second_as_the_gateway_sends_it(parley: CommandLine, user: AsyncParley) -> None:
    async with parley.going("top", "--json", **SECRET) as going:
        await going.lines(1)
        for _ in range(3):
            await user.users.read()
        while not any("US_Read" in record["services"] for record in going.records):
            await going.lines(len(going.out) + 1)
        records = going.records
    members = ["at", "requests_s", "services", "loop_lag_ms", "units_waiting", "commits_s", "actors", "mailboxes"]
    assert list(records[0]) == [*members, "memory_bytes", "readers", "deliveries"]
    counted = [record["services"].get("US_Read") for record in records]
    assert sum(service["codes"]["0"] for service in counted if service) <= 3


async def test_top_shows_tables_and_its_errors_have_their_status(parley: CommandLine, gateway: GatewayProcess) -> None:
    once, plain, wrong, nobody, gone = await asyncio.gather(
        parley("top", "--once", **SECRET),
        parley("top", "--once"),
        parley("top", PARLEY_INTERNAL_SECRET="wrong"),
        parley("--profile", "empty", "top"),
        parley("top", PARLEY_URL="http://127.0.0.1:9"),
    )
    assert once.status == 0
    for text in ("requests/s", "loop lag", "MiB", "p99 ms", "fullest mailboxes", "session"):
        assert text in once.out
    assert [(ran.status, ran.out) for ran in (plain, wrong, nobody, gone)] == [(12, ""), (12, ""), (12, ""), (3, "")]
    assert (plain.err[:5], wrong.err[:5]) == ("2003:", "2001:")
    assert "\n2000:" in nobody.err  # after a line on the profile, which is not there
    assert "PARLEY_INTERNAL_SECRET" in nobody.err


async def test_top_in_a_terminal_goes_on_after_a_restart_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    gateway = await GatewayProcess(tmp_path / "data").start()
    environment = CommandLine(tmp_path, gateway.base).environment | SECRET | {"TERM": "xterm", "LINES": "40"}
    ours, theirs = pty.openpty()
    shown = bytearray()
    asyncio.get_running_loop().add_reader(ours, lambda: shown.extend(os.read(ours, 65_536)))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "parley_client", "top"), env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )

    async def until(text: bytes) -> None:
        async with asyncio.timeout(30):
            while text not in shown:
                assert process.returncode is None, shown.decode()
                await asyncio.sleep(0.02)

    try:
        await until(b"requests/s")
        assert await gateway.stop() == 0
        await until(b"trying again in")
        await gateway.start(int(gateway.base.rpartition(":")[2]))
        shown.clear()
        await until(b"requests/s")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 30) == 130
        async with asyncio.timeout(30):
            while b"\x1b[?1049l" not in shown:  # the main screen again
                await asyncio.sleep(0.02)
        assert b"Traceback" not in shown
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        os.close(theirs)
        assert await gateway.stop() == 0


def test_the_figures_of_several_nodes_are_shown_together_and_by_node() -> None:
    one: dict[str, Any] = {
        "at": "2026-11-23T05:00:00.000Z",
        "requests_s": 12.5,
        "services": {f"S_{number:02}": _service(number) for number in range(25)},
        "loop_lag_ms": 1,
        "units_waiting": 0,
        "commits_s": 3.25,
        "actors": {"agent": 2, "bank": 0},
        "mailboxes": [{"node": "n-1", "kind": "agent", "key": "agt_1", "name": "scout", "mailbox": 7}],
        "memory_bytes": 2**27,
        "readers": 1,
        "deliveries": {"in_flight": 1, "attempts_s": 2.0, "failed_s": 0.5},
    }
    nodes = [{"node": "n-1", "name": "east", **one}]
    figures = decode(Figures, one | {"nodes": nodes, "unreachable": ["n-2"]})
    assert isinstance(figures.services["S_01"], ServiceFigures)
    assert isinstance(figures.mailboxes[0], Mailbox)
    assert isinstance(figures.deliveries, DeliveryFigures)
    console = Console(width=200, file=io.StringIO())
    with console.capture() as captured:
        console.print(screen(figures))
    text = captured.get()
    for part in ("12.5 requests/s", "128 MiB", "agent scout on n-1", "5 more", "east", "n-2 does not answer", "0: 24"):
        assert part in text
    assert "S_04" not in text.replace("S_24", "")


def _service(number: int) -> dict[str, Any]:
    return {"rate": float(number), "p50": 1.0, "p99": 2.0, "codes": {"0": number}}
