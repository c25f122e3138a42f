"""`parley banks create` and `parley domains create`."""

import asyncio
from pathlib import Path

import pytest

from tests.support.client_world import registered
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess


@pytest.fixture
async def parley(gateway: GatewayProcess, tmp_path: Path, unique: str) -> CommandLine:
    """The command line of a user with an agent."""
    await (await registered(gateway.base, f"{unique}-user", f"{unique}-agent")).close()
    command_line = CommandLine(tmp_path, gateway.base)
    assert (await command_line("login", f"{unique}-user")).status == 0
    return command_line


async def test_a_bank_is_created_with_its_agent_as_admin_and_takes_memories(
    parley: CommandLine, tmp_path: Path, unique: str
) -> None:
    bank, agent = f"{unique}-bank", f"{unique}-agent"
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "moon.md").write_text("The Moon is 384,400 km away.")
    made = await parley("banks", "create", bank, "--agent", agent)
    header, line = made.out.splitlines()
    assert (made.status, made.err, header.split()) == (0, "", ["id", "name", "access", "description"])
    (listed,) = (await parley("banks", "list", "--json")).records
    assert line.split() == [listed["id"], bank, "agent"]
    assert (await parley("banks", "load", bank, str(notes), "--agent", agent)).status == 0
    assert "384,400" in (await parley("banks", "recall", bank, "How far is the Moon?")).out


async def test_a_domain_is_created_with_a_lobby_to_follow(parley: CommandLine, unique: str) -> None:
    domain, agent = f"{unique}-domain", f"{unique}-agent"
    create = ("domains", "create", domain, "--agent", agent, "--description", "Looks up")
    (made,) = (await parley(*create, "--access", "public", "--profile", "On a hill", "--json")).records
    assert made["id"].startswith("dom_")
    assert (made["name"], made["founder"], made["description"]) == (domain, agent, "Looks up")
    assert (made["access"], made["profile"]) == ("public", "On a hill")
    assert (await parley("zones", "list", domain)).out.splitlines()[1].split()[0] == "lobby"


@pytest.mark.parametrize("group", ["banks", "domains"])
async def test_what_can_t_be_created_is_said(parley: CommandLine, unique: str, group: str) -> None:
    description, agent = ("--description", "A place"), ("--agent", f"{unique}-agent")
    assert (await parley(group, "create", f"{unique}-one", *agent, *description)).status == 0
    taken, short, nobody, anyone, without = await asyncio.gather(
        parley(group, "create", f"{unique}-one", *agent, *description),
        parley(group, "create", "x", *agent, *description),
        parley(group, "create", f"{unique}-two", "--agent", f"{unique}-nobody", *description),
        parley(group, "create", f"{unique}-two", *agent, *description, "--access", "anyone"),
        parley(group, "create", f"{unique}-two", *description),
    )
    refused = [(ran.status, ran.out, ran.err[:5]) for ran in (taken, short, nobody)]
    assert refused == [(13, "", "3001:"), (11, "", "1003:"), (13, "", "3000:")]
    assert [(ran.status, ran.out) for ran in (anyone, without)] == [(2, ""), (2, "")]
    assert "'public', 'domain', 'bank', 'agent'" in anyone.err
    assert "Missing option '--agent'" in without.err
    made = [record["name"] for record in (await parley(group, "list", "--json")).records]
    assert [name for name in made if name.startswith(unique)] == [f"{unique}-one"]
