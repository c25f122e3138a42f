"""`parley` as a process: what it prints, and its exit status."""

import asyncio
import json
import os
import stat
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from parley_client import Parley as SyncParley
from parley_client.cli.main import app
from tests.support.client_world import PASSWORD
from tests.support.gateway import CHECKOUT, GatewayProcess


@dataclass(slots=True)
class Ran:
    """The end of a process."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Parley:
    """Runs `parley` with a home of its own."""

    def __init__(self, home: Path, url: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
        self.environment = kept | {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "PARLEY_URL": url,
            "PARLEY_PASSWORD": PASSWORD,
            "PYTHONPATH": str(CHECKOUT / "clients" / "python" / "src"),
            "COLUMNS": "200",
        }

    async def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "parley_client", *arguments),
            env=self.environment | environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        return Ran(process.returncode or 0, out.decode(), err.decode())


@pytest.fixture
def parley(tmp_path: Path, gateway: GatewayProcess) -> Parley:
    return Parley(tmp_path, gateway.base)


async def test_three_commands_lead_to_a_streamed_chat(parley: Parley, tmp_path: Path) -> None:
    assert (await parley("login", "meitner", "--register")).status == 0
    (kept,) = tmp_path.rglob("profiles.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    made = await parley("agents", "create", "lise", "--description", "Knows atoms", "--profile", "Uranium splits.")
    assert made.status == 0
    said = await parley("chat", "lise", "Does uranium split?")
    assert (said.status, "Uranium splits." in said.out) == (0, True)
    assert "[lise: agt_" in said.err

    piped, listed, doctor = await asyncio.gather(
        parley("chat", "lise", "--json", stdin="Two\nlines"),
        parley("agents", "list", "--json"),
        parley("doctor", "--json"),
    )
    assert [message["role"] for message in piped.records] == ["agent"]
    assert [agent["name"] for agent in listed.records] == ["lise"]
    assert doctor.records[0]["user"]["name"] == "meitner"

    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "atoms.md").write_text("An atom has a nucleus.", encoding="utf-8")
    refused = await parley("banks", "load", "no-such-bank", str(notes), "--agent", "lise")
    assert (refused.status, refused.err.partition(":")[0]) == (13, "3000")
    unsure, wrong, nobody, gone = await asyncio.gather(
        parley("banks", "censor", "no-such-bank", "atoms.md", stdin="n\n"),
        parley("agents", "lst"),
        parley("agents", "list", PARLEY_API_KEY="plk_wrong"),
        parley("doctor", PARLEY_URL="http://127.0.0.1:9"),
    )
    assert unsure.status == 1  # the question was answered with no
    assert (wrong.status, wrong.out) == (2, "")
    assert (nobody.status, nobody.err.partition(":")[0]) == (12, "2001")
    assert (gone.status, gone.out, gone.err.partition(":")[0]) == (3, "", "No connection")


def test_each_group_of_commands_does_what_it_says(
    gateway: GatewayProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PARLEY_PASSWORD", PASSWORD)
    notes = tmp_path / "notes"
    (notes / "sky").mkdir(parents=True)
    (notes / "sky" / "moon.md").write_text("The Moon is 384,400 km away.", encoding="utf-8")
    runner = CliRunner()

    def run(*arguments: str, stdin: str = "") -> str:
        ran = runner.invoke(app, ["--url", gateway.base, *arguments], input=stdin)
        assert ran.exit_code == 0, (arguments, ran.output, ran.exception)
        return ran.stdout

    run("login", "hahn", "--register")
    run("agents", "create", "otto", "--description", "Finds things")
    key = json.loads(run("keys", "create", "script", "--days", "2", "--json"))
    assert key["id"] in run("keys", "list")
    run("keys", "revoke", key["id"])
    assert key["id"] not in run("keys", "list")

    with SyncParley(gateway.base) as client:
        client.log_on("hahn", PASSWORD)
        client.banks.create(name="notes", agent="otto")
        client.domains.create("lab", "Works", agent="otto")
        client.zones.post("Saturn is up.", domain="lab")
        assert (
            json.loads(run("banks", "load", "notes", str(notes), "--agent", "otto", "--json"))["name"] == "sky/moon.md"
        )
        assert "384,400" in run("banks", "recall", "notes", "How far is the Moon?")
        assert "notes" in run("banks", "list")
        censored = run("banks", "censor", "notes", "sky/moon.md", "--json", stdin="y\n")  # the runner echoes the answer
        assert json.loads(censored.splitlines()[-1]) == {"memories": 1}
        assert "lab" in run("domains", "list")
        assert "lobby" in run("zones", "list", "lab")
        client.agents.chat("Hello", agent="otto")
        assert "cnv_" in run("conversations", "list", "--agent", "otto")
        closing = threading.Timer(0.5, client.domains.destroy, ("lab",))
        closing.start()
        assert "hahn: Saturn is up." in run("zones", "follow", "lab", "--after", "0")
        closing.join()
