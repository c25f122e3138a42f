"""The Python examples of the documentation run against the gateway."""

import inspect
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from parley_client import Parley
from parley_client._repeating import CHAT_S
from parley_client._sync.following import SILENCE_S
from parley_client._sync.transport import CONNECT_S
from tests.support.client_world import PASSWORD
from tests.support.forked import Forked
from tests.support.gateway import CHECKOUT, GatewayProcess
from tests.support.terminal import END_OF_INPUT, on_a_terminal, recorded

ADDRESS = "http://127.0.0.1:8000"


def examples(page: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", Path(CHECKOUT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_quick_start_in_python_gets_a_reply(gateway: GatewayProcess, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = examples("README.md")
    exec(block.replace(ADDRESS, gateway.base), {})
    assert "glows in the dark" in capsys.readouterr().out


async def test_the_examples_of_the_package_s_readme_run_one_after_the_other(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    program = tmp_path / "readme.py"
    blocks = examples("clients/python/README.md")
    program.write_text("\nprint()\n".join(blocks).replace(ADDRESS, gateway.base), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    status, printed, err = await (await Forked.start(program, (), kept)).communicate()
    assert (status, err.decode()) == (0, "")
    out = printed.decode()
    assert len(re.findall("The Moon is 384,400 km away", out)) == 2
    assert re.search(r"^tycho \d{4}-\d\d-\d\d ", out, re.MULTILINE)
    assert re.search(r"^1 None$", out, re.MULTILINE)
    assert re.search(r"^3000 There is no such agent .* [\w-]{8,}$", out, re.MULTILINE)


def test_the_guide_s_first_example_makes_nobody_whom_the_quick_start_has_made() -> None:
    quick_start = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    made = re.findall(r"\.create\(\"(\w+)\"", examples("docs/python-client.md")[0])
    assert len(made) == 2
    assert [name for name in made if f'"{name}"' in quick_start] == []


def test_the_package_s_readme_has_no_link_that_breaks_on_a_package_index() -> None:
    text = (CHECKOUT / "clients" / "python" / "README.md").read_text(encoding="utf-8")
    assert [link for link in re.findall(r"\]\((.*?)\)", text) if not link.startswith(("https://", "#"))] == []
    named = re.findall(r"`((?:docs|examples)/\S*)`", text)
    assert len(named) == 2
    assert all((CHECKOUT / path).exists() for path in named)


def test_the_settings_of_the_package_s_readme_are_the_client_s() -> None:
    text = (CHECKOUT / "clients" / "python" / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE))
    taken = inspect.signature(Parley).parameters
    assert told.keys() == taken.keys() - {"brand", "internal_secret"}
    for name in ("timeout", "tries", "max_wait"):
        assert float(told[name]) == taken[name].default
    assert f"{CHAT_S:g} in a chat, {SILENCE_S:g} in a stream. A connection may take {CONNECT_S:g}" in text


def test_the_examples_of_the_guide_run(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, listing, hasty, chat, zone, verifying = examples("docs/python-client.md")
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
        exec(hasty.replace("tycho", "emmy"), names)
        assert "384,400" in names["reply"].content
        exec(chat.replace("tycho", "emmy"), names)
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
    install, *session = recorded(text)
    assert (install.arguments, install.lines) == (["pip", "install", "-q", "./clients/python"], [])  # test_install.py
    assert [command.arguments[:2] for command in session] == [["parley", "login"], ["parley", "chat"]]
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
        asked = [(f"{line} ", f"{PASSWORD}\n") for line in command.lines if line.startswith("Password")]
        typed += asked or [("> ", END_OF_INPUT)]
        _, *arguments = command.arguments
        status, shown = on_a_terminal((sys.executable, "-m", "parley_client", *arguments), typed, environment)
        assert status == 0, shown
        assert command.matches(shown), shown
