"""The Python examples of the documentation run against the gateway."""

import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from parley_client import Parley
from tests.support.client_world import PASSWORD
from tests.support.gateway import CHECKOUT, GatewayProcess
from tests.support.terminal import END_OF_INPUT, on_a_terminal, recorded

ADDRESS = "http://127.0.0.1:8000"


def examples(page: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", Path(CHECKOUT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "clients/python/README.md"])
def test_the_quick_start_in_python_gets_a_reply(
    page: str, gateway: GatewayProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = [block for block in examples(page) if "Parley(" in block]
    exec(block.replace(ADDRESS, gateway.base), {})
    assert re.search(r"glows in the dark|384,400 km", capsys.readouterr().out)


def test_the_examples_of_the_guide_run(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, listing, chat, zone, verifying = examples("docs/python-client.md")
    assert first in examples("clients/python/README.md")
    assert "verify(" in verifying  # held by test_webhook_signatures.py
    with Parley(gateway.base) as client:
        client.users.create("noether", "correct horse battery")
        client.log_on("noether", "correct horse battery")
        client.agents.create("emmy", "Finds things", profile="The Moon is 384,400 km away.")
        client.agents.log_on("emmy")
        client.agents.select("emmy")
        client.domains.create("observatory", "Looks up")
        names: dict[str, Any] = {"client": client}
        exec(listing, names)
        exec(chat.replace("scout", "emmy"), names)
        assert "384,400" in capsys.readouterr().out

        follow = client.zones.stream(domain="observatory", after="0")
        monkeypatch.setattr(client.zones, "stream", lambda domain: follow)
        client.zones.post("Saturn is up.", domain="observatory")
        closing = threading.Timer(0.5, client.domains.destroy, ("observatory",))
        closing.start()
        exec(zone, names)
        closing.join()
    assert "noether Saturn is up." in capsys.readouterr().out
    assert follow.reason == "domain destroyed"


def test_the_recording_of_the_readme_is_what_a_terminal_shows(gateway: GatewayProcess, tmp_path: Path) -> None:
    (text,) = re.findall(r"```console\n(.*?)```", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    session = recorded(text)
    assert [command.arguments[:2] for command in session] == [
        ["parley", "login"],
        ["parley", "agents"],
        ["parley", "chat"],
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    environment = kept | {
        "PARLEY_URL": gateway.base,
        "PYTHONPATH": str(CHECKOUT / "clients" / "python" / "src"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "TERM": "xterm",
        "COLUMNS": "200",
    }
    for command in session:
        typed = [("> ", line.removeprefix("> ") + "\n") for line in command.lines if line.startswith("> ")]
        typed.append(("> ", END_OF_INPUT) if typed else ("Password: ", f"{PASSWORD}\n"))
        _, *arguments = command.arguments
        status, shown = on_a_terminal((sys.executable, "-m", "parley_client", *arguments), typed, environment)
        assert status == 0, shown
        assert command.matches(shown), shown
